"""spec/contracts.lock, and what may change after a release."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from conformance.codec.cbor import digest
from conformance.contract.cache import open_cache
from conformance.contract.lazy import files_digest
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.source import Position, Problem
from conformance.contract.types import Enum, ListOf, MapOf, Struct, Type
from conformance.vectors.corpus import Corpus
from conformance.vectors.jsontext import digest_of, json_text

LOCK_FILE: Final = "contracts.lock"
_PROSE: Final = frozenset({"purpose", "doc", "why"})
_VALUES: Final = frozenset({"set", "pin", "pins", "matrix", "bases", "base", "default", "over", "each", "vary"})


class BadLock(Exception):
    """spec/contracts.lock cannot be read; says why and the next step."""


@dataclass(frozen=True, slots=True)
class LockedContract:
    """One contract: its version, its digest without prose, its groups' digests and how many cases it has at least."""

    version: str
    digest: str
    groups: Mapping[str, str]
    cases: int


@dataclass(frozen=True, slots=True)
class Release:
    """The contracts as a tag released them, and the digest of every case by id."""

    tag: str
    contracts: Mapping[str, LockedContract]
    vectors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Lock:
    """The whole lock; before the first release nothing is released and it is rewritten freely."""

    contracts: Mapping[str, LockedContract]
    vectors: Mapping[str, str]  # case digests; not written but for the release
    released: Release | None = None


def lock_of(library: Library, corpus: Corpus, released: Release | None) -> Lock:
    """The lock that belongs to a library and its corpus."""
    contracts = {
        operator: LockedContract(
            contract.version,
            contract_digest(contract),
            _group_digests(corpus, operator),
            len(corpus.cases.get(operator, ())),
        )
        for operator, contract in sorted(library.contracts.items())
    }
    return Lock(contracts, {case.id: case.digest for case in corpus}, released)


def release(lock: Lock, tag: str) -> Lock:
    """The lock once `tag` is released: its snapshot is what governance compares later changes with.

    Takes a lock made by `lock_of`; one read from a file knows no vectors. Raises BadLock where there are none.
    """
    if not lock.vectors:
        raise BadLock("a release without vectors would bind no later change\n    hint: build the corpus first")
    return replace(lock, released=Release(tag, lock.contracts, lock.vectors))


def contract_digest(contract: Contract) -> str:
    """The digest of what a contract says, without prose and comments but with every type resolved."""
    types = {name: _shape(getattr(contract, name)) for name in ("inputs", "outputs", "failure")}
    text = _without_prose(contract.source.value)
    for refusal in text.get("refuses", ()):
        del refusal["when"]  # a sentence here, and an expression everywhere else
    return digest({"text": text, "types": types})


def contract_digests(library: Library) -> dict[str, str]:
    """Version and digest of every contract, by operator."""

    def made() -> dict[str, str]:
        contracts = sorted(library.contracts.items())
        return {operator: f"{contract.version} {contract_digest(contract)}" for operator, contract in contracts}

    found: dict[str, str] = open_cache("vectors").get_or_make("digests", files_digest(library.contracts), made)
    return found


def _without_prose(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: part if key in _VALUES else _without_prose(part)
            for key, part in value.items()
            if not (key in _PROSE and isinstance(part, str))
        }
    return [_without_prose(part) for part in value] if isinstance(value, list) else value


def _shape(type_: Type) -> Any:
    match type_:
        case Struct(fields):
            return [
                {"name": one.name, "type": _shape(one.type), "optional": one.optional, "volatile": one.volatile}
                | ({} if one.default is None else {"default": one.default})
                for one in fields
            ]
        case ListOf(item):
            return {"list": _shape(item)}
        case MapOf(item):
            return {"map": _shape(item)}
        case Enum(values):
            return {"enum": list(values)}
    return str(type_)


_GROUP_DIGITS: Final = 16  # of 64: they show that a group changed, and need not withstand an attack


def _group_digests(corpus: Corpus, operator: str) -> dict[str, str]:
    groups: dict[str, dict[str, str]] = {}
    for case in corpus.cases.get(operator, ()):
        groups.setdefault(case.group, {})[case.id] = case.digest
    return {name: digest_of(digests)[:_GROUP_DIGITS] for name, digests in groups.items()}


def lock_text(lock: Lock) -> str:
    """The text of the lock file."""
    contracts = {operator: asdict(one) for operator, one in lock.contracts.items()}
    return json_text({"contracts": contracts, "released": lock.released and asdict(lock.released)})


def read_lock(file: Path, shown: str) -> Lock:
    """The lock in a file; nothing locked and nothing released where it is empty or not there. Raises BadLock."""
    try:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        record = json.loads(text) if text.strip() else {"contracts": {}, "released": None}
        if (released := record["released"]) is not None:
            released = Release(released["tag"], _contracts(released["contracts"]), dict(released["vectors"]))
        return Lock(_contracts(record["contracts"]), {}, released)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "restore the file from the last commit"
        raise BadLock(f"{shown}: it is no contracts.lock ({error!r:.120})\n    hint: {hint}") from None


def _contracts(record: Mapping[str, Any]) -> dict[str, LockedContract]:
    return {
        operator: LockedContract(body["version"], body["digest"], dict(body["groups"]), body["cases"])
        for operator, body in record.items()
    }


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
            message = f"{operator} has {count} cases, {LOCK_FILE} asks for at least {max(least, 1)}"
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


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _lock_position(library: Library) -> Position:
    return Position(library.suite.shown(library.suite.spec / LOCK_FILE), 1, 1)
