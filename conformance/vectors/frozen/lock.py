"""spec/contracts.lock: the contracts today and at the last release, and the surface that callers see."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from conformance.codec.cbor import digest
from conformance.contract.cache import open_cache
from conformance.contract.family import Requirement
from conformance.contract.lazy import files_digest
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.suite import Suite
from conformance.contract.types import Enum, Field, ListOf, MapOf, Struct, Type
from conformance.contract.yaml.source import BadFile
from conformance.vectors.frozen.corpus import Corpus
from conformance.vectors.jsontext import digest_of, json_text, strict_json

TEXT: Final = "text"  # the key for the digest of the whole contract without its version
CLAUSE: Final = ""  # the value for a clause: only its presence counts
MEMBER: Final = "may be"  # the value for each value of an enumeration
FIELDS: Final = ("inputs", "outputs", "failure")
OPERATION: Final = "operation"


def surface_of(contract: Contract, text_digest: Callable[[Contract], str]) -> dict[str, str]:
    """The surface of a contract.

    `inputs.a.b` and the like have their type, and whether they are optional, have a default or are volatile;
    `inputs.a = x` has each value of an enumeration; `guard x` and the like are the clauses; `text` is the rest.
    """
    found = {TEXT: text_digest(contract)}
    for name in FIELDS:
        found |= dict(_members(getattr(contract, name), name))
    return found | dict.fromkeys(_clauses(contract), CLAUSE)


def _members(type_: Type, path: str) -> Iterator[tuple[str, str]]:
    match type_:
        case Struct(fields):
            for one in fields:
                yield f"{path}.{one.name}", _field_words(one)
                yield from _members(one.type, f"{path}.{one.name}")
        case ListOf(item) | MapOf(item):
            yield from _members(item, path)
        case Enum(values):
            yield from ((f"{path} = {value}", MEMBER) for value in values)


def _field_words(field: Field) -> str:
    words = [_kind(field.type)]
    if field.default is not None:
        words.append(f"default {field.default!r}")
    elif field.optional:
        words.append("optional")
    return " ".join([*words, "volatile"] if field.volatile else words)


def _kind(type_: Type) -> str:
    match type_:
        case Struct():
            return "struct"
        case Enum():
            return "enum"
        case ListOf(item):
            return f"list<{_kind(item)}>"
        case MapOf(item):
            return f"map<{_kind(item)}>"
    return str(type_)


def _clauses(contract: Contract) -> Iterator[str]:
    for word, clauses in (
        ("guard", contract.requires),
        ("refusal", contract.refuses),
        ("postcondition", contract.ensures),
        ("invariant", contract.invariants),
        ("edge case", contract.edge_cases),
    ):
        yield from (f"{word} {clause.id}" for clause in clauses)
    yield from (f"law {use.law}" for use in contract.laws)
    yield from (f"workload {one.name}" for one in contract.workloads)
    if (machine := contract.own_machine) is not None:
        yield from (f"{OPERATION} {name}" for name in machine.methods)


LOCK_FILE: Final = "contracts.lock"
_PROSE: Final = frozenset({"purpose", "doc", "why"})
_VALUES: Final = frozenset({"set", "pin", "pins", "matrix", "bases", "base", "default", "over", "each", "vary"})


class BadLock(BadFile):
    """spec/contracts.lock cannot be read; says why and the next step."""


@dataclass(frozen=True, slots=True)
class LockedContract:
    """One contract: its version, its digest without prose, its groups' digests and its least number of cases."""

    version: str
    digest: str
    groups: Mapping[str, str]
    cases: int


@dataclass(frozen=True, slots=True)
class Release:
    """A suite as a tag released it, or as it is now: all that decides whether a version must rise, by name."""

    tag: str
    contracts: Mapping[str, LockedContract]
    vectors: Mapping[str, str]  # the digest of every case
    surfaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # what a caller sees (`surface_of`)
    requirements: Mapping[str, str] = field(default_factory=dict)  # two digests of a row: of its text, of its checks


@dataclass(frozen=True, slots=True)
class Lock:
    """The whole lock; before the first release it may be rewritten freely."""

    contracts: Mapping[str, LockedContract]
    vectors: Mapping[str, str]  # case digests; written for the release only
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


