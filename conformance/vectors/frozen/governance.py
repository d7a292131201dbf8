"""Which version a change requires (seed 000 §0.J), between any two states of a suite and since the last release."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from conformance.contract.library import Library
from conformance.contract.wording import counted
from conformance.contract.yaml.source import Position, Problem
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.frozen.lock import (
    CLAUSE,
    FIELDS,
    LOCK_FILE,
    MEMBER,
    OPERATION,
    TEXT,
    Lock,
    Release,
    release_of,
)

Version = tuple[int, int, int]


class Level(IntEnum):
    """The part of a version that rises, or must rise."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3


@dataclass(frozen=True, slots=True)
class VersionReason:
    """One change, and the part of the version that must rise for it."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class ContractChange:
    """What changed in one contract; `then` is empty where it is new, `now` where it is gone."""

    operator: str
    then: str
    now: str
    reasons: tuple[VersionReason, ...] = ()
    added: tuple[str, ...] = ()  # ids of cases
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    predecessor: str = ""  # of a new contract: that of the same name with the next lower number

    @property
    def asked_level(self) -> Level:
        """The part of the version that governance asks to rise."""
        return max((reason.level for reason in self.reasons), default=Level.NONE)

    @property
    def given_level(self) -> Level:
        """The part of the version that did rise."""
        if not self.then or not self.now:
            return Level.NONE
        old, new = numbers(self.then), numbers(self.now)
        rises = ((Level.MAJOR, 1), (Level.MINOR, 2), (Level.PATCH, 3))
        return next((level for level, n in rises if new[:n] > old[:n]), Level.NONE) if new > old else Level.NONE

    @property
    def is_granted(self) -> bool:
        """Whether the version has risen as governance asks."""
        if not self.then:
            return True
        return bool(self.now) and self.given_level >= self.asked_level and numbers(self.now) >= numbers(self.then)

    @property
    def level(self) -> Level:
        """The level of a release with this change: MAJOR for a new number in a name, MINOR for another new contract."""
        if not self.then:
            return Level.MAJOR if self.predecessor else Level.MINOR
        return max(self.asked_level, self.given_level) if self.now else Level.MAJOR

    @property
    def advice(self) -> str:
        """The sentence that says which version is needed; empty if the version is as governance asks."""
        if self.is_granted:
            return ""
        if not self.now:
            return "restore it; a successor gets the next number"
        if self.asked_level is Level.MAJOR:
            major = numbers(self.then)[0] + 1
            name = f"{_NUMBER.sub('', self.operator)}_v{major}"
            return f"restore it; the change gets the next number: {name}, version {major}.0.0"
        return f"raise its version to {raised(self.then, self.asked_level)}"


_NUMBER: Final = re.compile(r"_v([0-9]+)\Z")


def numbers(version: str) -> Version:
    """The three numbers of a version."""
    major, minor, patch = map(int, version.split("."))
    return major, minor, patch


def raised(version: str, level: Level) -> str:
    """The next version after one part of it rises."""
    major, minor, patch = numbers(version)
    match level:
        case Level.MAJOR:
            return f"{major + 1}.0.0"
        case Level.MINOR:
            return f"{major}.{minor + 1}.0"
        case Level.PATCH:
            return f"{major}.{minor}.{patch + 1}"
    return version


def contract_changes(old: Release, new: Release) -> tuple[ContractChange, ...]:
    """Every operator and machine that differs between the two, sorted by name; a machine includes its operations."""
    before, after = _by_operator(old), _by_operator(new)
    owners = {**machines_of(old), **machines_of(new)}
    found = []
    for operator in sorted((old.contracts.keys() | new.contracts.keys()) - owners.keys()):
        then, now = before.get(operator, {}), after.get(operator, {})
        added, removed = sorted(now.keys() - then.keys()), sorted(then.keys() - now.keys())
        changed = sorted(id_ for id_ in then.keys() & now.keys() if then[id_] != now[id_])
        ids = (tuple(added), tuple(removed), tuple(changed))
        if operator not in old.contracts:
            version, predecessor = new.contracts[operator].version, _predecessor(operator, old)
            found.append(ContractChange(operator, "", version, (), *ids, predecessor=predecessor))
        elif operator not in new.contracts:
            gone = VersionReason(Level.MAJOR, "the contract is gone")
            found.append(ContractChange(operator, old.contracts[operator].version, "", (gone,), *ids))
        else:
            reasons = [*_of_cases(*ids), *_of_surface(old.surfaces.get(operator, {}), new.surfaces.get(operator, {}))]
            methods = sorted(name for name, owner in owners.items() if owner == operator)
            for name in methods:
                if name in old.contracts and name in new.contracts:
                    short = name.removeprefix(f"{operator}.")
                    of_method = _of_surface(old.surfaces.get(name, {}), new.surfaces.get(name, {}))
                    reasons += [VersionReason(one.level, f"{short}: {one.text}") for one in of_method]
            versions = (old.contracts[operator].version, new.contracts[operator].version)
            if reasons or versions[0] != versions[1]:
                reasons.sort(key=lambda reason: -reason.level)
                found.append(ContractChange(operator, *versions, tuple(reasons), *ids))
    return tuple(found)


def machines_of(release: Release) -> dict[str, str]:
    """The machine of every operation, by the operation's full name, if both are in the release."""
    return {
        name: machine
        for machine in release.contracts
        for name in _operations(release.surfaces.get(machine, {}))
        if name in release.contracts
    }


