"""The self-describing type `value`: its tagged JSON wire form and its native form (DESIGN 6)."""

from __future__ import annotations

import re
import struct
from typing import Any

from conformance.codec.illtyped import IllTyped
from conformance.codec.item import Float

_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]{0,19})\Z")
_HEX = re.compile(r"(?:[0-9a-f]{2})*\Z")


def check(wire: Any) -> Any:
    """The wire form itself, held to the one form each value has; raises IllTyped."""
    _native(wire)
    return wire


def to_native(wire: Any) -> Any:
    """The native value of a wire form: a map is a dict where its keys are distinct text, else a tuple of pairs."""
    return _native(wire)


def from_native(value: Any) -> Any:
    """The wire form of a native value or of a decoded CBOR item; raises IllTyped on tags and other simple values."""
    match value:
        case None | bool():
            return value
        case int():
            return {"int": str(value)}
        case float():
            return {"float": struct.pack(">d", value).hex()}
        case Float():
            bits = value.bits if value.width == 8 else struct.pack(">d", value.number)
            return {"float": bits.hex()}
        case str():
            return {"text": value}
        case bytes() | bytearray():
            return {"bytes": value.hex()}
        case list():
            return {"array": [from_native(item) for item in value]}
        case dict():
            return {"map": [[{"text": key}, from_native(item)] for key, item in value.items()]}
        case tuple():
            return {"map": [[from_native(key), from_native(item)] for key, item in value]}
    raise IllTyped("a self-describing value", value)


def _native(wire: Any) -> Any:
    if wire is None or type(wire) is bool:
        return wire
    if type(wire) is not dict or len(wire) != 1:
        raise IllTyped("null, true, false, or one of {text int float bytes array map}", wire)
    ((kind, body),) = wire.items()
    try:
        return _READERS[kind](body)
    except KeyError:
        raise IllTyped("one of text, int, float, bytes, array, map", kind) from None
    except IllTyped as error:
        raise error.inside(kind) from None


def _text(body: Any) -> str:
    if type(body) is not str:
        raise IllTyped("a string", body)
    return body


def _int(body: Any) -> int:
    if type(body) is not str or not _INTEGER.match(body) or not -(2**64) <= int(body) < 2**64:
        raise IllTyped("an integer of CBOR's range as a decimal string", body)
    return int(body)


def _float(body: Any) -> float:
    if type(body) is not str or len(body) != 16 or not _HEX.match(body):
        raise IllTyped("16 hex digits", body)
    return float(struct.unpack(">d", bytes.fromhex(body))[0])


def _bytes(body: Any) -> bytes:
    if type(body) is not str or not _HEX.match(body):
        raise IllTyped("lower-case hex", body)
    return bytes.fromhex(body)


def _array(body: Any) -> list[Any]:
    if type(body) is not list:
        raise IllTyped("a list", body)
    return [_inside(index, item) for index, item in enumerate(body)]


def _map(body: Any) -> Any:
    if type(body) is not list or any(type(pair) is not list or len(pair) != 2 for pair in body):
        raise IllTyped("a list of [key, value] pairs", body)
    pairs = [(_inside(index, pair[0]), _inside(index, pair[1])) for index, pair in enumerate(body)]
    keys = {key for key, _ in pairs if isinstance(key, str)}
    return dict(pairs) if len(keys) == len(pairs) else tuple(pairs)


def _inside(step: int, wire: Any) -> Any:
    try:
        return _native(wire)
    except IllTyped as error:
        raise error.inside(step) from None


_READERS = {"text": _text, "int": _int, "float": _float, "bytes": _bytes, "array": _array, "map": _map}