def release_of(library: Library, corpus: Corpus, tag: str) -> Release:
    """The release with this tag that a library and its corpus would make."""
    now = lock_of(library, corpus, None)
    surfaces = {name: surface_of(library.contracts[name], _text_digest) for name in now.contracts}
    rows = {row.id: row for page in library.requirements.values() for row in page.requirements}
    said = {id_: _row_digests(row) for id_, row in sorted(rows.items())}
    return Release(tag, now.contracts, now.vectors, surfaces, said)


def release(library: Library, corpus: Corpus, tag: str) -> Lock:
    """The lock once `tag` is released: its snapshot is what governance compares later changes with."""
    return lock_of(library, corpus, release_of(library, corpus, tag))


def _row_digests(row: Requirement) -> str:
    says = [row.kind, row.section, row.text, row.excluded, row.reference_only]
    return f"{digest_of(says)[:_DIGITS]} {digest_of(list(row.checks))[:_DIGITS]}"


def contract_digest(contract: Contract) -> str:
    """The digest of a contract, without prose and comments but with every type resolved."""
    return digest(_essence(contract))


def _text_digest(contract: Contract) -> str:
    essence = _essence(contract)
    del essence["text"]["version"]
    return digest(essence)[:_DIGITS]


def _essence(contract: Contract) -> dict[str, Any]:
    types = {name: _shape(getattr(contract, name)) for name in ("inputs", "outputs", "failure")}
    text = _without_prose(contract.source.value)
    for refusal in text.get("refuses", ()):
        del refusal["when"]  # a sentence here, and an expression everywhere else
    return {"text": text, "types": types}


def contract_digests(library: Library) -> dict[str, str]:
    """Version and digest of every contract, by operator."""

    def compute() -> dict[str, str]:
        contracts = sorted(library.contracts.items())
        return {operator: f"{contract.version} {contract_digest(contract)}" for operator, contract in contracts}

    found: dict[str, str] = open_cache("vectors").get_or_make("digests", files_digest(library.contracts), compute)
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


_DIGITS: Final = 16  # of 64: they show that something changed, and need not withstand an attack


def _group_digests(corpus: Corpus, operator: str) -> dict[str, str]:
    groups: dict[str, dict[str, str]] = {}
    for case in corpus.cases.get(operator, ()):
        groups.setdefault(case.group, {})[case.id] = case.digest
    return {name: digest_of(digests)[:_DIGITS] for name, digests in groups.items()}


def lock_text(lock: Lock) -> str:
    """The text of the lock file."""
    contracts = {operator: asdict(one) for operator, one in lock.contracts.items()}
    return json_text({"contracts": contracts, "released": lock.released and asdict(lock.released)})


def read_lock(suite: Suite) -> Lock:
    """The lock of a suite; an absent or empty file gives a lock without contracts and release. Raises BadLock."""
    file = suite.spec / LOCK_FILE
    try:
        data = file.read_bytes() if file.is_file() else b""
        record = strict_json(data) if data.strip() else {"contracts": {}, "released": None}
        released = record["released"]
        return Lock(_contracts(record["contracts"]), {}, None if released is None else release_from(released))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message, hint = f"it is no contracts.lock ({error!r:.120})", "restore the file from the last commit"
        raise BadLock(suite.path_text(file), message, hint) from None


_VERSION: Final = re.compile(r"(0|[1-9][0-9]{0,99})(\.(0|[1-9][0-9]{0,99})){2}\Z")


def release_from(record: Mapping[str, Any]) -> Release:
    """The release in plain data; raises KeyError, TypeError, ValueError or AttributeError if there is none."""
    surfaces = {name: _texts(surface) for name, surface in record["surfaces"].items()}
    found = Release(
        _text(record["tag"]),
        _contracts(record["contracts"]),
        _texts(record["vectors"]),
        surfaces,
        _texts(record["requirements"]),
    )
    if surfaces.keys() != found.contracts.keys():
        raise ValueError("its surfaces are not those of its contracts")
    if not all(id_.count("::") >= 2 for id_ in found.vectors):
        raise ValueError("a vector has no id")
    return found


def _contracts(record: Mapping[str, Any]) -> dict[str, LockedContract]:
    found = {
        operator: LockedContract(_text(body["version"]), _text(body["digest"]), _texts(body["groups"]), body["cases"])
        for operator, body in record.items()
    }
    for operator, one in found.items():
        if not _VERSION.match(one.version) or type(one.cases) is not int:
            raise TypeError(f"version or cases of {operator}")
    return found


def _texts(record: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(value) for name, value in record.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is no text")
    return value
