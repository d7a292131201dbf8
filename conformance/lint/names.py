"""L101 to L105 and L108 to L110: every name exists, is well formed and is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from conformance.contract.cel.engine import variables_of
from conformance.contract.family import Mutant, Ruling
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.suggest import nearest
from conformance.contract.yaml.companions import VALUES
from conformance.contract.yaml.source import Position, ValuePath
from conformance.lint.call import FrozenCall
from conformance.lint.checks import check_of, mentions, requirement_ids, rows, unknown_requirement_hint
from conformance.lint.rule import Found, FoundIn, LintTarget, contract_rule, rule


@contract_rule("L101", "operators-resolve")
def operators_resolve(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Every operator that is called, drawn through or asked by a step has a contract, and no calls form a cycle."""
    known = subject.library.contracts
    for law in (subject.library.laws.get(use.law) for use in contract.laws):
        for operator in law.calls if law is not None else ():
            if law is not None and operator not in known:
                hint = nearest(operator, sorted(known), "write its contract, or correct the name")
                yield law.position, f"the law {law.name} calls {operator}, which has no contract", hint
    for path, operator in _operators(contract):
        if operator not in known:
            hint = nearest(operator, sorted(known), "write its contract, or correct the name")
            yield contract.source.at(path), f"no contract for {operator}", hint
    if contract.operator in _called_methods(subject, contract):
        message = f"{contract.operator} calls itself, directly or through another"
        yield contract.source.at(("calls",)), message, "break the cycle"
    for case in subject.cases.get(contract.operator, ()):
        for operator in sorted(case.operators - known.keys()):
            message = f"case {case.id} calls {operator}, which has no contract"
            yield contract.position, message, "build the vectors again"


def _operators(contract: Contract) -> Iterator[tuple[ValuePath, str]]:
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
    for path, step in _workload_calls(contract):
        if "call" in step:
            yield (*path, "call"), step["call"]


def _workload_calls(contract: Contract) -> Iterator[tuple[ValuePath, Any]]:
    """The calls of the workloads, each with its path; every name in them is whole, of a machine's operations too."""
    for workload in contract.workloads:
        for key in ("before", "steps", "recover", "verify"):
            for k, step in enumerate(workload.body.get(key, ())):
                if "step" in step and "tree" not in step:
                    yield (*workload.path, key, k), step


def _called_methods(subject: LintTarget, contract: Contract) -> set[str]:
    known = subject.library.contracts
    reached: set[str] = set()
    waiting = list(contract.calls)
    while waiting:
        operator = waiting.pop()
        if operator not in reached:
            reached.add(operator)
            waiting += known[operator].calls if operator in known else ()
    return reached


