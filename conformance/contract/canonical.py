"""Canonical CBOR for named functions: the encoder, the strict profile, and looks into self-describing items."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import cbor2


def head(major: int, argument: int) -> bytes:
    """The shortest CBOR head of a major type (RFC 8949 §3)."""
    if argument < 24:
        return bytes([major << 5 | argument])
    for info, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << (8 * width):
            return bytes([major << 5 | info]) + argument.to_bytes(width, "big")
    raise OverflowError(f"{argument} does not fit a CBOR head")


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


def canonical(data: bytes) -> bytes:
    """The canonical bytes of the first item in `data`; raises where it has none (a tag, a NaN, a key not text)."""
    return _canonical_item(cbor2.loads(bytes(data)))


def _canonical_item(value: Any) -> bytes:
    match value:
        case list():
            return array([_canonical_item(item) for item in value])
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise TypeError("a key is not text")
            return text_map({key: _canonical_item(item) for key, item in value.items()})
        case float() if not math.isfinite(value):
            raise ValueError("a float is not finite")
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
    table = cbor2.loads(bytes(data))
    return isinstance(table, dict) and all(
        isinstance(key, str)
        and isinstance(row, dict)
        and row.keys() == set(names)
        and all(type(cell) is int and 0 <= cell <= _MAX_UINT64 for cell in row.values())
        for key, row in table.items()
    )


def kind(data: bytes) -> str:
    """null, bool, uint64, integer (any other), float, text, bytes, array or map."""
    match cbor2.loads(bytes(data)):
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
    """Whether the item is a map that holds something under a text."""
    item = cbor2.loads(bytes(data))
    return isinstance(item, dict) and name in item


def member(data: bytes, name: str) -> bytes:
    """The bytes of what a map holds under a text; raises where there is nothing."""
    return encode_item(_map(data)[name])


def with_member(data: bytes, name: str, content: bytes) -> bytes:
    """The canonical bytes of a map from text with something else under one name; raises for anything else."""
    items = {key: encode_item(item) for key, item in _map(data).items()}
    return canonical(text_map({**items, name: content}))


def text(data: bytes) -> str:
    """The text that an item is; raises for any other item."""
    item = cbor2.loads(bytes(data))
    if not isinstance(item, str) or "\0" in item:
        raise TypeError("not a text that expressions can hold")
    return item


def element(data: bytes, index: int) -> bytes:
    """The bytes of one element of an array; raises where there is none."""
    return encode_item(_array(data)[index])


def _array(data: bytes) -> list[Any]:
    item = cbor2.loads(bytes(data))
    if not isinstance(item, list):
        raise TypeError("not an array")
    return item


def _map(data: bytes) -> dict[Any, Any]:
    item = cbor2.loads(bytes(data))
    if not isinstance(item, dict):
        raise TypeError("not a map")
    return item


MAX_DEPTH: Final = 256

_TEXT: Final = 3
_BINARY64: Final = 0xFB
_PLAIN: Final = frozenset({0xF4, 0xF5, 0xF6})


class _Outside(ValueError):
    """The bytes leave the profile."""


@dataclass(slots=True)
class _Walk:
    data: bytes
    ordered: bool
    at: int = 0

    def item(self, depth: int) -> int:
        """Step over one item and return its major type."""
        if depth > MAX_DEPTH:
            raise _Outside
        first = self.take(1)[0]
        if first in _PLAIN:
            return 7
        if first == _BINARY64:
            if not math.isfinite(struct.unpack(">d", self.take(8))[0]):
                raise _Outside
            return 7
        major, argument = first >> 5, self.argument(first & 31)
        if major > 5:
            raise _Outside
        if major in (2, _TEXT):
            content = self.take(argument)
            if major == _TEXT:
                content.decode("utf-8")
        for _ in range(argument if major == 4 else 0):
            self.item(depth + 1)
        if major == 5:
            self.entries(argument, depth)
        return major

    def entries(self, count: int, depth: int) -> None:
        """Step over the pairs of a map."""
        keys: list[bytes] = []
        for _ in range(count):
            start = self.at
            if self.item(depth + 1) != _TEXT:
                raise _Outside
            keys.append(self.data[start : self.at])
            self.item(depth + 1)
        if len(set(keys)) != len(keys) or (self.ordered and keys != sorted(keys)):
            raise _Outside

    def argument(self, info: int) -> int:
        """Read the rest of a head."""
        if info < 24:
            return info
        if info > 27:
            raise _Outside
        width = 1 << (info - 24)
        argument = int.from_bytes(self.take(width), "big")
        if argument < (24 if width == 1 else 1 << (4 * width)):
            raise _Outside
        return argument

    def take(self, count: int) -> bytes:
        """Read bytes that must be there."""
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise _Outside
        self.at += count
        return taken


def is_canonical(data: bytes) -> bool:
    """Whether the bytes are the canonical form of one item, and nothing behind it."""
    return _keeps(bytes(data), ordered=True)


def has_canonical(data: bytes) -> bool:
    """Whether an item has a canonical form: as `is_canonical`, but for the order of the keys."""
    return _keeps(bytes(data), ordered=False)


def _keeps(data: bytes, *, ordered: bool) -> bool:
    walk = _Walk(data, ordered)
    try:
        walk.item(0)
    except ValueError:
        return False
    return walk.at == len(data)
