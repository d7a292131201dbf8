"""Two numbers of one leaf, moved to where a narrower number no longer tells them apart.

Some programs store the elements of a tensor, or one field of many records, in fewer bits or in a smaller float. Their
answers are wrong only where two numbers become equal or change their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any, Final

import numpy as np

from conformance.contract.types import INTEGER_RANGES, Scalar, Tensor
from conformance.trial.fuzz.seed import Places
from conformance.trial.generator import Native
from conformance.vectors.place import Path, Place, put

_EXACT: Final = (11, 24, 53)  # integer bits that a float of 16, 32 and 64 bits represents exactly
_CUTS: Final = (8, 16, 31, 32, 63)  # bits at which an integer is cut
_SEEDS: Final = 2  # inputs in which a leaf is moved
_FLOATS: Final = {"float64": (2.0**-24, 2.0**-52), "float32": (2.0**-11, 2.0**-23)}  # above 1, lost in fewer bits


def neighbours(inside: Places, natives: Iterable[Native]) -> Iterator[Native]:
    """For every leaf of several numbers, and some inputs of it: its first two and its last two as such neighbours.

    The first pair of every leaf comes before the second of any.
    """
    found: dict[tuple[str, str], list[Iterator[Native]]] = {}
    for native in natives:
        for kind, moved in _leaves(inside, native):
            seeds = found.setdefault(kind, [])
            if len(seeds) < _SEEDS:
                seeds.append(moved)
    turns = [chain.from_iterable(zip_longest(*seeds)) for seeds in found.values()]
    yield from (native for native in chain.from_iterable(zip_longest(*turns)) if native is not None)


def _leaves(inside: Places, native: Native) -> Iterator[tuple[tuple[str, str], Iterator[Native]]]:
    fields: dict[str, list[Place]] = {}
    for place in inside.all(native):
        if not place.is_there:
            continue
        if isinstance(place.type, Tensor) and place.value.size > 1 and place.value.dtype.kind in "iuf":
            yield (place.key, place.value.dtype.name), _in_tensor(native, place)
        elif isinstance(place.type, Scalar) and place.type.name in INTEGER_RANGES:
            fields.setdefault(place.key, []).append(place)
    for key, some in fields.items():
        if len(some) > 1:
            yield (key, "fields"), _in_fields(native, some)


def _in_tensor(native: Native, place: Place) -> Iterator[Native]:
    count, dtype = place.value.size, place.value.dtype
    for one, other in _pairs(dtype.name):
        for first, second in _ends(count):
            changed = place.value.copy()
            changed.reshape(-1)[[first, second]] = np.array([one, other], dtype=dtype)
            yield put(native, place.path, changed)


def _in_fields(native: Native, some: list[Place]) -> Iterator[Native]:
    kind = some[0].type
    assert isinstance(kind, Scalar)
    for one, other in _pairs(kind.name):
        for first, second in _ends(len(some)):
            yield _moved(native, some[first].path, one, some[second].path, other)


def _moved(native: Native, path: Path, one: Any, beside: Path, other: Any) -> Native:
    moved: Native = put(put(native, path, one), beside, other)
    return moved


def _ends(count: int) -> Iterator[tuple[int, int]]:
    yield 0, 1
    if count > 2:
        yield count - 2, count - 1


def _pairs(name: str) -> Iterator[tuple[Any, Any]]:
    """Two numbers of a type that are one number in fewer bits, either first."""
    if name in _FLOATS:
        for beside in _FLOATS[name]:
            yield from ((1.0 + beside, 1.0), (1.0, 1.0 + beside))
    if name not in INTEGER_RANGES:
        return
    high = INTEGER_RANGES[name][1]
    for power in _EXACT:
        if 2**power < high:
            yield from ((2**power + 1, 2**power), (2**power, 2**power + 1))
    for power in _CUTS:
        if 2**power <= high:
            yield from ((2**power, 0), (0, 2**power))
