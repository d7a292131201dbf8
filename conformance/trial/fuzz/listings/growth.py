"""Inputs with one long leaf, as long as the guards allow: a text, bytes, a list or a map; then with its middle changed.

Only such an input shows a mistake that depends on a size: a counter of 16 bits, a buffer, a length in another unit.
Only two of them that differ in the middle show a backend that knows a long value by its ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from conformance.contract.types import (
    FLOAT_BYTES,
    INTEGER_RANGES,
    Enum,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Type,
    Value,
)
from conformance.trial.fuzz.listings.inputs import of_same_length, with_two
from conformance.trial.fuzz.near_bytes import item_in, middle_parts_changed, with_part
from conformance.trial.fuzz.seed import InputPlaces, printed
from conformance.trial.generator import Native
from conformance.vectors.place import ASTRAL, Place, at, distinct_places, put

_BYTES: Final = 2**20 + 1  # of a text or a byte string; the frozen sizes end at 2^16 + 1
_AGAIN: Final = 2**17 + 1  # of a text or a byte string that is asked again with other middles; more than 16 bits count
_ITEMS: Final = 4_999  # of a list or map, all different; the frozen cases of that size repeat one item
_STRUCTS: Final = 300  # of a list of structs, all different: a longer one costs a message of a megabyte
_SHORT: Final = 50  # letters of a struct that comes _ITEMS times in a map; a longer one comes _STRUCTS times
_SMALL: Final = 300  # parts; more than a byte counts
_LEAST: Final = 16  # a smaller size of the contract is reached by other listings
_PERIOD: Final = 251  # bytes; a prime, so that no buffer of a round size gets the same bytes twice
_STRIDE: Final = 2_741  # shares no factor with _ITEMS


class Grown(NamedTuple):
    """Inputs with the leaf at one place grown in one way, the largest first."""

    place: Place
    natives: list[Native]


Asked = TypeVar("Asked")


def grown(
    inside: InputPlaces,
    natives: Iterable[Native],
    numbers: Sequence[int],
    made: Callable[[Native], Asked | None],
    passes: Callable[[Asked], bool],
    seen: set[str] | None = None,
) -> Iterator[Asked]:
    """What is asked with long leaves: of every way to grow one, the largest that `passes`; another one that is not too
    long, and this one with other middles.

    `made` makes of an input what is asked, None if it must not be asked. Leaves in `seen` are left out; it notes those
    that are grown.
    """
    for place, some in large(inside, natives, numbers, seen):
        fit = ((native, one) for native in some if (one := made(native)) is not None and passes(one))
        if (most := next(fit, None)) is not None:
            again = next((pair for pair in chain([most], fit) if is_asked_again(place, pair[0])), most)
            yield most[1]
            if again is not most:
                yield again[1]
            yield from (one for native in middle_changed(place, again[0]) if (one := made(native)) is not None)


def large(
    inside: InputPlaces, natives: Iterable[Native], numbers: Sequence[int] = (), seen: set[str] | None = None
) -> Iterator[Grown]:
    """For every leaf that can be long, the first of these inputs that has it, with the leaf grown in several ways.

    `numbers` are those that the contract mentions: one may be a limit.
    """
    seen = set() if seen is None else seen
    for native in natives:
        for place in inside.first(native):
            for name, part, whole in _growable(place):
                if name not in seen and (ways := [*_enlarged(part, numbers)]):
                    seen.add(name)
                    yield from (Grown(place, [put(native, place.path, whole(one)) for one in some]) for some in ways)


def near_long(inside: InputPlaces, native: Native) -> Iterator[Native]:
    """A long input, and it with each leaf changed alone, to a value of the same length or in the middle; of a CBOR item
    in bytes, a few parts in its middle."""
    leaves = [place for place in inside.first(native) if place.is_there]
    yield from of_same_length(inside, native)
    for place in leaves:
        yield from middle_changed(place, native)
        if type(place.value) is bytes and (item := item_in(place.value)) is not None:
            yield from (put(native, place.path, one) for one in middle_parts_changed(item[0]))


def is_asked_again(place: Place, native: Native) -> bool:
    """Whether the value at this place is short enough to be asked again with other middles."""
    value = at(native, place.path)
    return not isinstance(value, str | bytes) or len(value) <= _AGAIN


def middle_changed(place: Place, native: Native) -> Iterator[Native]:
    """The input with other middles of the value at this place, if it is long: neighbours exchanged, a part repeated or
    changed."""
    value = at(native, place.path)
    count = value.size if isinstance(value, np.ndarray) else len(value) if isinstance(value, Sized) else 0
    middle = count // 2
    match value:
        case _ if count < _LEAST or isinstance(place.type, Struct | Enum):
            return
        case str():
            letter = "b" if value[middle] == "a" else "a"
            yield put(native, place.path, value[:middle] + letter + value[middle + 1 :])
        case bytes():
            yield put(native, place.path, value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :])
        case dict():
            keys = list(value)
            inner = ListOf(place.type.item) if isinstance(place.type, MapOf) else place.type
            for parts in _other_parts([value[key] for key in keys], inner):
                yield put(native, place.path, dict(zip(keys, parts, strict=True)))
        case list():
            yield from (put(native, place.path, parts) for parts in _other_parts(value, place.type))
        case np.ndarray():
            for two in ((middle, middle - 1), (0, middle)):
                yield put(native, place.path, with_two(value, middle - 1, two))


def _other_parts(parts: Sequence[Any], type_: Type) -> Iterator[list[Any]]:
    """The parts with the two before and behind the middle exchanged, and with another one there."""
    middle = len(parts) // 2
    one, next_one = parts[middle - 1], parts[middle]
    other = not one if isinstance(one, bool) else _numbered(one, len(parts), _inner(type_))
    for two in ((next_one, one), (parts[0], next_one), (other, next_one)):
        yield [*parts[: middle - 1], *two, *parts[middle + 1 :]]


def _sizes(most: int, numbers: Sequence[int]) -> list[int]:
    """The sizes to try, the largest first: `most`, those that the contract mentions, one to ask again, a small one."""
    mentioned = sorted((number for number in (*numbers, _AGAIN) if _LEAST <= number < most), reverse=True)
    return list(dict.fromkeys((most, *mentioned, *([_SMALL] if most > _SMALL else []))))


def _enlarged(place: Place, numbers: Sequence[int]) -> Iterator[list[Any]]:
    match place.value:
        case str() if isinstance(place.type, Scalar | Value):
            text = place.value
            yield [(text + "a" * size)[: size - 1] + "z" for size in _sizes(_BYTES, numbers)]
            yield [(text + ASTRAL * size)[:size] for size in _sizes(_BYTES // 4, numbers)]
        case bytes() if place.type in (Scalar("bytes"), Value()):
            period = bytes(range(_PERIOD))
            yield [(period * (size // _PERIOD + 1))[:size] for size in _sizes(_BYTES, numbers)]
        case list() if place.value and type(place.value[0]) is float:
            for floats in _many_floats(place.value[0], _dtype_inside(place.type)):
                yield [floats[:size] for size in _sizes(_ITEMS, numbers)]
        case list() if place.value and isinstance(place.value[0], dict):
            yield from _many(place.value[0], _inner(place.type), _sizes(_STRUCTS, numbers))
        case list() if place.value:
            first = place.value[0]
            yield from _many(first, _inner(place.type), _sizes(_most(first), numbers))
        case dict() if place.value and not isinstance(place.type, Struct):
            key = min(place.value, key=lambda key: (len(printed(place.value[key])), key))  # a short item costs least
            item, kind = place.value[key], _dtype_inside(place.type)
            most = _most(item)
            others = (some for some, *_ in _many(item, _inner(place.type), (most,)))
            for some in _many_floats(item, kind) if type(item) is float else others:
                yield [
                    {**place.value, **{f"{key}{k}": one for k, one in enumerate(some[:size])}}
                    for size in _sizes(most, numbers)
                ]


def _growable(place: Place) -> Iterator[tuple[str, Place, Callable[[Any], Any]]]:
    """The place, and of a CBOR item in its bytes the item itself and the first part of every kind: each with a name,
    and with what makes a value of the place from a grown part."""
    # One self-describing value of each Python type is enough.
    name = type(place.value).__name__ if isinstance(place.type, Value) else place.key
    yield name, place, lambda grown_value: grown_value
    if type(place.value) is bytes and (item := item_in(place.value)) is not None:
        for part in (Place((), "", Value(), item[0]), *distinct_places(Value(), item[0])):
            if part.is_there:
                yield f"{name}/{type(part.value).__name__}", part, partial(with_part, item[0], part.path)


def _most(item: Any) -> int:
    """How often an item comes in the largest list or map."""
    return _STRUCTS if isinstance(item, dict | list | tuple) and len(printed(item)) > _SHORT else _ITEMS


def _many(item: Any, type_: Type, sizes: Iterable[int]) -> Iterator[list[Any]]:
    """Lists of an item, so many times: made different by a number each, then all equal."""
    some = [*sizes]
    yield [[_numbered(item, k, type_) for k in range(size)] for size in some]
    yield [[item] * size for size in some]


def _inner(type_: Type) -> Type:
    """The type of the items of a list or map."""
    return type_.item if isinstance(type_, ListOf | MapOf) else Value()


def _many_floats(item: float, dtype: str) -> Iterator[list[float]]:
    """Different floats, whose sum depends on the order of adding: of the item's sign, none larger; then of both signs.

    If a guard refuses one sign, the first list is left.
    """
    top = item if 0 < abs(item) < math.inf else 1.0
    parts = [((k * _STRIDE % _ITEMS + 1) / _ITEMS) ** 3 for k in range(_ITEMS)]
    some = [float(np.dtype(dtype).type(top * part)) for part in parts]
    yield some
    yield [-one if k % 2 else one for k, one in enumerate(some)]


def _numbered(item: Any, number: int, type_: Type) -> Any:
    """An item made different by a number: a text, an integer, a struct, map or list with those; any other as it is.

    If the type has fewer numbers than there are items, they come again.
    """
    match item:
        case bool():
            return item
        case int():
            found = item + number if item < 2**31 else item - number
            low, high = INTEGER_RANGES[type_.name] if isinstance(type_, Scalar) else (found, found)
            return found if low <= found <= high else low + found % (high - low + 1)
        case str() if not isinstance(type_, Enum):
            return f"{item}{number}"
        case dict():
            fields = {one.name: one.type for one in type_.fields} if isinstance(type_, Struct) else {}
            inner = _inner(type_)
            return {
                name: part if isinstance(part, dict | list) else _numbered(part, number, fields.get(name, inner))
                for name, part in item.items()
            }
        case [bool() | int() | str() as first, *others]:
            return [_numbered(first, number, _inner(type_)), *others]
    return item


def _dtype_inside(type_: Type) -> str:
    """The type of the floats in a list or map."""
    inner = _inner(type_)
    return inner.name if isinstance(inner, Scalar) and inner.name in FLOAT_BYTES else "float64"
