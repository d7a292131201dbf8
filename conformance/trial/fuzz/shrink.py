"""A wrong call made small: one place after the other, the simplest value that is still answered wrongly.

Hypothesis shrinks the choices behind a call and stops where two of them hang together, as in a remainder; a call is
judged by its values, so they are what is made small here. Nothing is drawn: the same call shrinks to the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from conformance.contract.types import FIXED_BYTES, Enum, ListOf, Scalar, Struct, Tensor, Type
from conformance.trial.fuzz.seed import Native
from conformance.vectors.place import ABSENT, Path, Place, places, put

_SMALL: Final = 9  # numbers from 0 on that are tried before anything else
_STEPS: Final = range(1, 9)  # times a power of two: what is taken away from a number, so that a remainder can stay
_PLACES: Final = 8  # of an array that are zeroed one by one
_BYTES: Final = 64  # of a long value that are zeroed one by one
_MOST: Final = 4000  # calls

FirstWrong = Callable[[Sequence[Native]], int | None]  # the place of the first input that is answered wrongly


def shrink(native: Native, type_: Struct, first_wrong: FirstWrong) -> Native:
    """The input, answered wrongly, with every place as simple as the others allow."""
    left = _MOST
    improved = True
    while improved:
        improved = False
        now = _by_path(type_, native)
        for path in list(now):
            while left > 0 and path in now:
                candidates = [put(native, path, value) for value in _simpler(now[path])]
                found = first_wrong(candidates)
                left -= len(candidates) if found is None else found + 1
                if found is None:
                    break
                native, improved = candidates[found], True
                now = _by_path(type_, native)
    return native


def _by_path(type_: Struct, native: Native) -> dict[Path, Place]:
    return {place.path: place for place in places(type_, native) if place.is_there}


def _simpler(place: Place) -> list[Any]:
    return [*([ABSENT] if place.optional else []), *simpler(place.type, place.value)]


def simpler(type_: Type, value: Any) -> list[Any]:
    """Simpler values of a type, the simplest first; each makes a number, a length or a place in a list less."""
    match type_:
        case Enum(values):
            return list(values[: values.index(value)])
        case Scalar(name) if name in FIXED_BYTES:
            return _zeroed(value)
        case Struct():
            return _simpler_fields(type_, value)
        case Tensor():
            return _emptied(value)
        case ListOf(item):
            dropped = [value[:k] + value[k + 1 :] for k in range(len(value))]
            return [*_cut(value), *dropped, *_simpler_elements(item, value)]
    match value:
        case bool():
            return [False] if value else []
        case int():
            return _smaller(value)
        case float():
            return [simple for simple in (0.0, 1.0) if simple < abs(value)]
        case bytes():
            return [*_cut(value), *_zeroed(value)]
        case str():
            return _cut(value)
        case list() | tuple():
            return [*_cut(value), *(type(value)((*value[:k], *value[k + 1 :])) for k in range(len(value)))]
        case dict():
            return [{name: value[name] for name in value if name != key} for key in sorted(value)]
    return []


def _simpler_fields(struct: Struct, value: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for member in struct.fields:
        if member.name not in value:
            continue
        if member.optional:
            found.append({name: held for name, held in value.items() if name != member.name})
        found += [{**value, member.name: one} for one in simpler(member.type, value[member.name])]
    return found


def _simpler_elements(item: Type, value: list[Any]) -> list[Any]:
    """The list with one simpler element; numbers and bits in a list are small enough as they are."""
    if isinstance(item, Scalar | Enum):
        return []
    return [[*value[:k], one, *value[k + 1 :]] for k in range(len(value)) for one in simpler(item, value[k])]


def _emptied(array: np.ndarray[Any, Any]) -> list[Any]:
    """The array with zeros, or with one zero more at its first places."""
    found = [np.zeros_like(array)] if array.any() else []
    for place in np.flatnonzero(array)[:_PLACES]:
        one = array.copy()
        one.reshape(-1)[place] = 0
        found.append(one)
    return found


def _smaller(number: int) -> list[int]:
    size = abs(number)
    sizes = set(range(min(_SMALL, size)))
    power = 1
    while power <= size:
        sizes |= {size - step * power for step in _STEPS if step * power <= size}
        power *= 2
    sign = 1 if number >= 0 else -1
    return [sign * one for one in sorted(sizes)]


def _zeroed(text: bytes) -> list[bytes]:
    zeros = bytes(len(text))
    single = [text[:k] + b"\0" + text[k + 1 :] for k in range(min(len(text), _BYTES)) if text[k]]
    return [zeros, *single] if text != zeros else []


def _cut(sequence: Any) -> list[Any]:
    return [sequence[:length] for length in sorted({0, len(sequence) // 2, len(sequence) - 1})] if sequence else []
