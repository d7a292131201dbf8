"""Inputs that are tried before any drawn one. Each listing finds one kind of mistake in pure operators."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, islice, pairwise, repeat, zip_longest
from typing import Any, Final

import numpy as np

from conformance.contract.types import (
    INTEGER_RANGES,
    Scalar,
    Tensor,
    Type,
    Value,
    in_range,
)
from conformance.contract.yaml.source import ValuePath
from conformance.trial.fuzz.near_bytes import degenerate_items, item_in, with_part
from conformance.trial.fuzz.seed import InputPlaces, printed
from conformance.trial.generator import Native
from conformance.trial.turns import by_turns
from conformance.vectors.place import Place, degenerates, distinct_places, put

Kind = tuple[str, bool, bool]


def leaf_variants(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """For every kind of leaf, the first of these inputs that has it, with each degenerate value of its type.

    The first value of every kind comes before the second of any, so a caller that stops early misses no leaf.
    """
    yield from (changed for _, changed in changed_leaves(inside, natives))


def changed_leaves(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[tuple[Native, Native]]:
    """The inputs of `leaf_variants`, each with the input that it was made from."""
    found = [zip(repeat(native), *rest, strict=False) for native, *rest in _first_of_each_kind(inside, natives)]
    for native, path, value in by_turns(found):
        yield native, put(native, path, value)


def leaf_origins(inside: InputPlaces, natives: Iterable[Native]) -> list[Native]:
    """The inputs that `leaf_variants` changes."""
    return [*{id(native): native for native, *_ in _first_of_each_kind(inside, natives)}.values()]


def _first_of_each_kind(
    inside: InputPlaces, natives: Iterable[Native]
) -> Iterator[tuple[Native, Iterator[ValuePath], Iterator[Any]]]:
    seen: set[Kind] = set()
    for native in natives:
        for kind, path, values in _leaves(inside, native):
            if kind not in seen:
                seen.add(kind)
                yield native, repeat(path), values


def of_same_length(inside: InputPlaces, native: Native) -> Iterator[Native]:
    """An input, and it with each leaf changed alone, first and last place, to a value printed in as many letters.

    In a long input, this finds a backend that knows an input by its first letters and its length.
    """
    yield native
    for place in (*inside.first(native), *inside.last(native)):
        alike = (value for value in degenerates(place) if _size(value) == _size(place.value))
        yield from (put(native, place.path, value) for value in islice(alike, 1))


def _size(value: Any) -> Any:
    """The shape of a tensor; of another value, the number of letters that it is printed in."""
    return value.shape if isinstance(value, np.ndarray) else len(printed(value))


def _leaves(inside: InputPlaces, native: Native) -> Iterator[tuple[Kind, ValuePath, Iterator[Any]]]:
    """Every leaf of an input, with where it is and its degenerate values; parts of a CBOR item are leaves too."""
    for place in inside.first(native):
        yield _kind(place), place.path, degenerates(place)
        if type(place.value) is bytes:
            for part, values in degenerate_items(place.value):
                name, there, full = _kind(part)
                yield (f"{place.key}/{name}", there, full), place.path, values
    # A backend may be wrong only after the first item of a list, so the last item is changed too.
    for place in inside.last(native):
        name, there, full = _kind(place)
        yield (f"{name}$", there, full), place.path, degenerates(place)


def _kind(place: Place) -> Kind:
    """The kind of a place: its leaf, whether it has a value, and whether the value is not empty."""
    size = getattr(place.value, "size", None)  # of an array, which has no truth value of its own
    return place.key, place.is_there, bool(place.value if size is None else size)


_SCALES: Final = (2**53, 2**32, 2**63)
_APART: Final = 1  # two numbers meet if they differ by at most this
_SEEDS: Final = 4  # inputs in which the same leaves are moved
_TOGETHER: Final = 3  # leaves that are moved together: an index, the size that bounds it, the number of all
_TOPS: Final = (2**32 - 5, 2**32 + 1, 2**53 + 1, 2**63 + 1)  # no powers of two, which hide a product that wraps


def pair_variants(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[tuple[Native, ...]]:
    """For every two leaves whose numbers meet, in a few inputs: both numbers large and equal or one apart, and each
    number 2^32 above the other."""
    for native, (one, other) in _meeting(inside, natives, 2):
        yield tuple(_moved(native, one, other))


def triple_variants(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """For every three leaves whose numbers meet, in a few inputs: all three large, with the same distances."""
    for native, some in _meeting(inside, natives, _TOGETHER):
        most = max(place.value for place in some)
        for top in _TOPS:
            if all(in_range(place.type, place.value + top - most) for place in some):
                moved = native
                for place in some:
                    moved = put(moved, place.path, place.value + top - most)
                yield moved


def _meeting(inside: InputPlaces, natives: Iterable[Native], count: int) -> Iterator[tuple[Native, tuple[Place, ...]]]:
    """Every `count` leaves whose numbers meet, each with an input; at most `_SEEDS` inputs for the same leaves."""
    found: Counter[tuple[str, ...]] = Counter()
    for native in natives:
        numbers = [place for place in inside.first(native) if _is_number(place)]
        for some in combinations(numbers, count):
            values = [place.value for place in some]
            keys = tuple(place.key for place in some)
            if max(values) - min(values) <= _APART and found[keys] < _SEEDS:
                found[keys] += 1
                yield native, some


def _moved(native: Native, one: Place, other: Place) -> Iterator[Native]:
    for scale in _SCALES:
        for first, second in ((scale + 1, scale), (scale, scale + 1), (scale, scale)):
            if in_range(one.type, first) and in_range(other.type, second):
                yield put(put(native, one.path, first), other.path, second)
    for place, number in ((one, other.value + 2**32), (other, one.value + 2**32)):
        if in_range(place.type, number):
            yield put(native, place.path, number)


def _is_number(place: Place) -> bool:
    return place.is_there and isinstance(place.type, Scalar) and place.type.name in INTEGER_RANGES


def exchanged(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """For every two neighbours of one type, the first of these inputs where they differ, with their values exchanged;
    each input comes unchanged too.

    Neighbours are two parts of a list or a tensor, two keys of a map, two fields of a struct, one of which may be
    absent. Only both inputs show a backend that ignores an order or a name.
    """
    seen: set[tuple[Any, ...]] = set()
    for native in natives:
        if changed := [*_exchanged_in(inside, native, seen)]:
            yield from (native, *changed)


def _exchanged_in(inside: InputPlaces, native: Native, seen: set[tuple[Any, ...]]) -> Iterator[Native]:
    groups: dict[tuple[ValuePath, Type], list[Place]] = {}
    for place in inside.all(native):
        groups.setdefault((place.path[:-1], place.type), []).append(place)
        if isinstance(place.type, Tensor) and place.is_there and (place.key,) not in seen:
            flat = place.value.reshape(-1)
            for first in np.flatnonzero(flat[:-1] != flat[1:])[:1]:
                seen.add((place.key,))
                yield put(native, place.path, with_two(place.value, first, (first + 1, first)))
    for one, other in chain.from_iterable(map(pairwise, groups.values())):
        kind = (one.key, one.is_there, other.key, other.is_there)
        fits = (one.is_there or other.optional) and (other.is_there or one.optional)
        if fits and kind not in seen and printed(one.value) != printed(other.value):
            seen.add(kind)
            yield put(put(native, one.path, other.value), other.path, one.value)


def with_two(tensor: np.ndarray[Any, Any], first: int, two: tuple[int, int]) -> np.ndarray[Any, Any]:
    """The tensor with these two of its parts, by number, in place of the two from `first` on."""
    changed = tensor.copy()
    changed.reshape(-1)[first : first + 2] = tensor.reshape(-1)[list(two)]
    return changed


_EXACT: Final = (11, 24, 53)  # integer bits that a float of 16, 32 and 64 bits represents exactly
_CUTS: Final = (8, 16, 31, 32, 63)  # bits at which an integer is cut
_MOST_INPUTS: Final = 2  # inputs in which a leaf is moved
_FLOATS: Final = {"float64": (2.0**-24, 2.0**-52), "float32": (2.0**-11, 2.0**-23)}  # above 1, lost in fewer bits


def neighbours(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """For every leaf of several numbers, and some inputs of it: its first two and its last two, made neighbours.

    This finds programs that keep the elements of a tensor, or one field of many records, in fewer bits or in a smaller
    float: their answers are wrong only where two numbers become equal or change their order. The first pair of every
    leaf comes before the second of any.
    """
    found: dict[tuple[str, str], list[Iterator[Native]]] = {}
    for native in natives:
        for kind, moved in _number_leaves(inside, native):
            seeds = found.setdefault(kind, [])
            if len(seeds) < _MOST_INPUTS:
                seeds.append(moved)
    turns = [chain.from_iterable(zip_longest(*seeds)) for seeds in found.values()]
    yield from (native for native in chain.from_iterable(zip_longest(*turns)) if native is not None)


def _number_leaves(inside: InputPlaces, native: Native) -> Iterator[tuple[tuple[str, str], Iterator[Native]]]:
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
            yield put(put(native, some[first].path, one), some[second].path, other)


def _ends(count: int) -> Iterator[tuple[int, int]]:
    yield 0, 1
    if count > 2:
        yield count - 2, count - 1


def _pairs(name: str) -> Iterator[tuple[Any, Any]]:
    """Pairs of numbers of a type that become equal in fewer bits, in both orders."""
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


_VERSION: Final = re.compile(r"(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})", re.ASCII)
_STEPS: Final = (1, -1, 2, 10)
_LARGEST: Final = 4_000  # bytes of an item that is looked into
Leaf = tuple[Place, ValuePath | None]  # inside bytes, the path of the part


def is_version(value: Any) -> bool:
    """Whether a value is a text of three numbers with dots between them."""
    return isinstance(value, str) and _VERSION.fullmatch(value) is not None


def near_versions(known: Iterable[str]) -> list[str]:
    """Every known version, and those with one of its parts a little greater or less, each once."""
    found: dict[str, None] = {}
    for version in known:
        parts = [int(part) for part in version.split(".")]
        found[version] = None
        for step in _STEPS:
            for k in (2, 1, 0):
                if parts[k] + step >= 0:
                    found[".".join(str(part + step * (n == k)) for n, part in enumerate(parts))] = None
    return list(found)


def versions(inside: InputPlaces, natives: Iterable[Native], words: Iterable[str]) -> Iterator[Native]:
    """For every leaf that is a version, in an input or a CBOR item in its bytes, the first input that has it with
    every near version there; every digest of a part of the item is right again.

    This finds operators that compare whole versions where only one part counts.
    The known versions are those at the leaf in any of the inputs, and those among `words`.
    """
    first: dict[str, tuple[Native, Leaf]] = {}
    known: dict[str, dict[str, None]] = {}
    named = [word for word in words if is_version(word)]
    for native in natives:
        for name, leaf, version in _version_leaves(inside, native):
            first.setdefault(name, (native, leaf))
            known.setdefault(name, dict.fromkeys(named))[version] = None
    for name, (native, (place, path)) in first.items():
        for version in near_versions(known[name]):
            if path is None:
                yield put(native, place.path, version)
            else:
                found = item_in(place.value)
                assert found is not None
                yield put(native, place.path, with_part(found[0], path, version))


def _version_leaves(inside: InputPlaces, native: Native) -> Iterator[tuple[str, Leaf, str]]:
    for place in inside.first(native):
        if is_version(place.value):
            yield place.key, (place, None), place.value
        if type(place.value) is bytes and len(place.value) <= _LARGEST and (item := item_in(place.value)) is not None:
            for part in distinct_places(Value(), item[0]):
                if is_version(part.value):
                    yield f"{place.key}/{part.key}", (place, part.path), part.value
