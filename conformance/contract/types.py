"""The types of the contract language, the text that names them, and types without their volatile fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.contract.suggest import type_meant
from conformance.contract.yaml.source import MalformedContract, Problem, Source, ValuePath

INTEGER_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
}
FLOAT_BYTES: Final[Mapping[str, int]] = {"float16": 2, "float32": 4, "float64": 8}
FIXED_BYTES: Final[Mapping[str, int]] = {"bytes16": 16, "bytes32": 32}
ROOT, HANDLE = "root", "handle"
PLACES: Final = frozenset({ROOT, HANDLE})
SCALARS: Final = frozenset({"bool", "string", "bytes", *INTEGER_RANGES, *FLOAT_BYTES, *FIXED_BYTES})
TENSOR_DTYPES: Final = frozenset({"bool", *INTEGER_RANGES, *FLOAT_BYTES})


@dataclass(frozen=True, slots=True)
class Scalar:
    """A bool, string, byte string, sized integer or IEEE-754 float, by its name in the contract."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Enum:
    """One of a closed list of strings; the first is the default where one is needed."""

    values: tuple[str, ...]

    def __str__(self) -> str:
        return "enum " + "|".join(self.values)


@dataclass(frozen=True, slots=True)
class ListOf:
    """An ordered list of one item type."""

    item: Type

    def __str__(self) -> str:
        return f"list<{self.item}>"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map from string to one item type; its order carries no meaning."""

    item: Type

    def __str__(self) -> str:
        return f"map<string, {self.item}>"


@dataclass(frozen=True, slots=True)
class Tensor:
    """An n-dimensional array; `dtype` is None if each value has its own."""

    dtype: str | None = None

    def __str__(self) -> str:
        return f"tensor<{self.dtype}>" if self.dtype else "tensor"


@dataclass(frozen=True, slots=True)
class Value:
    """The self-describing type: any CBOR item, however ill-typed for a header."""

    def __str__(self) -> str:
        return "value"


@dataclass(frozen=True, slots=True)
class Field:
    """One named member of a struct."""

    name: str
    type: Type
    optional: bool = False
    default: object = None  # None: no default; optional fields without one are bound with has_<path>
    volatile: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields in declared order; a key that is not declared is ill-typed."""

    fields: tuple[Field, ...]
    name: str = ""

    def __str__(self) -> str:
        return self.name or "struct"

    def field(self, name: str) -> Field:
        """The field called `name`; raises KeyError."""
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        raise KeyError(name)


Type = Scalar | Enum | ListOf | MapOf | Struct | Tensor | Value


def is_place(type_: Type) -> bool:
    """Whether the type is a root or a handle."""
    return isinstance(type_, Scalar) and type_.name in PLACES


def places_of(struct: Struct) -> tuple[str, ...]:
    """The members of a struct that are roots or handles."""
    return tuple(member.name for member in struct.fields if is_place(member.type))


def without_places(struct: Struct) -> Struct:
    """A struct of the members that are neither roots nor handles."""
    return Struct(tuple(member for member in struct.fields if not is_place(member.type)))


def members_of(struct: Struct, name: str) -> tuple[str, ...]:
    """The members of a struct that are of the scalar type `name`."""
    return tuple(member.name for member in struct.fields if member.type == Scalar(name))


def is_integer(type_: Type) -> bool:
    """Whether the type is a sized integer."""
    return isinstance(type_, Scalar) and type_.name in INTEGER_RANGES


def in_range(type_: Type, number: int) -> bool:
    """Whether the type is a sized integer that can be this number."""
    if not isinstance(type_, Scalar) or type_.name not in INTEGER_RANGES:
        return False
    low, high = INTEGER_RANGES[type_.name]
    return low <= number <= high


def walk(type_: Type, path: str = "") -> Iterator[tuple[str, Type]]:
    """Every type inside `type_` with its dotted path; the items of a list or map have its path."""
    yield path, type_
    if isinstance(type_, Struct):
        for field in type_.fields:
            yield from walk(field.type, f"{path}.{field.name}" if path else field.name)
    elif isinstance(type_, ListOf | MapOf):
        yield from walk(type_.item, path)


def names_inside(type_: Type) -> Iterator[str]:
    """The names of all fields, and the choices of all enums, in a type."""
    for _, one in walk(type_):
        if isinstance(one, Struct):
            yield from (field.name for field in one.fields)
        elif isinstance(one, Enum):
            yield from one.values


_LIST = re.compile(r"list<(.+)>\Z")
_MAP = re.compile(r"map<\s*string\s*,\s*(.+)>\Z")
_TENSOR = re.compile(r"tensor<(\w+)>\Z")
MAX_NESTING: Final = 16  # levels of list<..> and map<string, ..>
NamedTypes = Mapping[str, Type]


def named_types(source: Source, problems: list[Problem]) -> dict[str, Type]:
    """The types of a schema-valid types.yaml, each of which may name those above it; adds to `problems`."""
    named: dict[str, Type] = {}
    for name in source.value["types"]:
        if name in SCALARS or name in PLACES or name in ("value", "tensor", "enum", "struct"):
            problems.append(Problem(source.key_at(("types", name)), "C005", f"{name!r} is a type already", "rename it"))
        try:
            type_ = type_at(source, ("types", name), named)
        except MalformedContract as error:
            problems += error.problems
            continue
        named[name] = replace(type_, name=name) if isinstance(type_, Struct) else type_
    return named


