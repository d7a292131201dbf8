"""L106 and L107: requirements.yaml and the contracts agree which check tests which requirement."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from conformance.contract.family import Requirement
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.suggest import close_to
from conformance.contract.yaml.machine_file import OPEN_HANDLE
from conformance.contract.yaml.source import Position, ValuePath, names
from conformance.lint.rule import Found, LintTarget, Rule, rule

# Below these keys is data of cases and laws, where a key `requirement` is no key of the contract language.
_DATA: Final = frozenset(
    {"bases", "set", "over", "matrix", "pin", "pins", "use", "vary", "inputs", "outputs", "put", "examples",
     "becomes", "given"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Citation:
    """A place of a contract that names a requirement or a ruling."""

    name: str
    position: Position


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """One check string, `kind:target#name` (or `::name`), taken apart; `operator` is empty for tests and benches."""

    text: str
    kind: str
    operator: str
    name: str


def mentions(contract: Contract, key: str) -> Iterator[Citation]:
    """Every name under `key` (requirement or ruling) in the contract, with its place."""
    yield from _mentions(contract, contract.source.value, (), key)


def _mentions(contract: Contract, value: Any, path: ValuePath, key: str) -> Iterator[Citation]:
    if isinstance(value, dict):
        for name in names(value, key) if key in value else ():
            yield Citation(name, contract.source.at((*path, key)))
        for step, inner in value.items():
            if step not in _DATA:
                yield from _mentions(contract, inner, (*path, step), key)
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _mentions(contract, inner, (*path, k), key)


@cache
def check_of(text: str) -> NamedCheck:
    """The check that a string of requirements.yaml means."""
    kind, _, target = text.partition(":")
    separator = "::" if kind in ("group", "test") else "#"
    operator, _, name = target.partition(separator)
    return NamedCheck(text, kind, operator, name)


def claimable(contract: Contract) -> Iterator[tuple[str, str, tuple[str, ...] | None, Position]]:
    """Every part of a contract that a requirement can name: (kind, name, its own requirements or None, place).

    None: the part has no key `requirement`, so only requirements.yaml names its requirement.
    """
    if contract.own_machine is not None:
        yield from _of_machine(contract)
    for guard in contract.requires:
        if contract.method is not None and guard.id == OPEN_HANDLE:
            continue  # all methods of a machine share it
        yield "guard", guard.id, guard.requirements, guard.position
    for refusal in contract.refuses:
        yield "refuses", refusal.id, refusal.requirements, refusal.position
    for clause in contract.ensures:
        yield "ensures", clause.id, clause.requirements, clause.position
    for k, edge in enumerate(contract.edge_cases):
        requirements = names(contract.source.value["edge_cases"][k], "requirement")
        yield "edge", edge.id, requirements or None, edge.position
    for use in contract.laws:
        yield "law", use.law, use.requirements, use.position
    for group in contract.groups:
        yield "group", group.name, group.requirements, group.position
    for workload in contract.workloads:
        yield "workload", workload.name, workload.requirements, workload.position


def _of_machine(contract: Contract) -> Iterator[tuple[str, str, tuple[str, ...] | None, Position]]:
    assert contract.machine is not None
    handle = contract.source.value["handle"]
    yield "guard", OPEN_HANDLE, names(handle, "requirement"), contract.source.at(("handle",))
    for variable in contract.machine.variables:
        yield "state", variable.name, None, variable.position
    for clause in contract.invariants:
        yield "invariant", clause.id, clause.requirements, clause.position


def check_text(contract: Contract, kind: str, name: str) -> str:
    """The check string by which requirements.yaml names something of a contract."""
    return f"{kind}:{contract.operator}{'::' if kind == 'group' else '#'}{name}"


def guard_text(contract: Contract, id_: str) -> str:
    """The check string of a guard; the guard over the handle belongs to the machine, not to a method."""
    if contract.method is not None and contract.machine is not None and id_ == OPEN_HANDLE:
        return f"guard:{contract.machine.name}#{id_}"
    return check_text(contract, "guard", id_)


def rows(library: Library) -> Iterator[Requirement]:
    """Every requirement of every family."""
    return (row for family in library.requirements.values() for row in family.requirements)


def requirement_checks(library: Library) -> dict[str, set[str]]:
    """The requirements that name each check string."""
    found: dict[str, set[str]] = {}
    for row in rows(library):
        for text in row.checks:
            found.setdefault(text, set()).add(row.id)
    return found


def requirement_ids(library: Library) -> frozenset[str]:
    """The id of every requirement of every family."""
    return frozenset(row.id for row in rows(library))


def _parts_of(contract: Contract) -> frozenset[str]:
    return frozenset(check_text(contract, kind, name) for kind, name, _, _ in claimable(contract))


def _parts(library: Library) -> frozenset[str]:
    return frozenset[str]().union(*map(_parts_of, library.contracts.values()))


def unresolved(library: Library) -> Iterator[tuple[NamedCheck, str]]:
    """The checks of requirements that name no part of any contract, each with the requirement."""
    existing = _parts(library)
    for row in rows(library):
        for check in map(check_of, row.checks):
            if check.kind not in ("lint", "test", "bench") and check.text not in existing:
                yield check, row.id


def meant(check: NamedCheck, library: Library) -> list[str]:
    """The check string of the part of the same kind that a check may mean, if there is one."""
    if check.operator not in library.contracts:
        return close_to(check.text, [text for text in _parts(library) if text.startswith(f"{check.kind}:")], 0.8, 1)
    contract = library.contracts[check.operator]
    names = [name for kind, name, _, _ in claimable(contract) if kind == check.kind]
    return [check_text(contract, check.kind, name) for name in close_to(check.name, names, 0.6, 1)]


def _naming(library: Library, id_: str) -> dict[str, tuple[str, ...]]:
    """The check string of each part of a contract that names a requirement, with all that the part names."""
    return {
        check_text(contract, kind, name): requirements
        for contract in library.contracts.values()
        for kind, name, requirements, _ in claimable(contract)
        if requirements is not None and id_ in requirements
    }


def renamed_row(library: Library, id_: str) -> str:
    """The row that rests on every part that names an unknown requirement, where none of them names the row; or empty.

    Such a row had this id before, or it is misspelt itself.
    """
    naming = _naming(library, id_)
    named = {name for names in naming.values() for name in names}
    found = [row.id for row in rows(library) if naming and naming.keys() <= set(row.checks) and row.id not in named]
    return found[0] if len(found) == 1 else ""


def row_to_paste(library: Library, id_: str) -> str:
    """The row of requirements.yaml for an unknown id: the parts of contracts that name it are its checks."""
    named = list(_naming(library, id_))
    head = [f"- id: {id_}", "  kind: P", '  section: "1"', "  text: ...", "  checks:"]
    return "\n".join([*head, *(f"  - {text}" for text in named or ["..."])])


def rows_to_paste(library: Library, family: str, ids: list[str]) -> str:
    """The rows of requirements.yaml for unknown ids; the whole file if the family has none."""
    head = [] if family in library.requirements else [f"seed: {family}", "requirements:"]
    return "\n".join([*head, *(row_to_paste(library, id_) for id_ in ids)])


def unknown_requirement_hint(library: Library, id_: str, family: str) -> str:
    """The hint for an unknown requirement: the id that is meant, or the row to add."""
    known = sorted(requirement_ids(library))
    same = [name for name in known if name.strip("0123456789") == id_.strip("0123456789")]
    twisted = [name for name in known if sorted(name) == sorted(id_) and name != id_]
    likely = renamed_row(library, id_) or next(iter(twisted), "")
    near = f"did you mean {likely}? Else add" if likely else "correct the id" + (
        f" ({same[0]} to {same[-1]} have rows)" if same else "") + ", or add"  # fmt: skip
    return f"{near} its row to {family}/requirements.yaml:\n{rows_to_paste(library, family, [id_])}"


def checks_resolve(codes: frozenset[str]) -> Rule:
    """L106; `codes` are those of all rules, on which requirements may rest."""

    @rule("L106", "checks-resolve")
    def resolve(subject: LintTarget) -> Iterator[Found]:
        """Every check that a requirement or a mutant names exists: in a contract, the rules, the tests, a benchmark."""
        contracts = subject.library.contracts.values()
        existing = frozenset[str]().union(*(subject.cache.once(_parts_of, contract) for contract in contracts))
        for family in subject.library.requirements.values():
            for k, row in enumerate(family.requirements):
                if existing.issuperset(row.checks) and len(set(row.checks)) == len(row.checks):
                    continue  # as in most rows
                for n, text in enumerate(row.checks):
                    reason = _missing(text, existing, codes, subject)
                    if not reason and text not in row.checks[:n]:
                        continue
                    where = family.source.at(("requirements", k, "checks", n))
                    if reason:
                        message = f"{row.id} rests on {text!r}: {reason}"
                        yield where, message, row.id, _meant_hint(check_of(text), subject.library)
                    else:
                        yield where, f"{row.id} names {text!r} twice", row.id, "remove one"
        for mutant in subject.library.mutants.values():
            for text in mutant.breaks:
                if reason := _missing(text, existing, codes, subject):
                    message = f"{mutant.id} must break {text!r}: {reason}"
                    yield mutant.position, message, mutant.id, _meant_hint(check_of(text), subject.library)

    return resolve


def _meant_hint(check: NamedCheck, library: Library) -> str:
    near = [] if check.kind in ("lint", "test", "bench") else meant(check, library)
    return f"did you mean {near[0]}?" if near else "correct the check, or bring back what it names"


def _missing(text: str, existing: frozenset[str], codes: frozenset[str], subject: LintTarget) -> str:
    if text in existing:
        return ""
    check = check_of(text)
    if check.kind == "lint":
        return "" if check.operator in codes else "no such lint rule"
    if check.kind in ("test", "bench"):
        return _missing_document(check, subject)
    if check.operator not in subject.library.contracts:
        return "no such contract"
    return f"the contract has no such {_WORDS[check.kind]}"


_WORDS = {
    "guard": "guard",
    "refuses": "refusal",
    "ensures": "postcondition",
    "state": "state variable",
    "edge": "edge case",
    "invariant": "invariant",
    "law": "law",
    "group": "group",
    "workload": "workload",
}


def _missing_document(check: NamedCheck, subject: LintTarget) -> str:
    if subject.documents is None:
        return ""
    text = subject.documents.get(check.operator)
    if text is None:
        return "no such file"
    if check.kind == "bench":
        return "" if not check.name or check.name in text else "the benchmark prints no such line"
    last = check.name.rsplit("::", 1)[-1].split("[", 1)[0]
    return "" if last in _defined(text) else "the file has no such test"


@cache
def _defined(text: str) -> frozenset[str]:
    """The names that a file of tests defines; cached, because many requirements name the same file.

    The file is parsed and not run. In other text, words after `def`, `class`, `function`, `fn`, `func` are names.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(re.findall(r"\b(?:def|class|function|fn|func)\s+(\w+)", text))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


