"""CBOR items: heads, the encoder, the canonical profile, and the parts of self-describing items."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import cbor2

# The one NaN of the profile: quiet, positive, without a payload (ruling CA09).
CANONICAL_NAN: Final = bytes.fromhex("7ff8000000000000")

HEAD_SIZES: Final = (*[1] * 24, 2, 3, 5, 9, 0, 0, 0, 0)  # bytes, by the low five bits; 0: reserved or indefinite


def head(major: int, argument: int) -> bytes:
    """The shortest CBOR head of a major type (RFC 8949 §3)."""
    if argument < 24:
        return bytes([major << 5 | argument])
    for info in (24, 25, 26, 27):
        if argument < 1 << (8 * (HEAD_SIZES[info] - 1)):
            return long_head(major, argument, info)
    raise OverflowError(f"{argument} does not fit a CBOR head")


def long_head(major: int, argument: int, info: int) -> bytes:
    """The CBOR head whose low five bits are `info`, from 24 to 27: its argument takes 1, 2, 4 or 8 bytes."""
    return bytes([major << 5 | info]) + argument.to_bytes(HEAD_SIZES[info] - 1, "big")


def argument_at(data: bytes | bytearray, at: int) -> int:
    """The argument of the head at an offset, where the data has all of it."""
    info = data[at] & 31
    return info if info < 24 else int.from_bytes(data[at + 1 : at + HEAD_SIZES[info]], "big")


def encode_item(value: Any) -> bytes:
    """The CBOR bytes of a native value: shortest heads, definite lengths, binary64 floats, map order as given."""
    match value:
        case None:
            return b"\xf6"
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int():
            return head(0, value) if value >= 0 else head(1, -1 - value)
        case float():
            return b"\xfb" + struct.pack(">d", value)
        case str():
            text = value.encode("utf-8")
            return head(3, len(text)) + text
        case bytes() | bytearray():
            return head(2, len(value)) + bytes(value)
        case list():
            return head(4, len(value)) + b"".join(map(encode_item, value))
        case dict() | tuple():
            pairs = value.items() if isinstance(value, dict) else value
            return head(5, len(value)) + b"".join(encode_item(k) + encode_item(v) for k, v in pairs)
    raise TypeError(f"{type(value).__name__} is no CBOR item")


_MAX_UINT64: Final = 2**64 - 1


def array(items: Sequence[bytes]) -> bytes:
    """The array of items that are encoded already."""
    return head(4, len(items)) + b"".join(map(bytes, items))


def text_map(items: Mapping[str, bytes]) -> bytes:
    """The map from text to items that are encoded already."""
    entries = sorted((encode_item(key), bytes(item)) for key, item in items.items())
    return head(5, len(entries)) + b"".join(key + item for key, item in entries)


@lru_cache(8)
def _decoded(data: bytes) -> Any:
    """The first item in the data, which must not be changed; raises where there is none.

    The guards of one call look into the same few items again and again: each is decoded once.
    """
    return cbor2.loads(data)


def canonical(data: bytes) -> bytes:
    """The canonical bytes of the first item in `data`; raises where it has none: a tag, another NaN, a key not text."""
    return _canonical_item(_decoded(bytes(data)))


def _canonical_item(value: Any) -> bytes:
    match value:
        case list():
            return array([_canonical_item(item) for item in value])
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise TypeError("a key is not text")
            return text_map({key: _canonical_item(item) for key, item in value.items()})
        case float() if math.isnan(value) and struct.pack(">d", value) != CANONICAL_NAN:
            raise ValueError("a NaN has other bits than the one of the profile")
        case None | bool() | int() | float() | str() | bytes():
            return encode_item(value)
    raise TypeError(f"{type(value).__name__} is outside the profile")


def rows(names: Sequence[str], columns: Sequence[Mapping[str, int]]) -> bytes:
    """A map from a row's key to the map of its named columns, all unsigned; every column has the same keys."""
    keys = columns[0].keys()
    if any(column.keys() != keys for column in columns):
        raise KeyError("the columns differ in their keys")
    return text_map(
        {
            key: text_map({name: encode_item(column[key]) for name, column in zip(names, columns, strict=True)})
            for key in keys
        }
    )


