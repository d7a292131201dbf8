"""The contract's types as Python annotations.

A backend annotates the parameters and the result of an operator with these names; `impl.wire` reads the annotations
and moves the values to and from the wire.

    uint64, bytes32, ...     scalars with a fixed width
    bool, str, bytes         the plain scalars
    Literal["a", "b"]        an enum
    list[T], dict[str, T]    a list, a map with text keys
    a frozen dataclass       a struct; its field names are the contract's
    X | None = None          an optional field: None in Python, an absent key everywhere else
    Value                    the self-describing type
    Tensor                   a tensor
"""

from dataclasses import dataclass
from typing import Annotated, TypeAlias


@dataclass(frozen=True, slots=True)
class Integer:
    """Mark an int that has a fixed width in bits."""

    bits: int
    signed: bool


@dataclass(frozen=True, slots=True)
class FixedBytes:
    """Mark a byte string that has a fixed length in bytes."""

    length: int


@dataclass(frozen=True, slots=True)
class Binary:
    """Mark an IEEE-754 number of a fixed width in bits."""

    bits: int


@dataclass(frozen=True, slots=True)
class SelfDescribing:
    """Mark a value that carries its own type."""


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """Mark an array object (`Annotated[NDArray[np.uint64], ArrayOf(UINT64)]`) that represents a list of integers."""

    element: Integer


UINT32 = Integer(32, signed=False)
UINT64 = Integer(64, signed=False)
INT64 = Integer(64, signed=True)

uint8: TypeAlias = Annotated[int, Integer(8, signed=False)]
uint16: TypeAlias = Annotated[int, Integer(16, signed=False)]
uint32: TypeAlias = Annotated[int, UINT32]
uint64: TypeAlias = Annotated[int, UINT64]
int8: TypeAlias = Annotated[int, Integer(8, signed=True)]
int16: TypeAlias = Annotated[int, Integer(16, signed=True)]
int32: TypeAlias = Annotated[int, Integer(32, signed=True)]
int64: TypeAlias = Annotated[int, INT64]

bytes16: TypeAlias = Annotated[bytes, FixedBytes(16)]
bytes32: TypeAlias = Annotated[bytes, FixedBytes(32)]

float16: TypeAlias = Annotated[float, Binary(16)]
float32: TypeAlias = Annotated[float, Binary(32)]
float64: TypeAlias = Annotated[float, Binary(64)]

# None, bool, int, float, str, bytes, a list of values, a dict for a map whose keys are distinct texts, and a tuple of
# (key, value) pairs for any other map. Dicts and tuples keep the given order.
Value: TypeAlias = Annotated[object, SelfDescribing()]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Hold a tensor as its dtype name, its shape and its elements in C order, little-endian."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes
