"""Long lists and tensors as markers: what stands in a frozen expectation, and how an observed value is held to it.

A list over 64 elements becomes {count, sha256, head, tail}. The SHA-256 runs over the little-endian bytes of the
declared width for lists of sized integers, else over the canonical CBOR of the list's JSON wire form. A tensor over 64
elements becomes {dtype, shape, sha256}, over its data bytes; a text over 65,536 letters {letters, sha256, head, tail};
a map over 4,096 entries {entries, sha256, first}.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from conformance.contract.types import INTEGER_RANGES, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.vectors.case import HEAD_AND_TAIL, LONGEST_LIST
from conformance.vectors.digest import digest_of

LONGEST_TEXT: Final = 65_536  # letters; what is longer in an answer is frozen as a marker
LONGEST_MAP: Final = 4096  # entries
SHOWN_LETTERS: Final = 32
_MARKERS: Final = (
    {"count", "sha256", "head", "tail"},
    {"letters", "sha256", "head", "tail"},
    {"entries", "sha256", "first"},
    {"dtype", "shape", "sha256"},
)
_LITTLE: Final[Mapping[str, np.dtype[Any]]] = {
    name: np.dtype(name).newbyteorder("<") for name in INTEGER_RANGES
}


def compact(value: Any, type_: Type) -> Any:
    """A wire value of `type_` with every long list and tensor in it as its marker."""
    match type_:
        case ListOf(item):
            if len(value) > LONGEST_LIST:
                return compact_list(value, item)
            return value if isinstance(item, Scalar) else [compact(element, item) for element in value]
        case MapOf(item):
            if len(value) > LONGEST_MAP:
                return compact_map(value)
            return {key: compact(element, item) for key, element in value.items()}
        case Struct():
            types = {member.name: member.type for member in type_.fields}
            return {key: compact(element, types[key]) for key, element in value.items()}
        case Value():
            return _compact_value(value)
        case Scalar("string" | "bytes"):
            return compact_text(value) if len(value) > LONGEST_TEXT else value
        case Tensor():
            return compact_tensor(value) if math.prod(value["shape"]) > LONGEST_LIST else value
    return value


def compact_text(value: str) -> dict[str, Any]:
    """The marker of a text or of the hex of bytes: its letters, their SHA-256 as UTF-8, its beginning and end."""
    sha256 = hashlib.sha256(value.encode()).hexdigest()
    return {"letters": len(value), "sha256": sha256, "head": value[:SHOWN_LETTERS], "tail": value[-SHOWN_LETTERS:]}


def compact_map(value: Mapping[str, Any]) -> dict[str, Any]:
    """The marker of a map: its entries, the SHA-256 of its canonical CBOR, and its first keys."""
    return {"entries": len(value), "sha256": digest_of(value), "first": sorted(value)[:HEAD_AND_TAIL]}


def is_marker(value: Any) -> bool:
    """Whether a frozen value of a list, map, text or tensor is known by its digest alone."""
    return isinstance(value, Mapping) and value.keys() in _MARKERS


def _compact_value(value: Any) -> Any:
    """A self-describing value with its long texts and byte strings as markers."""
    match value:
        case {"text": str(part)} | {"bytes": str(part)} if len(part) > LONGEST_TEXT:
            return dict.fromkeys(value, compact_text(part))
        case {"array": list(items)}:
            whole = [_compact_value(item) for item in items]
            return {"array": compact_array(whole)} if len(whole) > LONGEST_MAP else {"array": whole}
        case {"map": list(pairs)}:
            whole = [[_compact_value(part) for part in pair] for pair in pairs]
            return {"map": compact_array(whole)} if len(whole) > LONGEST_MAP else {"map": whole}
    return value


def compact_array(items: list[Any]) -> dict[str, Any]:
    """The marker of a list inside a self-describing value."""
    shown = {"head": items[:HEAD_AND_TAIL], "tail": items[-HEAD_AND_TAIL:]}
    return {"count": len(items), "sha256": digest_of(items), **shown}


def compact_list(values: list[Any], item: Type) -> dict[str, Any]:
    """The marker of a list, however short."""
    return {
        "count": len(values),
        "sha256": list_sha256(values, item),
        "head": [compact(element, item) for element in values[:HEAD_AND_TAIL]],
        "tail": [compact(element, item) for element in values[-HEAD_AND_TAIL:]],
    }


def list_sha256(values: list[Any], item: Type) -> str:
    """The hex SHA-256 of a list in wire form."""
    if isinstance(item, Scalar) and item.name in _LITTLE:
        return hashlib.sha256(np.array(values, dtype=_LITTLE[item.name]).tobytes()).hexdigest()
    return digest_of(values)


def compact_tensor(value: Mapping[str, Any]) -> dict[str, Any]:
    """The marker of a tensor, however small."""
    data = hashlib.sha256(base64.b64decode(value["data"])).hexdigest()
    return {"dtype": value["dtype"], "shape": value["shape"], "sha256": data}
