"""The notation of a `value`, the self-describing type, in contracts: its JSON wire form and its CBOR."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from conformance.contract.canonical import array, encode_item, head


def wire_value(value: Any, other: Callable[[Any], Any] = lambda value: value, *, canonical: bool = False) -> Any:
    """The JSON wire form of a `value` as people write it in YAML.

    Null is the word null (this YAML has no null), numbers are YAML numbers, and a map from text may be written as
    `fields`, which `canonical` puts in canonical order. Anything else is what `other` makes of it.
    """

    def read(value: Any) -> Any:
        match value:
            case "null":
                return None
            case {"int": int(number)} if type(number) is int:
                return {"int": str(number)}
            case {"float": int(number) | float(number)} if type(number) is not bool:
                return {"float": struct.pack(">d", number).hex()}
            case {"array": list(items)}:
                return {"array": [read(item) for item in items]}
            case {"fields": dict(fields), **rest} if not rest:
                keys = sorted(fields, key=encode_item) if canonical else fields
                return {"map": [[{"text": key}, read(fields[key])] for key in keys]}
            case {"map": list(pairs)} if all(type(pair) is list for pair in pairs):
                return {"map": [[read(item) for item in pair] for pair in pairs]}
        return other(value)

    return read(value)


def value_item(wire: Any) -> bytes:
    """The CBOR item of a `value` in wire form, its maps in the order as given; raises ValueError."""
    match wire:
        case None | bool():
            return encode_item(wire)
        case {"text": str(text), **rest} if not rest:
            return encode_item(text)
        case {"bytes": str(digits), **rest} if not rest:
            return encode_item(bytes.fromhex(digits))
        case {"int": str(digits), **rest} if not rest:
            return encode_item(int(digits))
        case {"float": str(digits), **rest} if not rest and len(digits) == 16:
            return encode_item(struct.unpack(">d", bytes.fromhex(digits))[0])
        case {"array": list(items), **rest} if not rest:
            return array([value_item(item) for item in items])
        case {"map": list(pairs), **rest} if not rest and all(type(p) is list and len(p) == 2 for p in pairs):
            return head(5, len(pairs)) + b"".join(value_item(part) for pair in pairs for part in pair)
    raise ValueError(f"expected a value such as {{text: a}}, found {wire!r:.40}")