def is_rows(data: bytes, names: Sequence[str]) -> bool:
    """Whether `data` is a map from text to maps of exactly these names to numbers of 64 bits, in any encoding."""
    table = _decoded(bytes(data))
    return isinstance(table, dict) and all(
        isinstance(key, str)
        and isinstance(row, dict)
        and row.keys() == set(names)
        and all(type(cell) is int and 0 <= cell <= _MAX_UINT64 for cell in row.values())
        for key, row in table.items()
    )


def kind(data: bytes) -> str:
    """null, bool, uint64, integer (any other), float, text, bytes, array or map."""
    match _decoded(bytes(data)):
        case None:
            return "null"
        case bool():
            return "bool"
        case int(number):
            return "uint64" if 0 <= number <= _MAX_UINT64 else "integer"
        case float():
            return "float"
        case str():
            return "text"
        case bytes():
            return "bytes"
        case list():
            return "array"
        case dict():
            return "map"
        case other:
            raise TypeError(f"{type(other).__name__} is outside the profile")


def member_names(data: bytes) -> list[str]:
    """The keys of a map from text, in the given order; raises for anything else."""
    names = list(_map(data))
    if not all(isinstance(name, str) for name in names):
        raise TypeError("a key is not text")
    return names


def has_member(data: bytes, name: str) -> bool:
    """Whether the item is a map with this text as a key."""
    item = _decoded(bytes(data))
    return isinstance(item, dict) and name in item


def member(data: bytes, name: str) -> bytes:
    """The bytes of the item under a text key of a map; raises where there is none."""
    return encode_item(_map(data)[name])


def with_member(data: bytes, name: str, content: bytes) -> bytes:
    """The canonical bytes of a map from text with another item under one name; raises for anything else."""
    items = {key: encode_item(item) for key, item in _map(data).items()}
    return canonical(text_map({**items, name: content}))


def text(data: bytes) -> str:
    """The text that an item is; raises for any other item."""
    item = _decoded(bytes(data))
    if not isinstance(item, str) or "\0" in item:
        raise TypeError("not a text that expressions can hold")
    return item


def element(data: bytes, index: int) -> bytes:
    """The bytes of one element of an array; raises where there is none."""
    return encode_item(_array(data)[index])


def _array(data: bytes) -> list[Any]:
    item = _decoded(bytes(data))
    if not isinstance(item, list):
        raise TypeError("not an array")
    return item


def _map(data: bytes) -> dict[Any, Any]:
    item = _decoded(bytes(data))
    if not isinstance(item, dict):
        raise TypeError("not a map")
    return item


MAX_DEPTH: Final = 256


def is_canonical(data: bytes) -> bool:
    """Whether the bytes are the canonical form of one item, and nothing follows it."""
    return _is_encoded_by(_canonical_item, bytes(data))


def has_canonical(data: bytes) -> bool:
    """Whether an item has a canonical form: as `is_canonical`, but in any order of the keys."""
    return _is_encoded_by(encode_item, bytes(data))


def _is_encoded_by(encode: Callable[[Any], bytes], data: bytes) -> bool:
    """Whether an item is in the profile and encodes to the same bytes; a repeated key is lost in decoding."""
    try:
        item = _decoded(data)
        _canonical_item(item)  # raises for what is outside the profile
        return _depth(item) <= MAX_DEPTH and encode(item) == data
    except Exception:  # the library raises errors of many kinds
        return False


def _depth(item: Any) -> int:
    """How many arrays and maps are around the innermost item."""
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return max((1 + _depth(part) for part in parts), default=0)
