"""What may change after a release, and what never may: the corpus does not shrink, sequences do not drift."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.position import Position, Problem
from conformance.vectors.corpus import Corpus
from conformance.vectors.lock import LOCK_FILE, Lock, Release, lock_of

_SHOWN_CASES = 5


def governance(library: Library, corpus: Corpus, lock: Lock) -> tuple[Problem, ...]:
    """Every breach of the version rules (seed 000 §0.J): V010 shrunken, V011 changed, V012 unannounced, V013 removed.

    `lock` is the committed one. Against its counts no operator may lose cases; against its release existing vectors
    may not change under the same MAJOR, an added group needs a MINOR, and any other change a PATCH.
    """
    problems = list(_counts(library, corpus, lock))
    if lock.released is not None:
        problems += _against(library, corpus, lock.released)
    return tuple(sorted(problems))


def _counts(library: Library, corpus: Corpus, lock: Lock) -> Iterator[Problem]:
    for operator, contract in library.contracts.items():
        count = len(corpus.cases.get(operator, ()))
        least = lock.contracts[operator].cases if operator in lock.contracts else 1
        if contract.method is not None:
            continue  # its cases are the machine's
        if count < max(least, 1):
            message = f"{operator} has {count} cases, {LOCK_FILE} holds it to at least {max(least, 1)}"
            yield Problem(contract.position, "V010", message, "bring the cases back; a corpus never shrinks")
    for operator in sorted(lock.contracts.keys() - library.contracts.keys()):
        if lock.released is None or operator not in lock.released.contracts:
            yield Problem(_lock_position(library), "V013", f"{operator} is locked but has no contract", _BUILD)


_BUILD = "restore the contract, or run `tally vectors build` where it was never released"


def _against(library: Library, corpus: Corpus, released: Release) -> Iterator[Problem]:
    now = lock_of(library, corpus, None)
    for operator, then in released.contracts.items():
        contract = library.contracts.get(operator)
        if contract is None:
            message = f"{operator} was released with {released.tag} and is gone"
            yield Problem(_lock_position(library), "V013", message, "restore it; a successor gets the next number")
            continue
        old, new = _numbers(then.version), _numbers(contract.version)
        if new[0] > old[0]:
            continue
        changed = sorted(
            id_
            for id_, digest in released.vectors.items()
            if id_.startswith(f"{operator}::") and now.vectors.get(id_) != digest
        )
        if changed:
            yield _changed(contract, changed, released)
        added = sorted(now.contracts[operator].groups.keys() - then.groups.keys())
        if added and new[:2] <= old[:2]:
            message = f"{operator} {contract.version} adds the groups {', '.join(added)} to {then.version}"
            hint = f"raise its version to {old[0]}.{old[1] + 1}.0"
            yield Problem(contract.source.at(("version",)), "V012", message, hint)
        elif now.contracts[operator].digest != then.digest and new <= old:
            message = f"{operator} says something else than in {released.tag} under the same version {then.version}"
            hint = f"raise its version to {old[0]}.{old[1]}.{old[2] + 1} at least"
            yield Problem(contract.source.at(("version",)), "V012", message, hint)


def _changed(contract: Contract, changed: list[str], released: Release) -> Problem:
    shown = ", ".join(changed[:_SHOWN_CASES])
    if len(changed) > _SHOWN_CASES:
        shown += f" and {len(changed) - _SHOWN_CASES} more"
    message = f"vectors released with {released.tag} changed or are gone: {shown}"
    hint = "a changed sequence is another operator: give it the next number in its name and MAJOR version"
    return Problem(contract.source.at(("version",)), "V011", message, hint)


def _numbers(version: str) -> tuple[int, int, int]:
    major, minor, patch = map(int, version.split("."))
    return major, minor, patch


def _lock_position(library: Library) -> Position:
    return Position(library.layout.shown(library.layout.spec / LOCK_FILE), 1, 1)
