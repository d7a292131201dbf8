"""L101 to L105: every name that a contract uses means something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.contract.model import Contract
from conformance.contract.mutant import Mutant
from conformance.contract.position import Path, Position
from conformance.contract.requirement import Ruling
from conformance.lint.call import Call
from conformance.lint.finding import Finding
from conformance.lint.reference import check_of, mentions, requirement_ids
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
    """Every failure code that a guard, a pin or a frozen case names stands in errors.yaml and is some guard's own."""

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


def place(contract: Contract, call: Call) -> Position:
    """Where the group of a call's case stands in its contract."""
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
    """Every law that a contract or a requirement applies is one that the trial knows."""

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
    """Every ruling that is named exists, and every ruling is carried by a clause, group, law or test."""

    code, name, level = "L105", "rulings-resolve", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Unknown rulings, and rulings that nothing carries."""
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
