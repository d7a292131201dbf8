"""Reads CBOR items while bytes arrive, and writes strict canonical CBOR, the bytes of every digest."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from conformance.contract.canonical import CANONICAL_NAN, HEAD_SIZES, argument_at, encode_item, head
from conformance.contract.lazy import np

MAX_NESTING: Final = 1_000  # levels of one message, on both wires; in JSON a `value` of 300 nested maps takes 900
MAX_ITEMS: Final = 1 << 22  # in one message; four times as many as 2^20 plain integers
TYPED_ARRAYS: Final[Mapping[int, str]] = {70: "<u4", 71: "<u8"}  # RFC 8746, little-endian
_SHORT: Final = 64  # characters; short texts are often names of members, which repeat
_BYTES, _ARRAY, _MAP, _TAG, _SIMPLE_OR_FLOAT = 2, 4, 5, 6, 7
_FLOATS: Final[Mapping[int, str]] = {2: ">e", 4: ">f", 8: ">d"}  # by width
_SIGNIFICAND: Final[Mapping[int, int]] = {2: 10, 4: 23, 8: 52}  # bits
_SIMPLE: Final[Mapping[int, bool | None]] = {20: False, 21: True, 22: None}


class Incomplete(Exception):
    """The bytes end inside an item; reading can succeed only with at least `needed` bytes."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"{needed} bytes needed")
        self.needed = needed


class IllFormed(Exception):
    """The bytes are not CBOR that this wire accepts; `offset` counts from the start of the bytes."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Float:
    """An IEEE-754 float of a message: its width in bytes and its bits as big-endian bytes."""

    width: int
    bits: bytes

    @classmethod
    def of(cls, width: int, number: float) -> Float:
        """The nearest float of a width; raises OverflowError. A NaN keeps what fits of its payload."""
        if not math.isnan(number):
            return cls(width, struct.pack(_FLOATS[width], number))
        bits, significand = int.from_bytes(struct.pack(">d", number)), _SIGNIFICAND[width]
        # Without a payload it would be infinite.
        payload = (bits & (1 << 52) - 1) >> (52 - significand) or 1 << (significand - 1)
        exponent = (1 << (8 * width - 1 - significand)) - 1
        return cls(width, (bits >> 63 << (8 * width - 1) | exponent << significand | payload).to_bytes(width))

    @property
    def number(self) -> float:
        """The float's value; a NaN keeps its sign and its payload."""
        return float(struct.unpack(">d", self.wide)[0])

    @property
    def wide(self) -> bytes:
        """The bits of the same float in 8 bytes; a NaN keeps its sign and its payload, which `struct` may change."""
        number = struct.unpack(_FLOATS[self.width], self.bits)[0]
        if not math.isnan(number):
            return struct.pack(">d", number)
        bits, significand = int.from_bytes(self.bits), _SIGNIFICAND[self.width]
        sign, payload = bits >> (8 * self.width - 1), bits & ((1 << significand) - 1)
        return (sign << 63 | 0x7FF << 52 | payload << (52 - significand)).to_bytes(8)


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tagged item."""

    tag: int
    item: Any


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple value other than false, true and null."""

    number: int


def decode(data: bytes | bytearray) -> tuple[Any, int]:
    """The first item and the offset after it; raises Incomplete or IllFormed."""
    reader = ItemReader()
    return reader.read(data), reader.at


