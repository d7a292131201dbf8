"""Canonical CBOR for named functions, so that a postcondition can spell out a hash's preimage byte for byte.

The profile: shortest heads, definite lengths, binary64 floats, text keys in the bytewise order of their encodings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import cbor2

from conformance.contract.item import encode_item, head

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
