"""The strict profile of canonical CBOR, for named functions: a third derivation beside those that freeze values.

Shortest heads, definite lengths, finite binary64 floats, distinct text keys in the bytewise order of their encodings,
no tags, no simple value but false, true and null, at most 256 containers around any item.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Final

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