@rule("L107", "checks-mutual")
def checks_mutual(subject: LintTarget) -> Iterator[Found]:
    """A check and its requirement name each other, and every part of a contract has a requirement."""
    claims, unnamed = requirement_checks(subject.library), dict[str, list[tuple[Position, str, str, str]]]()
    for contract in subject.contracts:
        alone: list[tuple[Position, str, str, str]] = []
        for kind, name, requirements, position in claimable(contract):
            text = check_text(contract, kind, name)
            part = (position, f"{kind} {name!r}", text, contract.operator)
            claimed = claims.get(text, set())
            for id_ in sorted(set(requirements or ()) - claimed):
                unnamed.setdefault(id_, []).append(part)
            for id_ in sorted(claimed - set(claimed if requirements is None else requirements)):
                message = f"{id_} rests on {kind} {name!r}, which does not name {id_}"
                yield position, message, contract.operator, f"add {id_} to its `requirement`"
            if not claimed and not requirements:
                alone.append(part)
        if alone:
            yield _together(alone, "no requirement rests on {}", "name {} in requirements.yaml", "requirements.yaml")
    for id_, parts in unnamed.items():
        said = "{} " + f"names {id_}, whose row does not name it"
        yield _together(parts, said, "add {} to the checks of " + id_, id_)


def _together(parts: list[tuple[Position, str, str, str]], said: str, fix: str, where: str) -> Found:
    """One finding about parts that lack the same thing, at the first part; for several parts, with lines to paste."""
    position, first, text, about = parts[0]
    if len(parts) == 1:
        return position, said.format(first), about, fix.format(repr(text))
    lines = "\n".join(f"  - {text}" for _, _, text, _ in parts)
    message = f"{said.format(first)}; the same of {', '.join(name for _, name, _, _ in parts[1:])}"
    return position, message, about, f"add these lines to the checks of {where}:\n{lines}"
