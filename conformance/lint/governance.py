"""L501 and L502: a release is not changed without a new version, and contracts.lock is current (seed 000 §0.J)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.contract.yaml.source import Position
from conformance.lint.rule import Found, LintTarget, rule
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.frozen.governance import governance
from conformance.vectors.frozen.lock import LOCK_FILE, Lock, LockedContract, lock_of
from conformance.vectors.frozen.vector_file import Index


@rule("L501", "versions-governed")
def versions_governed(subject: LintTarget) -> Iterator[Found]:
    """No corpus shrinks, and since the last release every version rose as far as what changed asks for."""
    lock = subject.lock
    if lock is None:
        return
    library = replace(subject.library, contracts=_only(subject, subject.library.contracts))
    corpus = Corpus(_only(subject, subject.cases), Index({}))
    released = lock.released
    if released is not None:
        released = replace(released, contracts=_only(subject, released.contracts))
    lock = Lock(_only(subject, lock.contracts), lock.vectors, released)
    for problem in governance(library, corpus, lock):
        yield problem.position, f"{problem.code} {problem.message}", "", problem.hint


def _only(subject: LintTarget, table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: body for name, body in table.items() if subject.only is None or name in subject.only}


@rule("L502", "lock-current")
def lock_current(subject: LintTarget) -> Iterator[Found]:
    """The file contracts.lock lists the version, digest and groups of exactly the contracts that exist."""
    lock = subject.lock
    if lock is None:
        return
    hint = "see what changed with `tally vectors diff`, then write the lock again with `tally vectors build`"
    judged = replace(subject.library, contracts=_only(subject, subject.library.contracts))
    current = lock_of(judged, Corpus(_only(subject, subject.cases), Index({})), None).contracts
    for contract in subject.contracts:
        locked, now = lock.contracts.get(contract.operator), current[contract.operator]
        said = ["the lock does not list this contract"] if locked is None else list(_differences(locked, now))
        if said:
            yield contract.position, "; ".join(said), contract.operator, hint
    for operator in sorted(lock.contracts.keys() - current.keys()) if subject.only is None else ():
        place = Position(f"spec/{LOCK_FILE}", 1, 1)
        yield place, f"the lock lists {operator}, which has no contract", operator, hint


CHANGED: Final = "the contract was changed after its vectors were built: the lock has the digest of another text"


def _differences(locked: LockedContract, now: LockedContract) -> Iterator[str]:
    if now.version != locked.version:
        yield f"version {now.version} where the lock has {locked.version}"
    if now.digest != locked.digest:
        yield CHANGED
    for name in sorted(locked.groups.keys() | now.groups.keys()):
        if locked.groups.get(name) != now.groups.get(name):
            yield f"the cases of group {name!r} differ from the lock"
