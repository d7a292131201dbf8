"""Inputs at the limits of a contract: at the numbers that it mentions, and on both sides of every guard.

Only such an input shows a limit that is off by one, or measured in another unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from conformance.contract.types import INTEGER_RANGES, ListOf, Scalar
from conformance.trial.fuzz.seed import ACCEPTED, InputPlaces
from conformance.trial.generator import Native
from conformance.trial.turns import by_turns
from conformance.vectors.place import Place, put

_STEPS: Final = (0, 1, -1)
_LONGEST: Final = 5_000  # parts of a value at a size that the contract mentions
_LETTERS: Final = ("a", "\u00e9")  # one byte of UTF-8 each, and two
_TRIED: Final = 4  # accepted inputs for one guard and leaf
Side = Callable[[Native], str | None]


def at_numbers(inside: InputPlaces, natives: Iterable[Native], numbers: Sequence[int]) -> Iterator[Native]:
    """For every leaf, the first of these inputs that has it, with each of the numbers there, and one more and one less:
    as the integer, or as the number of letters, bytes or items.

    The first number of every leaf comes before the second of any.
    """
    found: dict[str, Iterator[Native]] = {}
    for native in natives:
        for place in inside.first(native):
            if place.is_there and place.key not in found:
                found[place.key] = _at_each(native, place, numbers)
    yield from by_turns(found.values())


def _at_each(native: Native, place: Place, numbers: Sequence[int]) -> Iterator[Native]:
    for number in (number + step for number in numbers for step in _STEPS):
        for value in _of_number(place, number):
            yield put(native, place.path, value)


def _of_number(place: Place, number: int) -> Iterator[Any]:
    """The values of a place that a number describes."""
    match place.type:
        case Scalar(name) if name in INTEGER_RANGES:
            low, high = INTEGER_RANGES[name]
            if low <= number <= high:
                yield number
        case _ if not 1 < number <= _LONGEST:
            return
        case Scalar("string"):
            yield from ((place.value + letter * number)[:number] for letter in _LETTERS)
        case Scalar("bytes"):
            yield (place.value + bytes(number))[:number]
        case ListOf() if place.value:
            yield (place.value * (number // len(place.value) + 1))[:number]


def beside_guards(inside: InputPlaces, by_side: Mapping[str, Sequence[Native]], side: Side) -> Iterator[Native]:
    """For every guard and every integer with which it refuses an accepted input, the two neighbouring integers of which
    the guard refuses one.

    `side` tells the guard that refuses an input (ACCEPTED for none).
    """
    accepted = by_side.get(ACCEPTED, ())
    for guard, refused in by_side.items():
        if guard != ACCEPTED:
            for place in inside.first(refused[0]):
                if type(place.value) is int:
                    yield from _between(inside, accepted, place, partial(_is_on, side, guard))


def _is_on(side: Side, guard: str, native: Native) -> bool:
    return side(native) == guard


def _between(
    inside: InputPlaces, accepted: Sequence[Native], wrong: Place, is_refused: Callable[[Native], bool]
) -> Iterator[Native]:
    """The neighbouring integers at the leaf of `wrong`, of which one is refused, in the first input that has such."""
    for native in accepted[:_TRIED]:
        right = next((one for one in inside.first(native) if one.key == wrong.key and type(one.value) is int), None)
        if right is None or right.value == wrong.value or not is_refused(put(native, right.path, wrong.value)):
            continue
        good, bad = right.value, wrong.value
        while abs(bad - good) > 1:
            middle = (good + bad) // 2
            good, bad = (good, middle) if is_refused(put(native, right.path, middle)) else (middle, bad)
        yield from (put(native, right.path, number) for number in (good, bad))
        return
