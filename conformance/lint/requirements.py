"""L401, L403 and L411 to L414: requirements are tested, and mutants break them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from conformance.contract.family import Passage, Requirement
from conformance.contract.library import Library
from conformance.contract.model import Clause, Contract
from conformance.contract.suite_file import bundled_suite
from conformance.contract.yaml.source import Position
from conformance.lint.call import FrozenCall
from conformance.lint.checks import check_of, check_text, claimable, guard_text, rows
from conformance.lint.rule import Found, LintTarget, rule


@rule("L401", "requirements-tested")
def requirements_tested(subject: LintTarget) -> Iterator[Found]:
    """Every requirement has a check that runs, or is excluded with a reason and no contract names it."""
    live = _live(subject)
    claimed = {
        id_: check_text(contract, kind, name)
        for contract in subject.library.contracts.values()
        for kind, name, requirements, _ in claimable(contract)
        for id_ in requirements or ()
    }
    seen: set[str] = set()
    for row in rows(subject.library):
        if row.id in seen:
            yield row.position, f"{row.id} comes twice", row.id, "renumber one"
        seen.add(row.id)
        if row.excluded and row.id in claimed:
            message = f"{row.id} is excluded, but {claimed[row.id]!r} carries it"
            yield row.position, message, row.id, "list its checks instead"
        elif not row.excluded and not any(_tests(row, text, live) for text in row.checks):
            hint = "add a group, law or test that carries it, or exclude it with a reason"
            why = "none of its checks runs" if row.checks else "it names no check"
            yield row.position, f"{row.id} is untested: {why}", row.id, hint


def _tests(row: Requirement, text: str, live: frozenset[str]) -> bool:
    kind = check_of(text).kind
    if kind == "lint":
        return row.kind == "L"
    if kind == "bench":
        return row.kind == "T"
    return kind == "test" or text in live


def _live(subject: LintTarget) -> frozenset[str]:
    """The check strings that a frozen case or a known law tests."""
    live: set[str] = set()
    for contract in subject.library.contracts.values():
        bearer = contract.machine.name if contract.machine is not None else contract.operator
        groups = {case.group for case in subject.cases.get(bearer, ())}
        for kind, name, _, _ in claimable(contract):
            if kind == "group":
                runs = name in groups
            elif kind == "law":
                runs = name in subject.known_laws
            else:
                runs = bool(groups)
            if runs:
                live.add(check_text(contract, kind, name))
    return frozenset(live)


@rule("L403", "prose-is-prose", "warning")
def prose_is_prose(subject: LintTarget) -> Iterator[Found]:
    """A purpose, a `why`, a reason for an exclusion and an error message are sentences of at least three words."""
    for contract in subject.contracts:
        yield from _sentence_problems(contract.source.at(("purpose",)), "purpose", contract.purpose, contract.operator)
        for refusal in contract.refuses:
            where = f"`when` of refusal {refusal.id!r}"
            yield from _sentence_problems(refusal.position, where, refusal.when, contract.operator)
        yield from _groups(contract)
    for family in subject.library.requirements.values():
        passages = coverage.passages if (coverage := subject.library.coverage.get(family.family)) else ()
        entries: list[Requirement | Passage] = [*family.requirements, *passages]
        for entry in entries:
            if entry.excluded:
                yield from _sentence_problems(entry.position, "reason for the exclusion", entry.excluded, family.seed)
    for error in subject.library.errors.values():
        yield from _sentence_problems(error.position, "message", error.message, error.code)


def _groups(contract: Contract) -> Iterator[Found]:
    said: dict[str, str] = {}
    for group in contract.groups:
        where = contract.source.at((*group.path, "why"))
        yield from _sentence_problems(where, f"why of group {group.name!r}", group.why, contract.operator)
        if group.why in said:
            message = f"groups {said[group.why]!r} and {group.name!r} exist for the same reason"
            yield where, message, contract.operator, "say what each one adds, or join them"
        said[group.why] = group.name
        for k, case in enumerate(group.body.get("cases", ())):
            if "why" in case:
                place = contract.source.at((*group.path, "cases", k, "why"))
                yield from _sentence_problems(place, f"why of case {case['id']!r}", case["why"], contract.operator)


def _sentence_problems(where: Position, what: str, text: str, about: str) -> Iterator[Found]:
    if not _SENTENCE.match(text.strip()):
        yield where, f"the {what} is no sentence: {text!r:.60}", about, "a capital, words, a full stop"
    elif _EMPTY.search(text):
        yield where, f"the {what} is a placeholder: {text!r:.60}", about, "say the reason itself"


_SENTENCE: Final = re.compile(r"[^a-z\s.]\S*(?:\s+\S+){2,}[.?]\)?\Z", re.DOTALL)
_EMPTY: Final = re.compile(r"\b(?:TODO|TBD|FIXME|XXX|lorem)\b", re.IGNORECASE)


def read_documents(library: Library) -> Mapping[str, str] | None:
    """The text of every test and benchmark file that a requirement names.

    None for the installed copy of the bundled suite, which comes without its tests.
    """
    root = library.suite.root
    if root == bundled_suite().root and not (root / "conformance" / "tests").is_dir():
        return None
    named = [name for name in named_documents(library) if (root / name).is_file()]
    return {name: (root / name).read_text(encoding="utf-8") for name in named}


def named_documents(library: Library) -> list[str]:
    """The paths of the tests and benchmarks that requirements name."""
    checks = (check for row in rows(library) for check in map(check_of, row.checks))
    return sorted({check.operator for check in checks if check.kind in ("test", "bench")})


KINDS: Final = ("P", "S", "F", "X")  # of requirements that a backend can break
MOST_REFERENCE_ONLY: Final = 5  # rows, in all families together
_CLAUSES: Final = ("guard", "refuses", "ensures", "invariant")


@rule("L411", "mutants-break")
def mutants_break(subject: LintTarget) -> Iterator[Found]:
    """Every requirement of kind P, S, F or X, guard, refusal and postcondition is broken by a mutant that dies."""
    if subject.evidence is None:
        return
    naming: dict[str, list[str]] = {}
    for id_, mutant in subject.library.mutants.items():
        for requirement in mutant.requirements:
            naming.setdefault(requirement, []).append(id_)
    for row in rows(subject.library):
        if row.kind in KINDS and not row.excluded and not row.reference_only:
            yield from _row(subject, subject.evidence, row, naming.get(row.id, []))
    broken = frozenset[str]().union(*subject.evidence.values())
    for contract in subject.contracts:
        implied = {clause.id: clause for clause in (*contract.ensures, *contract.invariants)}
        for one in implied.values():
            yield from _implied(contract, one, set(implied))
        for kind, name, _, position in claimable(contract):
            if kind not in _CLAUSES or check_text(contract, kind, name) in broken:
                continue
            clause = implied.get(name) if kind in ("ensures", "invariant") else None
            if clause is not None and clause.implied_by:
                continue
            mutants, text = subject.library.mutants, check_text(contract, kind, name)
            hint = _tried_with(subject, [id_ for id_ in mutants if text in mutants[id_].breaks])
            hint = hint or "add one to mutants.yaml, with a case that kills it, and run `tally mutants ID --write`"
            yield position, f"no mutant breaks {kind} {name!r}", contract.operator, hint


def _row(
    subject: LintTarget, evidence: Mapping[str, frozenset[str]], row: Requirement, naming: list[str]
) -> Iterator[Found]:
    """A requirement that no mutant breaks; `naming` are the mutants that name it."""
    workloads = {text for text in row.checks if check_of(text).kind == "workload"}
    wanted = workloads if row.kind == "X" and workloads else set(row.checks)
    if any(evidence.get(id_, frozenset()) & wanted for id_ in naming):
        return
    if not naming:
        message, hint = f"no mutant breaks {row.id}", "add one to mutants.yaml that names it"
    else:
        message = f"no check that {row.id} names kills a mutant that breaks it"
        hint = f"{', '.join(naming[:3])} {'break' if naming[1:] else 'breaks'} it: name a check that kills one"
        hint = _tried_with(subject, naming) or hint
    yield row.position, message, row.id, hint


def _tried_with(subject: LintTarget, mutants: list[str]) -> str:
    """The command that tries the mutants that claim to break a check; empty if there are none, or one was killed."""
    untried = [] if set(mutants) & (subject.evidence or {}).keys() else mutants[:3]
    return f"run `tally mutants {' '.join(untried)} --write` to see whether they break it" if untried else ""


def _implied(contract: Contract, clause: Clause, known: set[str]) -> Iterator[Found]:
    for id_ in clause.implied_by:
        if id_ not in known - {clause.id}:
            message = f"postcondition {clause.id!r} is implied by {id_!r}, which the contract does not have"
            yield clause.position, message, contract.operator, "name another clause of this contract"


@rule("L412", "guards-twice")
def guards_twice(subject: LintTarget) -> Iterator[Found]:
    """Every guard decides at least two frozen calls."""
    calls: dict[str, list[FrozenCall]] = {}
    for contract in subject.contracts if subject.evidence is not None else ():
        evaluator = subject.evaluator(contract)
        for call in subject.calls(contract.operator):
            if guard := evaluator.refusal(contract.requires, call):
                calls.setdefault(guard_text(contract, guard.id), []).append(call)
    for contract in subject.contracts:
        for kind, name, _, position in claimable(contract):
            found = calls.get(check_text(contract, kind, name), [])
            if kind == "guard" and len(found) == 1:
                hint = "add a case that it refuses for another value"
                yield position, f"guard {name!r} decides one call only, in {found[0]}", contract.operator, hint


@rule("L413", "reference-only")
def reference_only(subject: LintTarget) -> Iterator[Found]:
    """A requirement that only tests of the suite's reference check says why, and there are at most five of them."""
    marked = 0
    for row in rows(subject.library):
        alone = is_reference_only(row)
        if alone and not row.reference_only:
            message = f"only tests of the reference check {row.id}, so no check tests another backend"
            hint = "add a group, law or workload, or say why there is none: `reference_only: reason`"
            yield row.position, message, row.id, hint
        elif row.reference_only and not alone:
            message = f"{row.id} is marked reference_only, but it has a check of any backend"
            yield row.position, message, row.id, "remove the mark"
        marked += alone
        if alone and marked > MOST_REFERENCE_ONLY:
            message = f"{row.id} is row {marked} that only tests of the reference check"
            hint = f"at most {MOST_REFERENCE_ONLY} may stay: add a check of any backend"
            yield row.position, message, row.id, hint


@rule("L414", "patches-apply")
def patches_apply(subject: LintTarget) -> Iterator[Found]:
    """The text that a mutant's patch replaces is in its file of the reference exactly once, and the new one differs."""
    find = "`file` is below the folder of the reference; write `find` as it is there now, long enough to be there once"
    hint = f"{find}, and another text in `replace`"
    for id_, reason in subject.unusable.items():
        yield subject.library.mutants[id_].position, f"the mutant {id_} cannot be made: {reason}", id_, hint


def is_reference_only(row: Requirement) -> bool:
    """Whether only tests of the suite's reference check a requirement that a backend can break."""
    kinds = {check_of(text).kind for text in row.checks}
    return row.kind in KINDS and not row.excluded and "test" in kinds and kinds <= {"test", "lint", "bench"}
