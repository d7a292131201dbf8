"""The types of the contract language: scalars, enum, list, map, struct, tensor and the self-describing value.

Two scalars are places, not values: a `root` is a directory that the harness makes, a `handle` what a backend gave to be
given back. Both are text on the wire, and neither has a value in an expression or in a frozen case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

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
    """An n-dimensional array; `dtype` is None where the contract leaves it to the value."""

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


def members_of(struct: Struct, name: str) -> tuple[str, ...]:
    """The members of a struct that are of the scalar type `name`."""
    return tuple(member.name for member in struct.fields if member.type == Scalar(name))


def is_integer(type_: Type) -> bool:
    """Whether the type is a sized integer."""
    return isinstance(type_, Scalar) and type_.name in INTEGER_RANGES


def walk(type_: Type, path: str = "") -> Iterator[tuple[str, Type]]:
    """Every type inside `type_` with its dotted path; list and map items stand under the path of their holder."""
    yield path, type_
    if isinstance(type_, Struct):
        for field in type_.fields:
            yield from walk(field.type, f"{path}.{field.name}" if path else field.name)
    elif isinstance(type_, ListOf | MapOf):
        yield from walk(type_.item, path)
