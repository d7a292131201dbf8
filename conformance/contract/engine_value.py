"""How values of the contract types stand in the expression engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from cel_expr_python import cel

from conformance.contract.item import encode_item
from conformance.contract.types import FLOAT_BYTES, INTEGER_RANGES, ListOf, MapOf, Scalar, Type, Value

_SCALAR_TYPES: Final[Mapping[str, Any]] = {
    "bool": cel.Type.BOOL,
    "string": cel.Type.STRING,
    **dict.fromkeys(("bytes", "bytes16", "bytes32"), cel.Type.BYTES),
    **{name: cel.Type.UINT if name.startswith("u") else cel.Type.INT for name in INTEGER_RANGES},
    **dict.fromkeys(FLOAT_BYTES, cel.Type.DOUBLE),
}


class Unjudgeable(ValueError):
    """A value is of its declared type, and the expression engine cannot hold it."""


def cel_type(type_: Type) -> Any:
    """The engine's type of a contract type."""
    match type_:
        case Scalar(name):
            return _SCALAR_TYPES[name]
        case ListOf(item):
            return cel.Type.List(cel_type(item))
        case MapOf(item):
            return cel.Type.Map(cel.Type.STRING, cel_type(item))
        case Value():
            return cel.Type.BYTES
    return cel.Type.STRING


def conversion(type_: Type) -> tuple[Any, Callable[[Any], Any]]:
    """The stand-in for an absent value (guards look at has_<path> first) and the conversion for the engine.

    Byte strings are handed over as bytearray: this engine cuts `bytes` at the first NUL. A self-describing value
    is handed over as its CBOR bytes, for named functions to look into; null is a value like any other.
    """
    match type_:
        case ListOf(item):
            convert = conversion(item)[1]
            if convert is _same:
                return [], list
            return [], lambda value: [convert(element) for element in value]
        case MapOf(item):
            convert = conversion(item)[1]
            return {}, lambda value: {_text(key): convert(element) for key, element in value.items()}
        case Scalar(name) if name.startswith("bytes"):
            return bytearray(), bytearray
        case Value():
            return bytearray(encode_item(None)), lambda value: bytearray(encode_item(value))
        case Scalar("bool"):
            return False, _same
        case Scalar(name) if name in INTEGER_RANGES:
            return 0, int
        case Scalar(name) if name in FLOAT_BYTES:
            return 0.0, float
    return "", _text


def little_endian(array: Any) -> bytearray:
    """A tensor's elements in C order, as they travel."""
    return bytearray(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(order="C"))


def _same(value: Any) -> Any:
    return value


def _text(value: str) -> str:
    if "\0" in value:
        raise Unjudgeable("a text with NUL in it, at which the expression engine cuts it")
    return value
