"""Inputs with other names: each is changed in every place of the input at once.

If a name is changed in one place alone, a guard refuses it where another part of the input uses it. So only these
inputs show a backend that sorts, folds, trims or cuts names, or takes one for another that is nearly the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from conformance.codec.selfdescribing import plain_map
from conformance.contract.types import Value, names_inside
from conformance.trial.fuzz.seed import InputPlaces
from conformance.trial.generator import Native
from conformance.vectors.place import ASTRAL, COMPOSED, DECOMPOSED, HALFWIDTH, OTHER_DIGITS, WIDE

_MOST_INPUTS: Final = 6  # that have other names than those before
_MOST_NAMES: Final = 4  # of one input
_LONGEST: Final = 100  # letters of a name
_LONGER: Final = (30, 260, 600, 9_000)  # letters more
_OTHERS: Final = ("0", "10", "9", "null", "__proto__")  # what any name becomes, so they are not renamed themselves


def renamings(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """Some inputs, and each with one of its names given another spelling everywhere."""
    for native, names in _named(inside, natives):
        yield native
        for name in names:
            yield from (renamed_everywhere(native, {name: other}) for other in _spellings(name))


def twins(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """Some inputs with one of their names made nearly equal to another one, everywhere; and two names exchanged."""
    for native, names in _named(inside, natives, least=2):
        for one, other in pairwise(names):
            yield from (renamed_everywhere(native, {other: near}) for near in _near(one) if near not in names)
            yield renamed_everywhere(native, {one: f"{ASTRAL}{one}", other: f"{HALFWIDTH}{other}"})
            yield renamed_everywhere(native, {one: other, other: one})


def renamed_everywhere(value: Any, others: Mapping[str, str]) -> Any:
    """A native value in which every text that is a key of `others` is the text under it; keys of maps too."""
    match value:
        case str():
            return others.get(value, value)
        case Mapping():
            return {others.get(key, key): renamed_everywhere(one, others) for key, one in value.items()}
        case list():
            return [renamed_everywhere(one, others) for one in value]
        case tuple():
            return plain_map([tuple(renamed_everywhere(part, others) for part in pair) for pair in value])
    return value


def _named(inside: InputPlaces, natives: Iterable[Native], least: int = 1) -> Iterator[tuple[Native, list[str]]]:
    """The first inputs that have as many names, each with its names; not two inputs with the same names."""
    seen: set[tuple[str, ...]] = set()
    for native in natives:
        names = _names(inside, native)
        if len(names) >= least and (known := tuple(sorted(names))) not in seen:
            seen.add(known)
            yield native, names
            if len(seen) == _MOST_INPUTS:
                return


def _names(inside: InputPlaces, native: Native) -> list[str]:
    """The texts and the keys of maps that an input has in more than one place, in the order of their first place.

    The names of fields and the choices of enums are none: another text there is no value of the type.
    """
    kept = {*names_inside(inside.type)}
    counts: Counter[str] = Counter()
    for place in inside.all(native):
        if type(place.value) is str:
            counts[place.value] += 1
        step = place.path[-1]
        if isinstance(step, str) and (place.key.endswith(".*") or isinstance(place.type, Value)):
            counts[step] += 1
    many = (text for text, count in counts.items() if count > 1 and text not in kept and text not in _OTHERS)
    return [text for text in many if 0 < len(text) <= _LONGEST][:_MOST_NAMES]


def _spellings(name: str) -> Iterator[str]:
    yield from (name.swapcase(), f"{name}\0", f" {name}", f"{name}{ASTRAL}", f"{HALFWIDTH}{name}", f"~{name}")
    yield from (f"!{name}", f"{name}{COMPOSED}", f"{name}{DECOMPOSED}")
    yield from (name + "k" * count for count in _LONGER)
    yield f"{name}{'k' * (_LONGER[-1] // 2)}j".ljust(len(name) + _LONGER[-1], "k")  # differs in the middle alone
    yield from (*_OTHERS, f"{name}/x", f"{name}.x", f"{name}:x", f'{name}"', f"{name}\\")


def _near(name: str) -> Iterator[str]:
    yield from (name.swapcase(), name.upper(), f"{name} ", f"{name}\0", f"{name}\0x", f"{name}\ufeff", f"{name}\u0301")
    yield from (name.translate(WIDE), f"0{name}", name[:-1], name.translate(OTHER_DIGITS))
