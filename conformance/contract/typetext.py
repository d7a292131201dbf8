"""Type expressions of the contract language (`list<uint64>`, `map<string, dataset>`) become `Type` values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from conformance.contract.position import MalformedContract, Path, Problem
from conformance.contract.source import Source
from conformance.contract.types import (
    HANDLE,
    PLACES,
    SCALARS,
    TENSOR_DTYPES,
    Enum,
    Field,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Tensor,
    Type,
    Value,
)

_LIST = re.compile(r"list<(.+)>\Z")
_MAP = re.compile(r"map<\s*string\s*,\s*(.+)>\Z")
_TENSOR = re.compile(r"tensor<(\w+)>\Z")
MAX_NESTING: Final = 16  # of list<..> and map<string, ..> in one another
NamedTypes = Mapping[str, Type]


def struct_at(source: Source, path: Path, named: NamedTypes) -> Struct:
    """The struct whose fields are declared in the mapping at `path`."""
    fields = [field_at(source, (*path, key), named) for key in _value(source, path)]
    return Struct(tuple(fields))


def field_at(source: Source, path: Path, named: NamedTypes) -> Field:
    """The field declared at `path`; its name is the last element of the path."""
    body: dict[str, Any] = _value(source, path)
    type_ = type_at(source, path, named)
    return Field(
        name=str(path[-1]),
        type=type_,
        optional=body.get("optional", False) or "default" in body,
        default=body.get("default"),
        volatile=body.get("volatile", False) or (path[0] == "outputs" and type_ == Scalar(HANDLE)),
        doc=body.get("doc", ""),
    )


def type_at(source: Source, path: Path, named: NamedTypes) -> Type:
    """The type declared by the mapping at `path` (`type`, with `values` or `fields` where it needs them)."""
    body = _value(source, path)
    text = body["type"]
    if text == "enum":
        if not body.get("values"):
            raise _unknown(source, path, "an enum needs `values`", "list its strings, the default first")
        return Enum(tuple(body["values"]))
    if text == "struct":
        if "fields" not in body:
            raise _unknown(source, path, "a struct needs `fields`", "declare each field with its type")
        return struct_at(source, (*path, "fields"), named)
    return parse_type(text, source, (*path, "type"), named)


def parse_type(text: str, source: Source, path: Path, named: NamedTypes) -> Type:
    """The type that a type expression names; raises MalformedContract at `path` when it names none."""
    text = text.strip()
    if text.count("<") > MAX_NESTING:
        raise _unknown(source, path, f"a type of more than {MAX_NESTING} types in one another", "name an inner struct")
    if text in SCALARS or text in PLACES:
        return Scalar(text)
    if text == "value":
        return Value()
    if text == "tensor":
        return Tensor()
    if text in named:
        return named[text]
    if match := _LIST.match(text):
        return ListOf(parse_type(match[1], source, path, named))
    if match := _MAP.match(text):
        return MapOf(parse_type(match[1], source, path, named))
    if (match := _TENSOR.match(text)) and match[1] in TENSOR_DTYPES:
        return Tensor(match[1])
    known = ", ".join(sorted(named))
    hint = f"a scalar, root, handle, enum, struct, list<T>, map<string, T>, tensor<dtype>, value, or {known}"
    raise _unknown(source, path, f"unknown type {text!r}", hint)


def _value(source: Source, path: Path) -> Any:
    value = source.value
    for step in path:
        value = value[step]
    return value


def _unknown(source: Source, path: Path, message: str, hint: str) -> MalformedContract:
    return MalformedContract([Problem(source.at(path), "C003", message, hint)])
