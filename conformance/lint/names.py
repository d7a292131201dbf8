"""L101 to L105 and L108 to L110: every name exists, is well formed and is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from conformance.contract.family import Mutant, Ruling
from conformance.contract.model import Contract
from conformance.contract.source import Path, Position
from conformance.contract.syntax import dotted_names
from conformance.lint.call import FrozenCall
from conformance.lint.checks import check_of, mentions, requirement_ids
from conformance.lint.rule import Finding
from conformance.lint.subject import Subject


class OperatorsResolve:
    """Every operator that is called, drawn through or asked in a trace has a contract, and no calls form a cycle."""

    code, name, level = "L101", "operators-resolve", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Unknown operators, and cycles of calls."""
        known = subject.library.contracts
        for contract in subject.contracts:
            for path, operator in _operators(contract):
                if operator not in known:
                    message = f"no contract for {operator}"
                    hint = _nearest(operator, known) or "write its contract, or correct the name"
                    yield Finding(contract.source.at(path), self.code, message, contract.operator, hint)
            if contract.operator in _reached(subject, contract):
                message = f"{contract.operator} calls itself, directly or through another"
                yield Finding(contract.source.at(("calls",)), self.code, message, contract.operator, "break the cycle")
            for case in subject.cases.get(contract.operator, ()):
                for operator in sorted(case.operators - known.keys()):
                    message = f"case {case.id} calls {operator}, which has no contract"
                    yield Finding(contract.position, self.code, message, contract.operator, "build the vectors again")


def _operators(contract: Contract) -> Iterator[tuple[Path, str]]:
    for k, operator in enumerate(contract.calls):
        yield ("calls", k), operator
    for k, operator in enumerate(contract.rng.through if contract.rng else ()):
        yield ("rng", "through", k), operator
    for group in contract.groups:
        for k, step in enumerate(group.body.get("trace", ())):
            if "call" in step:
                machine = contract.machine
                called = step["call"] if machine is None else machine.full_name(step["call"])
                yield (*group.path, "trace", k, "call"), called


def _reached(subject: Subject, contract: Contract) -> set[str]:
    known = subject.library.contracts
    reached: set[str] = set()
    waiting = list(contract.calls)
    while waiting:
        operator = waiting.pop()
        if operator not in reached:
            reached.add(operator)
            waiting += known[operator].calls if operator in known else ()
    return reached


def _nearest(name: str, known: Any) -> str:
    last = name.rsplit(".", 1)[-1].rsplit("_v", 1)[0].lower()
    alike = sorted(other for other in known if last and last in other.lower())
    return f"did you mean {alike[0]}?" if alike else ""


class CodesRegistered:
    """Every failure code that a guard, pin or frozen case names is in errors.yaml, and a guard or refusal has it."""

    code, name, level = "L102", "codes-registered", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Unknown codes, and frozen failures that no guard declares."""
        registry = subject.library.errors
        for contract in subject.contracts:
            declared = contract.codes
            for path, code in _codes(contract):
                if code not in registry:
                    message = f"failure code {code} is not in errors.yaml"
                    hint = "register it with a number of its range, or use a registered one"
                    yield Finding(contract.source.at(path), self.code, message, contract.operator, hint)
                elif code not in declared:
                    message = f"nothing in {contract.operator} fails with {code}"
                    yield Finding(contract.source.at(path), self.code, message, contract.operator, _DECLARED)
            yield from self._frozen(subject, contract, declared)

    def _frozen(self, subject: Subject, contract: Contract, declared: frozenset[str]) -> Iterator[Finding]:
        for call in subject.calls(contract.operator):
            if call.code and (call.code not in declared or call.code not in subject.library.errors):
                message = f"{call} is frozen with {call.code}, which it does not declare"
                yield Finding(place(contract, call), self.code, message, contract.operator, _DECLARED)


_DECLARED = "a failure comes from a guard or a refusal: correct the code, or add what declares it"


def place(contract: Contract, call: FrozenCall) -> Position:
    """The position of the group of a call's case in its contract."""
    return next((group.position for group in contract.groups if group.name == call.case.group), contract.position)


def _codes(contract: Contract) -> Iterator[tuple[Path, str]]:
    for k, guard in enumerate(contract.requires):
        yield ("requires", k, "else"), guard.code
    for k, refusal in enumerate(contract.refuses):
        yield ("refuses", k, "code"), refusal.code
    for group in contract.groups:
        for path, pin, step in _pins(group.body, group.path):
            if "failure" in pin and step.get("call", contract.operator) == contract.operator:
                yield (*path, "failure"), pin["failure"]