def struct_at(source: Source, path: ValuePath, named: NamedTypes) -> Struct:
    """The struct whose fields are declared in the mapping at `path`."""
    fields = [field_at(source, (*path, key), named) for key in source.part(path)]
    return Struct(tuple(fields))


def field_at(source: Source, path: ValuePath, named: NamedTypes) -> Field:
    """The field declared at `path`; its name is the last element of the path."""
    body: dict[str, Any] = source.part(path)
    type_ = type_at(source, path, named)
    if "default" in body and not _fits(body["default"], type_):
        default = body["default"]
        message, hint = f"the default {default!r:.60} is no value of {type_}", _default_hint(default, type_)
        raise source.malformed((*path, "default"), "C009", message, hint)
    if "default" in body and "optional" in body:
        message, hint = "an optional input and a default exclude each other", "an input with a default may be left out"
        raise MalformedContract([Problem(source.key_at((*path, "optional")), "C002", message, f"remove it: {hint}")])
    return Field(
        name=str(path[-1]),
        type=type_,
        optional=body.get("optional", False) or "default" in body,
        default=body.get("default"),
        volatile=body.get("volatile", False) or (path[0] == "outputs" and type_ == Scalar(HANDLE)),
        doc=body.get("doc", ""),
    )


def whole_number(name: str) -> str:
    """What a value of an integer type is, with its bounds, as text."""
    low, high = INTEGER_RANGES[name]
    return f"a whole number from {low} to {high}"


def _default_hint(value: Any, type_: Type) -> str:
    match type_:
        case Scalar(name) if name in INTEGER_RANGES:
            quoted = isinstance(value, str) and value.isascii() and value.isdecimal()
            return "write it without quotes" if quoted and _fits(int(value), type_) else f"write {whole_number(name)}"
        case Enum(values):
            return f"write one of {', '.join(values)}"
        case Scalar("bool"):
            return "write true or false"
    return f"write a value of {type_}, as in a case"


def _fits(value: Any, type_: Type) -> bool:
    """Whether a value in a contract is of a type; for bytes, structs and tensors only its kind is checked."""
    match type_:
        case Enum(values):
            return value in values
        case ListOf(item):
            return isinstance(value, list) and all(_fits(one, item) for one in value)
        case MapOf(item):
            return isinstance(value, dict) and all(_fits(one, item) for one in value.values())
        case Struct() | Tensor() | Value():
            return isinstance(value, dict) or isinstance(type_, Value)
        case Scalar("bool"):
            return isinstance(value, bool)
        case Scalar(name) if name in INTEGER_RANGES:
            low, high = INTEGER_RANGES[name]
            return type(value) is int and low <= value <= high
        case Scalar(name) if name in FLOAT_BYTES:
            return type(value) in (int, float, str)  # text: its hex digits
    return isinstance(value, str) and not is_place(type_)


def type_at(source: Source, path: ValuePath, named: NamedTypes) -> Type:
    """The type declared by the mapping at `path` (`type`, with `values` or `fields` where it needs them)."""
    body = source.part(path)
    text = body["type"]
    if text == "enum":
        if not body.get("values"):
            raise source.malformed(path, "C003", "an enum needs `values`", "list its strings, the default first")
        values = body["values"]
        if twice := [one for k, one in enumerate(values) if one in values[:k]]:
            place = source.at((*path, "values", len(values) - 1 - values[::-1].index(twice[0])))
            raise MalformedContract([Problem(place, "C005", f"values has {twice[0]!r} twice", "remove one")])
        return Enum(tuple(values))
    if text == "struct":
        if "fields" not in body:
            raise source.malformed(path, "C003", "a struct needs `fields`", "declare each field with its type")
        return struct_at(source, (*path, "fields"), named)
    return parse_type(text, source, (*path, "type"), named)


def parse_type(text: str, source: Source, path: ValuePath, named: NamedTypes) -> Type:
    """The type that a type expression names; raises MalformedContract at `path` when it names none."""
    text = text.strip()
    if text.count("<") > MAX_NESTING:
        message = f"a type of more than {MAX_NESTING} types in one another"
        raise source.malformed(path, "C003", message, "name an inner struct")
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
    later = source.value.get("types", {}) if path[0] == "types" else {}
    if text in ("struct", "enum") or text.startswith("{"):
        hint = "write type: struct and `fields:`, type: enum and `values:`, or a name of types.yaml: list<NAME>"
        raise source.malformed(path, "C003", "fields and values are not written inside `type`", hint)
    if text in later:
        raise source.malformed(path, "C003", f"the type {text!r} is not yet known", "a type names only types above it")
    hint = type_meant(text, [*sorted(SCALARS), *PLACES, "value", "tensor", "enum", "struct", *named]) or (
        "a scalar, root, handle, enum, struct, list<T>, map<string, T>, tensor<dtype>, value or a name of types.yaml"
    )
    raise source.malformed(path, "C003", f"unknown type {text!r}", hint)


def lasting(type_: Type) -> Type:
    """The type without its volatile fields, at every depth."""
    match type_:
        case ListOf(item):
            return ListOf(lasting(item))
        case MapOf(item):
            return MapOf(lasting(item))
        case Struct(fields):
            kept = tuple(replace(one, type=lasting(one.type)) for one in fields if not one.volatile)
            return Struct(kept, type_.name)
    return type_


def has_volatile(type_: Type) -> bool:
    """Whether the type has a volatile field, at any depth."""
    return lasting(type_) != type_
