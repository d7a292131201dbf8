"""The self-describing type `value`: its tagged JSON wire form and its native form (DESIGN 6)."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any, Final

from conformance.codec.cbor import Float
from conformance.codec.scalar import IllTyped, is_hex, text

MAX_DEPTH: Final = 300  # levels of arrays and maps; the canonical profile needs 257
_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]{0,19})\Z")


def check(wire: Any) -> Any:
    """The wire form itself; raises IllTyped if it is not the only valid form of its value."""
    to_native(wire)
    return wire


def to_native(wire: Any, depth: int = 0) -> Any:
    """The native value of a wire form: a map is a dict if its keys are distinct texts, else a tuple of pairs.

    Raises IllTyped.
    """
    if wire is None or type(wire) is bool:
        return wire
    if type(wire) is not dict or len(wire) != 1:
        raise IllTyped("null, true, false, or one of {text int float bytes array map}", wire)
    ((kind, body),) = wire.items()
    try:
        if kind in ("array", "map"):
            if depth >= MAX_DEPTH:
                raise IllTyped(f"a nesting of at most {MAX_DEPTH}", wire)
            return _array(body, depth + 1) if kind == "array" else _map(body, depth + 1)
        if kind not in _READERS:
            raise IllTyped("one of text, int, float, bytes, array, map", kind)
        return _READERS[kind](body)
    except IllTyped as error:
        raise error.inside(kind) from None


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
            return {"float": value.wide.hex()}
        case str():
            return {"text": text(value)}
        case bytes() | bytearray():
            return {"bytes": value.hex()}
        case list():
            return {"array": [from_native(item) for item in value]}
        case dict() | tuple():
            pairs = value.items() if isinstance(value, dict) else value
            return {"map": [[from_native(key), from_native(item)] for key, item in pairs]}
    raise IllTyped("a self-describing value", value)


def from_item(item: Any) -> Any:
    """The wire form of a decoded CBOR item; raises IllTyped if it is no `value`."""
    return check(from_native(item))


def _int(body: Any) -> int:
    if type(body) is not str or not _INTEGER.match(body) or not -(2**64) <= int(body) < 2**64:
        raise IllTyped("an integer of CBOR's range as a decimal string", body)
    return int(body)


def _float(body: Any) -> float:
    if type(body) is not str or len(body) != 16 or not is_hex(body):
        raise IllTyped("16 hex digits", body)
    return float(struct.unpack(">d", bytes.fromhex(body))[0])


def _bytes(body: Any) -> bytes:
    if type(body) is not str or not is_hex(body):
        raise IllTyped("lower-case hex", body)
    return bytes.fromhex(body)


def _array(body: Any, depth: int) -> list[Any]:
    if type(body) is not list:
        raise IllTyped("a list", body)
    return [_inside(index, item, depth) for index, item in enumerate(body)]


def _map(body: Any, depth: int) -> Any:
    if type(body) is not list or any(type(pair) is not list or len(pair) != 2 for pair in body):
        raise IllTyped("a list of [key, value] pairs", body)
    return plain_map([(_inside(k, pair[0], depth), _inside(k, pair[1], depth)) for k, pair in enumerate(body)])


def plain_map(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """A self-describing map in its native form: a dict where its keys are distinct texts, else the pairs."""
    texts = {key for key, _ in pairs if isinstance(key, str)}
    return dict(pairs) if len(texts) == len(pairs) else tuple(pairs)


def _inside(step: int, wire: Any, depth: int) -> Any:
    try:
        return to_native(wire, depth)
    except IllTyped as error:
        raise error.inside(step) from None


_READERS = {"text": text, "int": _int, "float": _float, "bytes": _bytes}
