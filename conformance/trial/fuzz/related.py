"""Numbers of an input that meet, moved together to where a double, or fewer bits, no longer tell them apart.

Whoever rounds or narrows one of two numbers that are compared answers wrongly only where the other stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, Final

from conformance.contract.types import INTEGER_RANGES, Scalar, Struct
from conformance.vectors.place import Place, distinct_places, put

Native = dict[str, Any]
_SCALES: Final = (2**53, 2**32, 2**63)
_APART: Final = 1  # two numbers meet where they are no further apart
_SEEDS: Final = 4  # inputs in which the same two leaves are moved


def related(type_: Struct, natives: Iterable[Native]) -> Iterator[tuple[Native, ...]]:
    """For every two leaves whose numbers meet, and an input of them: both far up, equal or one beside the other, and
    either of them 2^32 above the other."""
    found: dict[tuple[str, str], int] = {}
    for native in natives:
        numbers = [place for place in distinct_places(type_, native) if _is_number(place)]
        for one, other in combinations(numbers, 2):
            pair = (one.key, other.key)
            if abs(one.value - other.value) <= _APART and found.get(pair, 0) < _SEEDS:
                found[pair] = found.get(pair, 0) + 1
                yield tuple(_moved(native, one, other))


def _moved(native: Native, one: Place, other: Place) -> Iterator[Native]:
    for scale in _SCALES:
        for first, second in ((scale + 1, scale), (scale, scale + 1), (scale, scale)):
            if _fits(one, first) and _fits(other, second):
                yield put(put(native, one.path, first), other.path, second)
    for place, number in ((one, other.value + 2**32), (other, one.value + 2**32)):
        if _fits(place, number):
            yield put(native, place.path, number)


def _is_number(place: Place) -> bool:
    return place.is_there and isinstance(place.type, Scalar) and place.type.name in INTEGER_RANGES


def _fits(place: Place, number: int) -> bool:
    assert isinstance(place.type, Scalar)
    low, high = INTEGER_RANGES[place.type.name]
    return low <= number <= high
