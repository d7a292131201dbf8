"""Dotted paths into types: `manifest.datasets.k.cardinality` through structs, maps and lists."""

from __future__ import annotations

from typing import Any

from conformance.contract.types import ListOf, MapOf, Struct, Type, Value


class UnknownPath(Exception):
    """A dotted path leads to nothing of the type; `hint` names what stands there instead."""

    def __init__(self, path: str, hint: str) -> None:
        super().__init__(path)
        self.path, self.hint = path, hint


def type_at(type_: Type, path: str) -> Type:
    """The type at a dotted path; map keys and list indices are steps too. Raises UnknownPath.

    What lies inside a self-describing value is one again, whatever its steps.
    """
    steps = path.split(".")
    for depth, step in enumerate(steps):
        match type_:
            case Struct():
                found = next((member.type for member in type_.fields if member.name == step), None)
                if found is None:
                    place = ".".join(steps[:depth]) or "the top"
                    known = ", ".join(member.name for member in type_.fields)
                    raise UnknownPath(path, f"at {place} stand: {known}")
                type_ = found
            case MapOf(item):
                type_ = item
            case ListOf(item) if step.isdigit():
                type_ = item
            case Value():
                return type_
            case _:
                raise UnknownPath(path, f"{'.'.join(steps[:depth])} is {type_}, which has no part {step!r}")
    return type_


def value_at(value: Any, path: str) -> Any:
    """The part of a wire or native value at a dotted path; raises KeyError where there is none."""
    for step in path.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (LookupError, TypeError, ValueError):
            raise KeyError(path) from None
    return value


def same_type(left: Type, right: Type) -> bool:
    """Whether two types have the same wire form: names and documentation of structs do not matter."""
    match left, right:
        case ListOf(a), ListOf(b):
            return same_type(a, b)
        case MapOf(a), MapOf(b):
            return same_type(a, b)
        case Struct(), Struct():
            theirs = {member.name: member.type for member in right.fields}
            return {member.name for member in left.fields} == theirs.keys() and all(
                same_type(member.type, theirs[member.name]) for member in left.fields
            )
    return left == right


def replaced(value: Any, path: str, part: Any) -> Any:
    """A copy of a wire value with another part at a dotted path; what is not on the path is shared."""
    step, _, rest = path.partition(".")
    if isinstance(value, list):
        copied = list(value)
        copied[int(step)] = replaced(value[int(step)], rest, part) if rest else part
        return copied
    return {**value, step: replaced(value.get(step, {}), rest, part) if rest else part}
