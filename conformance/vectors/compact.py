"""Long lists and tensors as markers: what stands in a frozen expectation, and how an observed value is held to it.

A list over 64 elements becomes {count, sha256, head, tail}. The SHA-256 runs over the little-endian bytes of the
declared width for lists of sized integers, else over the canonical CBOR of the list's JSON wire form. A tensor over 64
elements becomes {dtype, shape, sha256}, over its data bytes.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from conformance.contract.types import INTEGER_RANGES, ListOf, MapOf, Scalar, Struct, Tensor, Type
from conformance.vectors.case import HEAD_AND_TAIL, LONGEST_LIST
from conformance.vectors.digest import digest_of

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
            return {key: compact(element, item) for key, element in value.items()}
        case Struct():
            types = {member.name: member.type for member in type_.fields}
            return {key: compact(element, types[key]) for key, element in value.items()}
        case Tensor():
            return compact_tensor(value) if math.prod(value["shape"]) > LONGEST_LIST else value
    return value


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


def matches(expected: Mapping[str, Any], observed: Mapping[str, Any], outputs: Struct) -> bool:
    """Whether an observed result in wire form is exactly the expected one, which may hold markers."""
    return bool(compact(observed, outputs) == expected)