def _pins(body: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    for key in ("cases", "trace"):
        for k, step in enumerate(body.get(key, ())):
            if "pin" in step:
                yield (*path, key, k, "pin"), step["pin"], step
    for name, pin in body.get("chain", {}).get("pins", {}).items():
        yield (*path, "chain", "pins", name), pin, {}


class LawsKnown:
    """Every law that a contract or a requirement names exists."""

    code, name, level = "L103", "laws-known", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Unknown laws."""
        hint = f"known laws: {', '.join(sorted(subject.known_laws)) or 'none'}"
        for contract in subject.contracts:
            for k, use in enumerate(contract.laws):
                if use.law not in subject.known_laws:
                    where = contract.source.at(("laws", k, "law"))
                    yield Finding(where, self.code, f"unknown law {use.law!r}", contract.operator, hint)
        for family in subject.library.requirements.values():
            for row in family.requirements:
                for text in row.checks:
                    check = check_of(text)
                    if check.kind == "law" and check.name not in subject.known_laws:
                        message = f"{row.id} rests on {text!r}, an unknown law"
                        yield Finding(row.position, self.code, message, row.id, hint)


class RequirementsResolve:
    """Every requirement that a clause, group, law, mutant, passage or ruling names has a row in requirements.yaml."""

    code, name, level = "L104", "requirements-resolve", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Unknown requirement ids."""
        known = requirement_ids(subject.library)
        hint = "add its row to requirements.yaml, or correct the id"
        for contract in subject.contracts:
            for mention in mentions(contract, "requirement"):
                if mention.name not in known:
                    message = f"unknown requirement {mention.name}"
                    yield Finding(mention.position, self.code, message, contract.operator, hint)
        for coverage in subject.library.coverage.values():
            for passage in coverage.passages:
                for id_ in passage.requirements:
                    if id_ not in known:
                        message = f"{passage} names unknown requirement {id_}"
                        yield Finding(passage.position, self.code, message, id_, hint)
        entries: list[Ruling | Mutant] = [*subject.library.rulings.values(), *subject.library.mutants.values()]
        for entry in entries:
            for id_ in entry.requirements:
                if id_ not in known:
                    message = f"{entry.id} names unknown requirement {id_}"
                    yield Finding(entry.position, self.code, message, entry.id, hint)


class RulingsResolve:
    """Every ruling that is named exists, and a clause, group, law or test names every ruling."""

    code, name, level = "L105", "rulings-resolve", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Unknown rulings, and rulings that nothing names."""
        library = subject.library
        for contract in subject.contracts:
            for mention in mentions(contract, "ruling"):
                if mention.name not in library.rulings:
                    hint = "write the ruling in rulings.yaml, or correct the id"
                    message = f"unknown ruling {mention.name}"
                    yield Finding(mention.position, self.code, message, contract.operator, hint)
        for mutant in library.mutants.values():
            for id_ in mutant.rulings:
                if id_ not in library.rulings:
                    yield Finding(mutant.position, self.code, f"{mutant.id} names unknown ruling {id_}", mutant.id)
        for coverage in library.coverage.values():
            for passage in coverage.passages:
                for id_ in passage.rulings:
                    if id_ not in library.rulings:
                        yield Finding(passage.position, self.code, f"{passage} names unknown ruling {id_}", id_)
        carried = {m.name for contract in library.contracts.values() for m in mentions(contract, "ruling")}
        for ruling in library.rulings.values():
            if ruling.id not in carried and not _tested(subject, ruling.requirements):
                message = f"nothing carries ruling {ruling.id}"
                hint = "name it at the guard, postcondition, group, case or law that it decides"
                yield Finding(ruling.position, self.code, message, ruling.id, hint)


def _tested(subject: Subject, requirements: tuple[str, ...]) -> bool:
    rows = [subject.library.requirement(id_) for id_ in requirements]
    return any(check_of(text).kind in ("test", "bench", "lint") for row in rows if row for text in row.checks)


class GroupsHaveCases:
    """Every group has frozen cases, every frozen case has its group, and each fits the contract's types."""

    code, name, level = "L108", "groups-have-cases", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Groups without cases, cases without their group, and cases that cannot be read."""
        hint = "build the vectors again: tally vectors build"
        for contract in subject.contracts:
            cases = subject.cases.get(contract.operator, ())
            frozen = {case.group for case in cases}
            for group in contract.groups:
                if group.name not in frozen:
                    message = f"group {group.name!r} has no frozen case"
                    yield Finding(group.position, self.code, message, contract.operator, hint)
            for name in sorted(frozen - {group.name for group in contract.groups}):
                message = f"frozen cases of group {name!r}, which the contract does not have"
                yield Finding(contract.position, self.code, message, contract.operator, hint)
            yield from self._misplaced(subject, contract, hint)
        for error in subject.unreadable():
            if error.case.operator in subject.library.contracts:
                position = subject.library.contracts[error.case.operator].position
                message = f"case {error.case.id} does not fit the contract's types: {error.reason}"
                yield Finding(position, self.code, message, error.case.operator, hint)

    def _misplaced(self, subject: Subject, contract: Contract, hint: str) -> Iterator[Finding]:
        groups = {group.name: group for group in contract.groups}
        seen: set[str] = set()
        for case in subject.cases.get(contract.operator, ()):
            position = groups[case.group].position if case.group in groups else contract.position
            if case.id in seen:
                yield Finding(position, self.code, f"two cases are called {case.id}", contract.operator, hint)
            seen.add(case.id)
            if not case.id.startswith(f"{contract.operator}::{case.group}::"):
                message = f"case {case.id} is not named after its operator and group"
                yield Finding(position, self.code, message, contract.operator, hint)


class NamesUsed:
    """Every base and every let of a contract is used somewhere."""

    code, name, level = "L109", "names-used", "warning"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Bases and lets that nothing uses."""
        for contract in subject.contracts:
            for name in contract.bases:
                if name not in _named_bases(contract, subject):
                    yield self._finding(contract, ("bases", name), f"no case starts from base {name!r}")
            used = _names_in(contract)
            lets = list(contract.source.value.get("let", {}))
            for name in lets:
                if name not in used:
                    yield self._finding(contract, ("let", name), f"nothing uses let {name!r}")

    def _finding(self, contract: Contract, path: tuple[str, ...], message: str) -> Finding:
        return Finding(contract.source.key_at(path), self.code, message, contract.operator, "use it or remove it")


def _named_bases(contract: Contract, subject: Subject) -> set[str]:
    named: set[str] = set()
    groups = contract.groups
    if contract.machine is not None and contract.machine.name in subject.library.contracts:
        groups = subject.library.contracts[contract.machine.name].groups
    for group in groups:
        for body in (group.body, *group.body.get("cases", ()), *group.body.get("trace", ())):
            if "base" in body:
                named.add(body["base"])
    return named


def _names_in(contract: Contract) -> set[str]:
    texts = [
        *(expression.text for expression in contract.domain),
        *(guard.expression.text for guard in contract.requires),
        *(clause.expression.text for clause in contract.ensures),
        *(edge.when.text for edge in contract.edge_cases),
        *(group.where.text for group in contract.groups if group.where),
        *contract.source.value.get("let", {}).values(),
        *(one.text for one in (contract.method.becomes.values() if contract.method is not None else ())),
    ]
    # A let that holds a map or a struct is used through what follows its dot.
    return {name.split(".")[0] for text in texts for name in dotted_names(text)}


class NamesWellFormed:
    """An operator's number is its MAJOR version, its file bears its name, and fields and lets are snake_case words."""

    code, name, level = "L110", "names-well-formed", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Numbers, file names, field names and empty names that break the rule."""
        for contract in subject.contracts:
            at, operator = contract.source.at, contract.operator
            number = re.search(r"_v(\d+)\Z", operator)
            named = int(number[1]) if number else 1
            if named != contract.major:
                message = f"{operator} has version {contract.version}: the operator's number says MAJOR {named}"
                hint = "a new MAJOR is a new operator with a new number"
                yield Finding(at(("version",)), self.code, message, operator, hint)
            file = PurePosixPath(contract.position.file).name
            bearer = contract.machine.name if contract.machine is not None else operator
            if file != f"{bearer}.yaml":
                message = f"{operator} is in {file}"
                yield Finding(contract.position, self.code, message, operator, f"call the file {bearer}.yaml")
            for key in ("inputs", "outputs", "let"):
                for name in contract.source.value.get(key, {}):
                    if not _WORDS.match(name):
                        message = f"{name!r} is not a snake_case word"
                        where = contract.source.key_at((key, name))
                        yield Finding(where, self.code, message, operator, "lower-case words joined by _")
            yield from self._empty_names(contract)

    def _empty_names(self, contract: Contract) -> Iterator[Finding]:
        named = [
            *((guard.id, guard.position) for guard in contract.requires),
            *((refusal.id, refusal.position) for refusal in contract.refuses),
            *((clause.id, clause.position) for clause in contract.ensures),
            *((edge.id, edge.position) for edge in contract.edge_cases),
            *((clause.id, clause.position) for clause in contract.invariants),
            *((group.name, group.position) for group in contract.groups),
        ]
        for name, position in named:
            if re.sub(r"-?\d+\Z", "", name) in _EMPTY:
                message = f"{name!r} says nothing about its behaviour"
                yield Finding(position, self.code, message, contract.operator, "name it after the behaviour it pins")


_WORDS: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_EMPTY: Final = frozenset(
    {"", "case", "cases", "check", "edge", "ensures", "foo", "group", "guard", "misc", "other", "requires", "rule",
     "sanity", "test", "tests", "tmp", "todo", "various", "vector", "vectors"}
)  # fmt: skip
