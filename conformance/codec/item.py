"""CBOR items as bytes arrive: a well-formedness decoder that keeps what the wire's rules need to see.

Unlike a general decoder it keeps the width of floats and repeated keys, bounds nesting, and tells an item that is not
there yet from one that never can be.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from conformance.contract.item import encode_item, head

MAX_DEPTH: Final = 64
TYPED_ARRAYS: Final[Mapping[int, np.dtype[Any]]] = {70: np.dtype("<u4"), 71: np.dtype("<u8")}  # RFC 8746, little-endian


class Incomplete(Exception):
    """The buffer ends inside an item; at least `needed` bytes must be there before it can be whole."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"{needed} bytes needed")
        self.needed = needed


class IllFormed(Exception):
    """The bytes are no CBOR that this wire knows; `offset` counts from the start of the buffer."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} at byte {offset}")
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Float:
    """An IEEE-754 float as it stood on the wire: its width in bytes and its bits as big-endian bytes."""

    width: int
    bits: bytes

    @property
    def number(self) -> float:
        """The float's value."""
        return float(struct.unpack({2: ">e", 4: ">f", 8: ">d"}[self.width], self.bits)[0])


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tagged item."""

    tag: int
    item: Any


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple value other than false, true and null."""

    number: int


def decode(buffer: bytes | bytearray | memoryview, start: int = 0) -> tuple[Any, int]:
    """The item at `start` and the offset behind it; raises Incomplete or IllFormed.

    Maps come as dict where the keys are distinct text, else as a tuple of pairs.
    """
    return _decode(memoryview(buffer), start, 0)


def _decode(data: memoryview, at: int, depth: int) -> tuple[Any, int]:
    if at >= len(data):
        raise Incomplete(at + 1)
    if depth > MAX_DEPTH:
        raise IllFormed(f"nesting deeper than {MAX_DEPTH}", at)
    first = data[at]
    major, info = first >> 5, first & 31
    if info > 27:
        raise IllFormed("an indefinite length or a reserved head", at)
    width = 0 if info < 24 else 1 << (info - 24)
    end = at + 1 + width
    if end > len(data):
        raise Incomplete(end)
    argument = info if width == 0 else int.from_bytes(data[at + 1 : end], "big")
    if major == 0:
        return argument, end
    if major == 1:
        return -1 - argument, end
    if major in (2, 3):
        return _string(data, major, end, argument)
    if major == 4:
        return _array(data, end, argument, depth)
    if major == 5:
        return _map(data, end, argument, depth)
    if major == 6:
        item, end = _decode(data, end, depth + 1)
        return Tagged(argument, item), end
    if width >= 2:
        return Float(width, bytes(data[at + 1 : end])), end
    if width == 1 and argument < 32:
        raise IllFormed("a simple value in two bytes", at)
    return {20: False, 21: True, 22: None}.get(argument, Simple(argument)), end


def _string(data: memoryview, major: int, at: int, length: int) -> tuple[Any, int]:
    end = at + length
    if end > len(data):
        raise Incomplete(end)
    raw = bytes(data[at:end])
    if major == 2:
        return raw, end
    try:
        return raw.decode("utf-8"), end
    except UnicodeDecodeError as error:
        raise IllFormed("text that is not UTF-8", at + error.start) from None


def _array(data: memoryview, at: int, length: int, depth: int) -> tuple[Any, int]:
    items = []
    for _ in range(length):
        item, at = _decode(data, at, depth + 1)
        items.append(item)
    return items, at


def _map(data: memoryview, at: int, length: int, depth: int) -> tuple[Any, int]:
    pairs: list[tuple[Any, Any]] = []
    seen: set[str] = set()
    for _ in range(length):
        key, at = _decode(data, at, depth + 1)
        value, at = _decode(data, at, depth + 1)
        if isinstance(key, str):
            seen.add(key)
        pairs.append((key, value))
    return (dict(pairs) if len(seen) == len(pairs) else tuple(pairs)), at


def encode(message: Any) -> bytes:
    """The bytes of a message made of native items, Float, Tagged and integer arrays (as RFC 8746 typed arrays)."""
    match message:
        case Float(width, bits):
            return bytes([{2: 0xF9, 4: 0xFA, 8: 0xFB}[width]]) + bits
        case np.ndarray():
            tag = next(tag for tag, dtype in TYPED_ARRAYS.items() if dtype.itemsize == message.itemsize)
            raw = message.astype(TYPED_ARRAYS[tag], copy=False).tobytes()
            return head(6, tag) + head(2, len(raw)) + raw
        case Tagged(tag, item):
            return head(6, tag) + encode(item)
        case Simple(number):
            return bytes([0xE0 | number]) if number < 24 else bytes([0xF8, number])
        case list():
            return head(4, len(message)) + b"".join(map(encode, message))
        case dict() | tuple():
            pairs = message.items() if isinstance(message, dict) else message
            return head(5, len(message)) + b"".join(encode(k) + encode(v) for k, v in pairs)
    return encode_item(message)
