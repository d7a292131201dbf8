"""A leaf as a dial: a number, or the length of a text, of bytes or of a list, that can be turned step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

from conformance.contract.types import INTEGER_RANGES, ListOf, Scalar
from conformance.vectors.leaf import Spot
from conformance.vectors.recipe import MARK, is_recipe, recipe

_ANY: Final = (-(2**63), 2**64 - 1)  # of an integer inside a self-describing value
_WIDE: Final = frozenset({"uint64", "int64", "integer"})  # decimal texts on the wire
_LONGEST: Final = 5_000  # letters, bytes or items that are turned
_LEAST: Final = 300  # to which a shorter one is turned, too
_STEPS: Final = (-11, -4, -3, -2, -1, 1, 2, 3, 4, 11)  # limits are off by one, two, three or ten
_GROWN: Final = ("text", "noise", "numbers", "list")  # recipes whose count is a length
_POWERS: Final = (4, 7, 8, 15, 16, 24, 31, 32, 48, 53, 62, 63)
_LENGTHS: Final = (0, 1, 3, 8, 16, 31, 32, 33, 64, 128, 255, 256, 257)


@dataclass(frozen=True, slots=True)
class Dial:
    """What a leaf is turned to; `now` is where it stands, `low` and `high` its ends."""

    spot: Spot
    now: int
    low: int
    high: int
    counts: bool  # a length, not a number

    def value(self, place: int) -> Any:
        """The wire value of the leaf with the dial at a place."""
        if is_recipe(self.spot.value):
            body = {name: part for name, part in self.spot.value[MARK].items() if name != "sha256"}
            return recipe(**{**body, "count": place})
        if not self.counts:
            return str(place) if isinstance(self.spot.value, str) else place
        match self.spot.type:
            case Scalar("bytes"):
                return "".join(islice(cycle(_pairs(self.spot.value) or ["00"]), place))
            case Scalar():
                return "".join(islice(cycle(self.spot.value or "a"), place))
        return list(islice(cycle(self.spot.value), place))

    def places(self) -> list[int]:
        """Where to look first: beside where it stands, the ends, and what programs are limited to; nearest first."""
        now = self.now
        found = {self.low, self.high, 2 * now, now // 2, 0, 1, *(now + step for step in _STEPS)}
        if is_recipe(self.spot.value):
            return sorted((place for place in found - {now} if self.low <= place <= self.high), key=self._away)
        found |= {*_LENGTHS} if self.counts else {-1, now + 100, *(2**power for power in _POWERS)}
        inside = [place for place in found - {now} if self.low <= place <= self.high]
        return sorted(inside, key=self._away)

    def _away(self, place: int) -> tuple[int, int]:
        return abs(place - self.now), place


def dial_of(spot: Spot) -> Dial | None:
    """The dial of a leaf occurrence; None where it has none."""
    value = spot.value
    if is_recipe(value):
        body = value[MARK]
        count = int(body["count"])
        return Dial(spot, count, 0, 2 * count, counts=True) if body["generator"] in _GROWN else None
    match spot.type:
        case Scalar(name) if name in INTEGER_RANGES or name == "integer":
            low, high = INTEGER_RANGES.get(name, _ANY)
            if (name in _WIDE and isinstance(value, str)) or type(value) is int:
                return Dial(spot, int(value), low, high, counts=False)
        case Scalar("bytes") if isinstance(value, str) and len(value) <= 2 * _LONGEST:
            return Dial(spot, len(value) // 2, 0, _grown(len(value) // 2), counts=True)
        case Scalar("string") if isinstance(value, str) and len(value) <= _LONGEST:
            return Dial(spot, len(value), 0, _grown(len(value)), counts=True)
        case ListOf() if isinstance(value, list) and 0 < len(value) <= _LONGEST:
            return Dial(spot, len(value), 0, _grown(len(value)), counts=True)
    return None


def _grown(length: int) -> int:
    return max(_LEAST, 2 * length)


def beside(spot: Spot) -> Iterator[Any]:
    """Values of a leaf that are nearly what stands there, beyond those of its dial: one part of it is another."""
    value = spot.value
    match spot.type:
        case Scalar("bool"):
            yield not value
        case Scalar("string") if isinstance(value, str):
            yield from (value.swapcase(), value[1:], value[::-1], f"{value} ", f"{value}\u00e9", value.replace("_", ""))
        case Scalar(name) if isinstance(value, str) and name.startswith("bytes"):
            yield from _flipped(value)
        case ListOf() if isinstance(value, list):
            yield from (value[1:], value[::-1], [*value, *value[:1]], [*value[1:2], *value[:1], *value[2:]])
    if isinstance(value, Mapping) and not isinstance(spot.type, Scalar):
        for name in list(value)[:4]:
            yield {key: one for key, one in value.items() if key != name}


def _pairs(text: str) -> list[str]:
    return [text[k : k + 2] for k in range(0, len(text), 2)]


def _flipped(text: str) -> Iterator[str]:
    """The bytes with one bit of one of them turned: all of a digest, the ends of a longer text."""
    size = len(text) // 2
    for at in range(size) if size <= 32 else (*range(9), size // 2, *range(size - 9, size)):
        for bit in (0, 7) if at in (0, size - 1) else (at % 8,):
            changed = int(text[2 * at : 2 * at + 2], 16) ^ 1 << bit
            yield f"{text[: 2 * at]}{changed:02x}{text[2 * at + 2 :]}"
