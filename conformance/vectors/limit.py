"""Groups on both sides of a limit, and leaves whose value is raised or lowered step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Any, Final

from conformance.codec.scalar import WIDE
from conformance.contract.syntax import BYTES, SizeLimit, size_limits
from conformance.contract.types import INTEGER_RANGES, ListOf, MapOf, Scalar, Value
from conformance.vectors.case import Asked, Question
from conformance.vectors.compact import MARK, is_recipe, recipe
from conformance.vectors.group import Expansion
from conformance.vectors.leaf import Spot, value_at

_ANY: Final = (-(2**63), 2**64 - 1)  # of an integer inside a self-describing value
_LONGEST: Final = 5_000  # letters, bytes or items that are turned
_LEAST: Final = 300  # to which a shorter one is turned, too
_STEPS: Final = (-11, -4, -3, -2, -1, 1, 2, 3, 4, 11)  # limits are off by one, two, three or ten
_GROWN: Final = ("text", "noise", "numbers", "list")  # recipes whose count is a length
_POWERS: Final = (4, 7, 8, 15, 16, 24, 31, 32, 48, 53, 62, 63)
_LENGTHS: Final = (0, 1, 3, 8, 16, 31, 32, 33, 64, 128, 255, 256, 257)


@dataclass(frozen=True, slots=True)
class Dial:
    """What a leaf is turned to; `now` is its value or length, `low` and `high` its bounds."""

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
        """Where to look first: beside its value, the ends, and what programs are limited to; nearest first."""
        now = self.now
        found = {self.low, self.high, 2 * now, now // 2, 0, 1, *(now + step for step in _STEPS)}
        if not is_recipe(self.spot.value):
            found |= {*_LENGTHS} if self.counts else {-1, now + 100, *(2**power for power in _POWERS)}
        inside = [place for place in found - {now} if self.low <= place <= self.high]
        return sorted(inside, key=lambda place: (abs(place - now), place))


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
            if (name in (*WIDE, "integer") and isinstance(value, str)) or type(value) is int:
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
    """Values of a leaf that are nearly its own, beyond those of its dial: one part differs."""
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


_LETTERS: Final = {"one-byte": "a", "two-byte": "\u00e9", "astral": "\U0001f600"}
_LONG: Final = 8192  # a longer text is made of two-byte letters alone: each case costs its length in the corpus
_TRIES: Final = 8  # a length inside a CBOR head changes the head's own
Make = Callable[[int, int], Any]  # so many letters, and so many of the shortest


def beside_limit(expansion: Expansion) -> Iterator[Question]:
    """The cases of a `limit` group: the value at `grow`, as long as the guard allows and one longer."""
    makers: list[tuple[str, Make]] = []
    with expansion.noting():
        makers.extend(_makers(expansion))
    limited = expansion.body["limit"]
    in_bytes = any(one.unit == BYTES for one in expansion.contract.requires if one.id == limited)
    for name, make in makers:
        for side, more in (("longest", 0), ("one-more", 1)):
            yield from expansion.attempt(partial(_question, expansion, f"{name}{side}", make, more))
        if name == "astral-" and in_bytes:
            yield from expansion.attempt(partial(_in_units, expansion, make))


def _in_units(expansion: Expansion, make: Make) -> Question | None:
    """Astral letters one UTF-16 unit beyond a limit in bytes: fewer letters than it allows, and more units."""
    most, place = _limit(expansion).most, expansion.place / "grow"
    draft = expansion.draft()
    draft.set(expansion.body["grow"], make(most // 2 + 1, 0), place)
    asked = Asked("call", expansion.contract.operator, draft.wire(place), None)
    why = f"{expansion.group.why} {most // 2 + 1} letters beyond U+FFFF have more UTF-16 units than {most}."
    return expansion.question("astral-one-unit-more", (asked,), expansion.place, {"why": why})


def _limit(expansion: Expansion) -> SizeLimit:
    place, wanted = expansion.place / "limit", expansion.body["limit"]
    guard = next((one for one in expansion.contract.requires if one.id == wanted), None)
    found = list(size_limits(guard.expression.text)) if guard is not None else []
    if len(found) != 1:
        hint = "name a guard that compares one `size(...)` with a number, such as `size(bytes(name)) <= 4096`"
        raise place.problem("C008", f"{wanted!r} is no guard that bounds one size", hint)
    return found[0]


def _makers(expansion: Expansion) -> Iterator[tuple[str, Make]]:
    path = expansion.body["grow"]
    type_ = (expansion.place / "grow").typed(expansion.contract.inputs, path, f"unknown path {path!r}")
    if isinstance(type_, Value) or type_ == Scalar("string"):
        for name, letter in _LETTERS.items():
            if name == "two-byte" or _limit(expansion).most <= _LONG:
                yield f"{name}-", partial(_text, letter, isinstance(type_, Value))
    elif isinstance(type_, ListOf | MapOf):
        yield "", partial(_items, expansion)
    else:
        yield "", _zeros


def _text(letter: str, tagged: bool, letters: int, short: int) -> Any:
    text = letter * letters + "a" * short
    return {"text": text} if tagged else text


def _zeros(letters: int, short: int) -> str:
    return "00" * (letters + short)


def _items(expansion: Expansion, letters: int, short: int) -> Any:
    count = letters + short
    draft = expansion.draft()
    whole = value_at(draft.wire(expansion.place), expansion.body["grow"])
    if not whole:
        path = expansion.body["grow"]
        hint = f"add `set: {{{path}: ...}}` to the group, with one item, which is then repeated"
        raise (expansion.place / "grow").problem("C015", f"{path} is empty: no item of it can be repeated", hint)
    if isinstance(whole, dict):
        item = next(iter(whole.values()))
        return {f"k{k}": item for k in range(count)}
    return [whole[0]] * count


def _question(expansion: Expansion, slug: str, make: Make, more: int) -> Question:
    limit, place = _limit(expansion), expansion.place / "grow"
    wanted = limit.most + more
    measure = expansion.contract.environment.compile(limit.measure, None)
    forms = expansion.codebook[expansion.contract.operator].inputs

    def measured(letters: int, short: int) -> int:
        draft.set(expansion.body["grow"], make(letters, short), place)
        native = forms.to_native(draft.wire(place))
        size = measure.evaluate(expansion.contract.environment.bind(native))
        if not isinstance(size, int):
            raise place.problem("C015", f"{limit.measure} has no value for a text of {letters + short} letters")
        return size

    draft = expansion.draft()
    width = max(1, measured(9, 0) - measured(8, 0))
    letters, short = 0, 0
    for _ in range(_TRIES):
        short += wanted - measured(letters, short)
        letters, short = max(0, letters + short // width), short % width
        if measured(letters, short) == wanted:
            asked = Asked("call", expansion.contract.operator, draft.wire(place), None)
            said = f"{wanted} {'is one too many' if more else 'are allowed'}, and {limit.measure} counts them."
            return expansion.question(slug, (asked,), expansion.place, {"why": f"{expansion.group.why} {said}"})
    hint = "name a text, byte string or list of the inputs of which the guard's size depends"
    raise place.problem("C015", f"{limit.measure} does not reach {wanted} by the value at `grow`", hint)
