"""Strict canonical CBOR, the bytes behind every digest: sorted keys, shortest heads, binary64 floats, no tags."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from conformance.contract.item import encode_item, head


def encode_canonical(value: Any) -> bytes:
    """The canonical bytes of a native value (RFC 8949 §4.2.1; rulings CA07, CA09).

    Raises ValueError on NaN, infinities and duplicate keys, TypeError on what is no CBOR item.
    """
    match value:
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} has no place in a canonical encoding")
        case list():
            return head(4, len(value)) + b"".join(map(encode_canonical, value))
        case dict() | tuple():
            pairs = value.items() if isinstance(value, Mapping) else value
            encoded = sorted((encode_canonical(k), encode_canonical(v)) for k, v in pairs)
            if len({key for key, _ in encoded}) != len(encoded):
                raise ValueError("a key stands twice")
            return head(5, len(encoded)) + b"".join(k + v for k, v in encoded)
    return encode_item(value)


def digest(value: Any) -> str:
    """The hex SHA-256 of the canonical bytes of `value`."""
    return hashlib.sha256(encode_canonical(value)).hexdigest()
