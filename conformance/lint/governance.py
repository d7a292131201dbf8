"""L501 and L502: what a release promised stays, and contracts.lock is of these contracts (seed 000 §0.J)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.model import Contract
from conformance.contract.position import Position
from conformance.lint.finding import Finding
from conformance.lint.subject import Subject
from conformance.vectors.corpus import Corpus
from conformance.vectors.index import Index
from conformance.vectors.lock import LOCK_FILE, Lock, LockedContract, Release, contract_digest, lock_of

Version = tuple[int, ...]


class VersionsGoverned:
    """Since the last release, changed vectors need a new MAJOR, added ones a MINOR, a changed text a new version."""

    code, name, level = "L501", "versions-governed", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Contracts that changed more than their version admits; silent before the first release."""
        release = subject.lock.released if subject.lock else None
        if release is None:
            return
        contracts = subject.library.contracts
        for operator, old in release.contracts.items():
            if operator not in contracts and subject.only is None:
                place = Position(f"spec/{LOCK_FILE}", 1, 1)
                message = f"{operator}, released in {release.tag}, is gone"
                yield Finding(place, self.code, message, operator, "bring it back: a released operator stays")
            elif operator in contracts and (subject.only is None or operator in subject.only):
                yield from self._judged(subject, contracts[operator], old, release)

    def _judged(self, subject: Subject, contract: Contract, old: LockedContract, release: Release) -> Iterator[Finding]:
        now, then = _version(contract.version), _version(old.version)
        since = f"since {release.tag}"
        where, operator = contract.source.at(("version",)), contract.operator
        if now < then:
            message = f"version {contract.version} is below the released {old.version}"
            yield Finding(where, self.code, message, operator, "versions only grow")
            return
        cases = {case.id: case.digest for case in subject.cases.get(operator, ())}
        promised = {id_: digest for id_, digest in release.vectors.items() if id_.startswith(f"{operator}::")}
        changed = sorted(id_ for id_, digest in promised.items() if cases.get(id_) != digest)
        if changed and now[0] == then[0]:
            message = f"{len(changed)} released vectors changed or left {since}, {changed[0]} first"
            hint = "a changed sequence is a new MAJOR: a new operator with a new number; restore these vectors"
            yield Finding(where, self.code, message, operator, hint)
        added = sorted(cases.keys() - promised.keys())
        if added and now[:2] == then[:2]:
            message = f"{len(added)} vectors were added {since} without a new MINOR, {added[0]} first"
            yield Finding(where, self.code, message, operator, "raise the MINOR version")
        if contract_digest(contract) != old.digest and now == then:
            message = f"the contract changed {since}, its version {contract.version} did not"
            yield Finding(where, self.code, message, operator, "raise the version")


class LockCurrent:
    """contracts.lock holds each contract's version, digest and groups, and no more cases than are there."""

    code, name, level = "L502", "lock-current", "error"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Contracts that the lock does not hold as they are, and lines for contracts that are not there."""
        lock: Lock | None = subject.lock
        if lock is None:
            return
        hint = "see what changed with `tally vectors diff`, then write the lock again with `tally vectors build`"
        current = lock_of(subject.library, Corpus(subject.cases, Index({})), None).contracts
        for contract in subject.contracts:
            locked, now = lock.contracts.get(contract.operator), current[contract.operator]
            for message in ("the lock does not hold this contract",) if locked is None else _differences(locked, now):
                yield Finding(contract.position, self.code, message, contract.operator, hint)
        for operator in sorted(lock.contracts.keys() - current.keys()) if subject.only is None else ():
            place = Position(f"spec/{LOCK_FILE}", 1, 1)
            yield Finding(place, self.code, f"the lock holds {operator}, which has no contract", operator, hint)


def _differences(locked: LockedContract, now: LockedContract) -> Iterator[str]:
    if now.cases < locked.cases:
        yield f"{now.cases} frozen cases where the lock asks for at least {locked.cases}"
    if now.version != locked.version:
        yield f"version {now.version} where the lock has {locked.version}"
    if now.digest != locked.digest:
        yield "the lock's digest is of another text of this contract"
    for name in sorted(locked.groups.keys() | now.groups.keys()):
        if locked.groups.get(name) != now.groups.get(name):
            yield f"the cases of group {name!r} are not those that are locked"


def _version(text: str) -> Version:
    return tuple(map(int, text.split(".")))