@contract_rule("L102", "codes-registered")
def codes_registered(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """Every failure code that a clause, pin, read or frozen case names is in errors.yaml, and is declared."""
    registry, declared = subject.library.errors, contract.codes
    for path, code in _codes(contract):
        if code not in registry:
            hint = nearest(code, sorted(registry), "register it with a number of its range, or use a registered one")
            yield contract.source.at(path), f"failure code {code} is not in errors.yaml", hint
        elif code not in declared:
            yield contract.source.at(path), f"nothing in {contract.operator} fails with {code}", _DECLARED
    yield from _absent_codes(subject, contract)
    for call in subject.calls(contract.operator):
        if call.code and (call.code not in declared or call.code not in registry):
            message = f"{call} is frozen with {call.code}, which it does not declare"
            yield place(contract, call), message, _DECLARED


def _absent_codes(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """The failure codes that mean to a workload that nothing is there, which the operator that is read never gives."""
    for path, step in _workload_calls(contract):
        asked = subject.library.contracts.get(step.get("call", contract.operator))
        for k, sign in enumerate(step.get("absent", ())):
            code, where = (sign, ()) if isinstance(sign, str) else (sign.get("failure_code"), ("failure_code",))
            if asked is not None and code is not None and code not in asked.codes:
                hint = nearest(code, sorted(asked.codes), f"its codes: {', '.join(sorted(asked.codes)) or 'none'}")
                message = f"nothing in {asked.operator} fails with {code}"
                yield contract.source.at((*path, "absent", k, *where)), message, hint


_DECLARED = "a failure comes from a guard or a refusal: correct the code, or add what declares it"


def place(contract: Contract, call: FrozenCall) -> Position:
    """The position of the group of a call's case in its contract."""
    return next((group.position for group in contract.groups if group.name == call.case.group), contract.position)


def _codes(contract: Contract) -> Iterator[tuple[ValuePath, str]]:
    for k, guard in enumerate(contract.requires):
        yield ("requires", k, "else"), guard.code
    for k, refusal in enumerate(contract.refuses):
        yield ("refuses", k, "code"), refusal.code
    for group in contract.groups:
        for path, pin, step in _pins(group.body, group.path):
            if "failure" in pin and step.get("call", contract.operator) == contract.operator:
                yield (*path, "failure"), pin["failure"]


def _pins(body: Any, path: ValuePath) -> Iterator[tuple[ValuePath, Any, Any]]:
    for key in ("cases", "trace"):
        for k, step in enumerate(body.get(key, ())):
            if "pin" in step:
                yield (*path, key, k, "pin"), step["pin"], step
    for name, pin in body.get("chain", {}).get("pins", {}).items():
        yield (*path, "chain", "pins", name), pin, {}


@rule("L103", "laws-known")
def laws_known(subject: LintTarget) -> Iterator[Found]:
    """Every law that a contract or a requirement names exists, and every parameter that a contract sets."""
    laws = sorted(subject.known_laws)
    every = f"known laws: {', '.join(laws) or 'none'}; a law is declared in laws.yaml of its family"
    for contract in subject.contracts:
        for k, use in enumerate(contract.laws):
            if use.law not in subject.known_laws:
                where, hint = contract.source.at(("laws", k, "law")), nearest(use.law, laws, every)
                yield where, f"unknown law {use.law!r}", contract.operator, hint
            known = subject.library.laws[use.law].parameters if use.law in subject.library.laws else use.over
            for name in use.over:
                if name not in known:
                    where = contract.source.key_at(("laws", k, "over", name))
                    told = f"it has {', '.join(known) or 'none'}"
                    yield where, f"the law {use.law} has no parameter {name!r}", contract.operator, told
    for row in rows(subject.library):
        for text in row.checks:
            check = check_of(text)
            if check.kind == "law" and check.name not in subject.known_laws:
                hint = nearest(check.name, laws, every)
                yield row.position, f"{row.id} rests on {text!r}, an unknown law", row.id, hint


@rule("L104", "requirements-resolve")
def requirements_resolve(subject: LintTarget) -> Iterator[Found]:
    """Every requirement that a clause, group, law, mutant, passage or ruling names has a row in requirements.yaml."""
    known = requirement_ids(subject.library)
    for contract in subject.contracts:
        for mention in mentions(contract, "requirement"):
            if mention.name not in known:
                hint = unknown_requirement_hint(subject.library, mention.name, contract.family)
                yield mention.position, f"unknown requirement {mention.name}", contract.operator, hint
    for where, who, id_, about, family in _elsewhere(subject.library, "requirements"):
        if id_ not in known:
            hint = unknown_requirement_hint(subject.library, id_, family) if family else _ADD_ROW
            yield where, f"{who} names unknown requirement {id_}", about, hint


_ADD_ROW: Final = "add its row to requirements.yaml, or correct the id"


def _elsewhere(library: Library, key: str) -> Iterator[tuple[Position, str, str, str, str]]:
    """The requirements or rulings that passages, rulings and mutants name: the place, who, the id, what it is about.

    For a passage also the family.
    """
    for coverage in library.coverage.values():
        for passage in coverage.passages:
            yield from ((passage.position, str(passage), id_, id_, coverage.family) for id_ in getattr(passage, key))
    entries: list[Ruling | Mutant] = [*library.rulings.values(), *library.mutants.values()]
    for entry in entries:
        yield from ((entry.position, entry.id, id_, entry.id, "") for id_ in getattr(entry, key, ()))


@rule("L105", "rulings-resolve")
def rulings_resolve(subject: LintTarget) -> Iterator[Found]:
    """Every ruling that is named exists, and a clause, group, law or test names every ruling."""
    library = subject.library
    for contract in subject.contracts:
        for mention in mentions(contract, "ruling"):
            if mention.name not in library.rulings:
                hint = "write the ruling in rulings.yaml, or correct the id"
                yield mention.position, f"unknown ruling {mention.name}", contract.operator, hint
    for where, who, id_, about, _ in _elsewhere(library, "rulings"):
        if id_ not in library.rulings:
            yield where, f"{who} names unknown ruling {id_}", about, ""
    carried = {m.name for contract in library.contracts.values() for m in mentions(contract, "ruling")}
    for ruling in library.rulings.values():
        if ruling.id not in carried and not _tested(subject, ruling.requirements):
            hint = "name it at the guard, postcondition, group, case or law that it decides"
            yield ruling.position, f"nothing carries ruling {ruling.id}", ruling.id, hint


def _tested(subject: LintTarget, requirements: tuple[str, ...]) -> bool:
    rows = [subject.library.requirement(id_) for id_ in requirements]
    return any(check_of(text).kind in ("test", "bench", "lint") for row in rows if row for text in row.checks)


@rule("L108", "groups-have-cases")
def groups_have_cases(subject: LintTarget) -> Iterator[Found]:
    """Every group has frozen cases, every frozen case has its group, and each fits the contract's types."""
    hint = "build the vectors again: tally vectors build"
    for contract in subject.contracts:
        cases = subject.cases.get(contract.operator, ())
        frozen = {case.group for case in cases}
        for group in contract.groups:
            if group.name not in frozen:
                yield group.position, f"group {group.name!r} has no frozen case", contract.operator, hint
        for name in sorted(frozen - {group.name for group in contract.groups}):
            message = f"frozen cases of group {name!r}, which the contract does not have"
            yield contract.position, message, contract.operator, hint
        yield from _misplaced(subject, contract, hint)
    for error in subject.unreadable():
        if error.case.operator in subject.library.contracts:
            position = subject.library.contracts[error.case.operator].position
            message = f"case {error.case.id} does not fit the contract's types: {error.reason}"
            yield position, message, error.case.operator, hint


def _misplaced(subject: LintTarget, contract: Contract, hint: str) -> Iterator[Found]:
    groups = {group.name: group for group in contract.groups}
    seen: set[str] = set()
    for case in subject.cases.get(contract.operator, ()):
        position = groups[case.group].position if case.group in groups else contract.position
        if case.id in seen:
            yield position, f"two cases are called {case.id}", contract.operator, hint
        seen.add(case.id)
        if not case.id.startswith(f"{contract.operator}::{case.group}::"):
            yield position, f"case {case.id} is not named after its operator and group", contract.operator, hint


@rule("L109", "names-used", "warning")
def names_used(subject: LintTarget) -> Iterator[Found]:
    """Every base, every let and every named value of a contract is used in it, and every law by some contract."""
    for contract in subject.contracts:
        for where, message, hint in _unused(subject, contract):
            yield where, message, contract.operator, hint
    applied = {use.law for contract in subject.library.contracts.values() for use in contract.laws}
    for law in subject.library.laws.values():
        # A law that a contract misspells is what L103 finds.
        if law.name not in applied and applied <= subject.library.laws.keys():
            hint = f"add it to the `laws` of a contract, - {{law: {law.name}, requirement: ID}}, or remove it"
            yield law.position, f"no contract has the law {law.name!r}, so it is never tried", law.name, hint


def _unused(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    named, used = _named_bases(contract, subject), _names_in(contract)
    for name in contract.bases:
        if name not in named:
            yield contract.source.key_at(("bases", name)), f"no case starts from base {name!r}", _USE
    for name in contract.source.value.get("let", {}):
        if name not in used:
            yield contract.source.key_at(("let", name)), f"nothing uses let {name!r}", _USE
    for path, position in contract.source.keys.items():
        if path[:1] == (VALUES,):
            yield position, f"nothing uses the value {path[1]!r}", _USE


_USE: Final = "use it or remove it"


def _named_bases(contract: Contract, subject: LintTarget) -> set[str]:
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
    expressions = [
        *contract.domain,
        *(guard.expression for guard in contract.requires),
        *(clause.expression for clause in contract.ensures),
        *(edge.when for edge in contract.edge_cases),
        *(group.where for group in contract.groups if group.where),
        *(let.expression for let in contract.environment.lets),
        *(contract.method.becomes.values() if contract.method is not None else ()),
    ]
    # A let whose value is a map or struct is used by its dotted members.
    return {name.split(".")[0] for one in expressions for name in variables_of(one.compiled)}


@contract_rule("L110", "names-well-formed")
def names_well_formed(subject: LintTarget, contract: Contract) -> Iterator[FoundIn]:
    """An operator's number is its MAJOR version, its file bears its name, and fields and lets are snake_case words."""
    at, operator = contract.source.at, contract.operator
    number = re.search(r"_v(\d+)\Z", operator)
    named = int(number[1]) if number else 1
    if named != contract.major:
        message = f"{operator} has version {contract.version}: the operator's number says MAJOR {named}"
        yield at(("version",)), message, "a new MAJOR is a new operator with a new number"
    file = PurePosixPath(contract.position.file).name
    bearer = contract.machine.name if contract.machine is not None else operator
    if file != f"{bearer}.yaml":
        yield contract.position, f"{operator} is in {file}", f"call the file {bearer}.yaml"
    for key in ("inputs", "outputs", "let"):
        for name in contract.source.value.get(key, {}):
            if not _WORDS.match(name):
                where = contract.source.key_at((key, name))
                yield where, f"{name!r} is not a snake_case word", "lower-case words joined by _"
    yield from _empty_names(contract)


def _empty_names(contract: Contract) -> Iterator[FoundIn]:
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
            yield position, f"{name!r} says nothing about its behaviour", "name it after the behaviour it pins"


_WORDS: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_EMPTY: Final = frozenset(
    {"", "case", "cases", "check", "edge", "ensures", "foo", "group", "guard", "misc", "other", "requires", "rule",
     "sanity", "test", "tests", "tmp", "todo", "various", "vector", "vectors"}
)  # fmt: skip