def _operations(surface: Mapping[str, str]) -> Iterator[str]:
    prefix = f"{OPERATION} "
    return (name.removeprefix(prefix) for name in surface if name.startswith(prefix))


def _by_operator(release: Release) -> Mapping[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for id_, digest in release.vectors.items():
        found.setdefault(id_.partition("::")[0], {})[id_] = digest
    return found


def _predecessor(operator: str, old: Release) -> str:
    """The contract of the same name with the next lower number; empty if there is none."""
    stem, number = _stem(operator)
    known = [(_stem(name)[1], name) for name in old.contracts if _stem(name)[0] == stem and _stem(name)[1] < number]
    return max(known)[1] if known else ""


def _stem(operator: str) -> tuple[str, int]:
    found = _NUMBER.search(operator)
    return (operator[: found.start()], int(found[1])) if found else (operator, 1)


def _of_cases(added: Sequence[str], removed: Sequence[str], changed: Sequence[str]) -> Iterator[VersionReason]:
    for level, ids, word in (
        (Level.MAJOR, changed, "changed"),
        (Level.MAJOR, removed, "gone"),
        (Level.MINOR, added, "added"),
    ):
        if ids:
            groups = Counter(id_.split("::")[1] for id_ in ids)
            shown = ", ".join(f"{count} in {group}" for group, count in sorted(groups.items())[:_SHOWN])
            more = f" and {counted(len(groups) - _SHOWN, 'more group')}" if len(groups) > _SHOWN else ""
            yield VersionReason(level, f"vectors {word}: {shown}{more}")


_SHOWN: Final = 5  # names in one sentence


def _of_surface(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[VersionReason]:
    """The changes of fields and clauses; if a field and all below it are new or gone, only the uppermost one."""
    fields = [name for name in sorted(old.keys() | new.keys()) if name.split(".")[0] in FIELDS]
    for name in fields:
        then, now = old.get(name), new.get(name)
        above = re.split(r" = |\.[^.]*\Z", name, maxsplit=1)[0]
        if then == now or (above not in FIELDS and (above in old) != (above in new)):
            continue
        if now is None:
            yield VersionReason(Level.MAJOR, f"{name} is gone")
        elif then is None:
            is_free = now == MEMBER or _is_optional(now)
            yield VersionReason(
                Level.MINOR if is_free else Level.MAJOR, f"{name} is new{'' if is_free else ' and required'}"
            )
        elif name.startswith("inputs.") and not _is_optional(then) and _is_optional(now) and _kind(then) == _kind(now):
            yield VersionReason(Level.MINOR, f"{name} is no longer required")
        else:
            yield VersionReason(Level.MAJOR, f"{name} was {then}, is {now}")
    clauses = [name for name in sorted(old.keys() | new.keys()) if name not in fields and name != TEXT]
    for name in clauses:
        if name not in new:
            yield VersionReason(Level.MAJOR if name.startswith(OPERATION) else Level.PATCH, f"{name} is gone")
        elif name not in old:
            yield VersionReason(Level.MINOR, f"{name} is new")
    if old.get(TEXT, CLAUSE) != new.get(TEXT, CLAUSE):
        yield VersionReason(Level.PATCH, "the text of the contract changed")


def _kind(said: str) -> str:
    return said.partition(" ")[0]


def _is_optional(said: str) -> bool:
    return said.partition(" ")[2].startswith(("optional", "default"))


def governance(library: Library, corpus: Corpus, lock: Lock) -> tuple[Problem, ...]:
    """Every breach of the version rules: V010 shrunken, V011 breaking, V012 unannounced, V013 removed.

    `lock` is the committed one. Against its counts no operator may lose cases, against its release every contract
    needs the version that `contract_changes` asks for.
    """
    problems = list(_counts(library, corpus, lock))
    if lock.released is not None:
        problems += _unraised_versions(library, corpus, lock.released)
    return tuple(sorted(problems))


def _counts(library: Library, corpus: Corpus, lock: Lock) -> Iterator[Problem]:
    for operator, contract in library.contracts.items():
        count = len(corpus.cases.get(operator, ()))
        least = lock.contracts[operator].cases if operator in lock.contracts else 1
        if contract.method is not None:
            continue  # its cases belong to the machine
        if count < max(least, 1):
            message = f"{operator} has {counted(count, 'case')}, {LOCK_FILE} asks for at least {max(least, 1)}"
            yield Problem(contract.position, "V010", message, "bring the cases back; a corpus never shrinks")
    for operator in sorted(lock.contracts.keys() - library.contracts.keys()):
        if lock.released is None or operator not in lock.released.contracts:
            yield Problem(_lock_position(library), "V013", f"{operator} is locked but has no contract", _BUILD)


_BUILD: Final = "restore the contract, or run `tally vectors build` where it was never released"


def _unraised_versions(library: Library, corpus: Corpus, released: Release) -> Iterator[Problem]:
    for change in contract_changes(released, release_of(replace(library, requirements={}), corpus, "")):
        if change.is_granted:
            continue
        code = "V011" if change.asked_level is Level.MAJOR else "V012"
        if change.now:
            place = library.contracts[change.operator].source.at(("version",))
        else:
            place, code = _lock_position(library), "V013"
        yield Problem(place, code, refusal(change, released.tag), change.advice)


def refusal(change: ContractChange, since: str) -> str:
    """Why the version of a contract is not the one that governance asks for."""
    if not change.now:
        return f"{change.operator} was released with {since} and is gone"
    said = [reason.text for reason in change.reasons if reason.level is change.asked_level]
    more = f" and {len(said) - _SHOWN} more changes" if len(said) > _SHOWN else ""
    why = "; ".join(said[:_SHOWN]) + more
    if change.asked_level is Level.NONE:
        return f"{change.operator} {change.now} is lower than {change.then}, released with {since}"
    asks = f"a {change.asked_level.name} version is due since {since} ({change.then})"
    return f"{change.operator} {change.now}: {asks}: {why}"


def _lock_position(library: Library) -> Position:
    return Position(library.suite.path_text(library.suite.spec / LOCK_FILE), 1, 1)
