"""Inputs in which one leaf is far larger than the tables and buffers of a careless program, its items all different."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from conformance.contract.types import Scalar, Struct, Value
from conformance.vectors.place import Place, distinct_places, put

Native = dict[str, Any]
_BYTES: Final = 2**20 + 1  # of a text or a byte string; the frozen sizes end at 2^16 + 1
_ITEMS: Final = 4_999  # of a list or map, all different, where those of the frozen sizes are alike
_PERIOD: Final = 251  # a prime, so that no block of bytes is like the one before


def large(type_: Struct, natives: Iterable[Native]) -> Iterator[Native]:
    """For every leaf that can be long, the first of these inputs that has it, with the leaf grown."""
    seen: set[str] = set()
    for native in natives:
        for place in distinct_places(type_, native):
            # What a self-describing value holds is of a leaf's kind, wherever in it.
            name = type(place.value).__name__ if isinstance(place.type, Value) else place.key
            if name not in seen and (grown := _grown(place)) is not None:
                seen.add(name)
                yield put(native, place.path, grown)


def _grown(place: Place) -> Any:
    match place.value:
        case str() if isinstance(place.type, Scalar | Value):
            return (place.value + "a" * _BYTES)[: _BYTES - 1] + "z"
        case bytes() if place.type in (Scalar("bytes"), Value()):
            return bytes(k % _PERIOD for k in range(_BYTES))
        case list() if place.value and not isinstance(place.value[0], dict):
            return [_numbered(place.value[0], k) for k in range(_ITEMS)]
        case dict() if place.value and not isinstance(place.type, Struct):
            key = min(place.value)
            return {**place.value, **{f"{key}{k}": place.value[key] for k in range(_ITEMS)}}
    return None


def _numbered(item: Any, number: int) -> Any:
    """The item as the one of a number, where it is a text or a number."""
    match item:
        case bool():
            return item
        case int():
            return item + number if item < 2**31 else item - number
        case str():
            return f"{item}{number}"
    return item
