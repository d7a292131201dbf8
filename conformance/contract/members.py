"""Looks into self-describing items, for named functions: what kind an item is, and what a map holds under a name."""

from __future__ import annotations

from typing import Any, Final

import cbor2

from conformance.contract.canonical import canonical, text_map
from conformance.contract.item import encode_item

_MAX_UINT64: Final = 2**64 - 1


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


def element_count(data: bytes) -> int:
    """How many elements an array has; raises for anything else."""
    return len(_array(data))


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
