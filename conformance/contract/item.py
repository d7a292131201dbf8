"""Native self-describing values as CBOR items, in the given order and without judgement.

Native forms: None, bool, int (-2^64 .. 2^64-1), float, str, bytes, list; a map is a dict where its keys are distinct
text, else a tuple of (key, value) pairs.
"""

from __future__ import annotations

import struct
from typing import Any


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
