"""Inputs with one degenerate value each: listed leaf by leaf, so that nothing hangs on luck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat, zip_longest
from typing import Any

from conformance.contract.types import Struct
from conformance.trial.fuzz.near_bytes import degenerate_items
from conformance.trial.fuzz.seed import Native
from conformance.vectors.degenerate import degenerates
from conformance.vectors.place import Path, Place, distinct_places, last_places, put

Kind = tuple[str, bool, bool]


def listed(type_: Struct, natives: Iterable[Native]) -> Iterator[Native]:
    """Every leaf of the first of these inputs that has it, with each degenerate value of its type.

    The first value of every leaf comes before the second of any: whoever takes only some leaves out no leaf.
    """
    found: dict[Kind, Iterator[tuple[Native, Path, Any]]] = {}
    for native in natives:
        for kind, path, values in _leaves(type_, native):
            if kind not in found:
                found[kind] = zip(repeat(native), repeat(path), values, strict=False)
    for native, path, value in filter(None, chain.from_iterable(zip_longest(*found.values()))):
        yield put(native, path, value)


def _leaves(type_: Struct, native: Native) -> Iterator[tuple[Kind, Path, Iterator[Any]]]:
    """Every leaf of an input, with where it is and its degenerate values; parts of a CBOR item are leaves too."""
    for place in distinct_places(type_, native):
        yield _kind(place), place.path, degenerates(place)
        if type(place.value) is bytes:
            for part, values in degenerate_items(place.value):
                name, there, full = _kind(part)
                yield (f"{place.key}/{name}", there, full), place.path, values
    # Whoever goes wrong behind the first item of a list is right about the first.
    for place in last_places(type_, native):
        name, there, full = _kind(place)
        yield (f"{name}$", there, full), place.path, degenerates(place)


def _kind(place: Place) -> Kind:
    """What of a place is worth its own degenerate values: its leaf, and whether anything stands there, and in it."""
    size = getattr(place.value, "size", None)  # of an array, whose truth is another matter
    return place.key, place.is_there, bool(place.value if size is None else size)
