"""What callers see of a contract: its fields and clauses by name, so that two versions can be compared one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from conformance.contract.model import Contract
from conformance.contract.types import Enum, Field, ListOf, MapOf, Struct, Type

TEXT: Final = "text"  # the digest of everything that a contract says, but for its version
CLAUSE: Final = ""  # what is said of a clause: only that it is there
MEMBER: Final = "may be"  # what is said of each value of an enumeration
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
                yield f"{path}.{one.name}", _said(one)
                yield from _members(one.type, f"{path}.{one.name}")
        case ListOf(item) | MapOf(item):
            yield from _members(item, path)
        case Enum(values):
            yield from ((f"{path} = {value}", MEMBER) for value in values)


def _said(field: Field) -> str:
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