class ItemReader:
    """Reads one item from bytes that grow: after Incomplete, call `read` again with the same bytes and more.

    A map becomes a dict if its keys are distinct texts, else a tuple of pairs.
    """

    __slots__ = ("_items", "_open", "at")

    def __init__(self) -> None:
        self.at = 0  # everything before it is read
        # For each incomplete item: its major type, argument, final number of members, and members so far.
        self._open: list[tuple[int, int, int, list[Any]]] = []
        self._items = 0

    def read(self, data: bytes | bytearray) -> Any:
        """The item; `at` is the offset after it. Raises Incomplete or IllFormed."""
        size, at, open_ = len(data), self.at, self._open
        while True:
            if at >= size:
                raise self._incomplete(at, at + 1)
            first = data[at]
            major, info = first >> 5, first & 31
            end = at + HEAD_SIZES[info]
            if end == at:
                raise IllFormed("an indefinite length or a reserved head", at)
            if end > size:
                raise self._incomplete(at, end)
            argument = info if info < 24 else argument_at(data, at)
            item: Any
            if major == 3:
                begin, end = end, end + argument
                if end > size:
                    raise self._incomplete(at, end)
                try:
                    item = data[begin:end].decode("utf-8")
                except UnicodeDecodeError as error:
                    raise IllFormed("text that is not UTF-8", begin + error.start) from None
            elif major == 0:
                item = argument
            elif major >= 4 and major != 7:
                if argument or major == _TAG:
                    self._enter(major, argument, at)
                    at = end
                    continue
                item = [] if major == _ARRAY else {}
            elif major == 2:
                begin, end = end, end + argument
                if end > size:
                    raise self._incomplete(at, end)
                item = _slice(data, begin, end)
            elif major == 1:
                item = -1 - argument
            elif info > 24:
                item = Float(end - at - 1, bytes(data[at + 1 : end]))
            elif info == 24 and argument < 32:
                raise IllFormed("a simple value in two bytes", at)
            else:
                item = _SIMPLE[argument] if argument in _SIMPLE else Simple(argument)
            at = end
            while open_:
                major, argument, count, members = open_[-1]
                members.append(item)
                if len(members) < count:
                    break
                open_.pop()
                item = _map(members) if major == _MAP else members if major == _ARRAY else Tagged(argument, item)
            else:
                self.at = at
                return item

    def _incomplete(self, at: int, needed: int) -> Incomplete:
        self.at = at
        return Incomplete(needed)

    def _enter(self, major: int, argument: int, at: int) -> None:
        self._items += argument if major != _TAG else 1
        if self._items > MAX_ITEMS:
            raise IllFormed(f"more than {MAX_ITEMS} items in one message", at)
        if len(self._open) >= MAX_NESTING:
            raise IllFormed(f"nested too deeply, more than {MAX_NESTING} arrays, maps and tags", at)
        count = 2 * argument if major == _MAP else argument if major == _ARRAY else 1
        self._open.append((major, argument, count, []))


def _slice(data: bytes | bytearray, begin: int, end: int) -> bytes:
    if isinstance(data, bytes):
        return data[begin:end]
    with memoryview(data) as view:  # a slice of a bytearray would be copied twice
        return bytes(view[begin:end])


def _map(members: list[Any]) -> Any:
    keys, values = members[::2], members[1::2]
    if set(map(type, keys)) == {str}:
        found = dict(zip(keys, values, strict=True))
        if len(found) == len(keys):
            return found
    return tuple(zip(keys, values, strict=True))


def encode(message: Any) -> bytes:
    """The bytes of a message made of native items, Float, Tagged and integer arrays (as RFC 8746 typed arrays)."""
    parts: list[bytes | memoryview] = []
    _append(message, parts)
    return b"".join(parts)


@lru_cache(4096)
def _short_text(word: str) -> bytes:
    return encode_item(word)


def _append(message: Any, parts: list[bytes | memoryview]) -> None:
    kind = type(message)
    if kind is str and len(message) <= _SHORT:
        parts.append(_short_text(message))
    elif kind is dict or kind is tuple:
        parts.append(head(_MAP, len(message)))
        for key, value in message.items() if kind is dict else message:
            _append(key, parts)
            _append(value, parts)
    elif kind is list:
        parts.append(head(_ARRAY, len(message)))
        for member in message:
            _append(member, parts)
    elif kind is np.ndarray:
        tag = next(tag for tag, dtype in TYPED_ARRAYS.items() if np.dtype(dtype).itemsize == message.itemsize)
        little = np.ascontiguousarray(message, TYPED_ARRAYS[tag])
        parts += (head(_TAG, tag), head(_BYTES, little.nbytes), little.data.cast("B") if little.size else b"")
    elif kind is Float:
        parts += (bytes([{2: 0xF9, 4: 0xFA, 8: 0xFB}[message.width]]), message.bits)
    elif kind is Tagged:
        parts.append(head(_TAG, message.tag))
        _append(message.item, parts)
    elif kind is Simple:
        parts.append(head(_SIMPLE_OR_FLOAT, message.number))
    else:
        parts.append(encode_item(message))


def encode_canonical(value: Any) -> bytes:
    """The canonical bytes of a native value (RFC 8949 §4.2.1; rulings CA07, CA09).

    Raises ValueError for any NaN but the canonical one and for duplicate keys, TypeError for a value CBOR cannot have.
    """
    match value:
        case float():
            if math.isnan(value) and struct.pack(">d", value) != CANONICAL_NAN:
                raise ValueError("a NaN of other bits has no place in a canonical encoding")
        case list():
            return head(4, len(value)) + b"".join(map(encode_canonical, value))
        case dict() | tuple():
            pairs = value.items() if isinstance(value, Mapping) else value
            encoded = sorted((encode_canonical(k), encode_canonical(v)) for k, v in pairs)
            if len({key for key, _ in encoded}) != len(encoded):
                raise ValueError("a key occurs twice")
            return head(5, len(encoded)) + b"".join(k + v for k, v in encoded)
    return encode_item(value)


def digest(value: Any) -> str:
    """The hex SHA-256 of the canonical bytes of `value`."""
    return hashlib.sha256(encode_canonical(value)).hexdigest()
