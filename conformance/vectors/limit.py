"""Groups beside a limit: a text, byte string or list made just as long as a guard allows, and one longer.

Texts are made of one-byte, two-byte and astral letters, so that bytes, characters and UTF-16 units are told apart
whatever the guard counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from conformance.contract.limit import BYTES, SizeLimit, size_limits
from conformance.contract.types import ListOf, MapOf, Scalar, Value
from conformance.vectors.group import Expansion
from conformance.vectors.question import Asked, Question
from conformance.vectors.typepath import UnknownPath, type_at, value_at

_LETTERS: Final = {"one-byte": "a", "two-byte": "\u00e9", "astral": "\U0001f600"}
_LONG: Final = 8192  # a longer text is made of two-byte letters alone: each case costs its length in the corpus
_TRIES: Final = 8  # a length inside a CBOR head changes the head's own
Make = Callable[[int, int], Any]  # so many letters, and so many of the shortest


def beside_limit(expansion: Expansion) -> Iterator[Question]:
    """The cases of a `limit` group: what stands at `grow`, as long as the guard allows and one longer."""
    makers: list[tuple[str, Make]] = []
    for _ in expansion.attempt(lambda: makers.extend(_makers(expansion))):
        pass
    for name, make in makers:
        for side, more in (("longest", 0), ("one-more", 1)):
            yield from expansion.attempt(
                lambda name=name, make=make, side=side, more=more: _question(  # type: ignore[misc]
                    expansion, f"{name}{side}", make, more
                )
            )
        if name == "astral-" and _counts_bytes(expansion):
            yield from expansion.attempt(partial(_in_units, expansion, make))


def _in_units(expansion: Expansion, make: Make) -> Question | None:
    """Astral letters one UTF-16 unit beyond a limit in bytes: fewer letters than it allows, and more units."""
    most, place = _limit(expansion).most, expansion.place / "grow"
    draft = expansion.draft()
    draft.set(expansion.body["grow"], make(most // 2 + 1, 0), place)
    asked = Asked("call", expansion.contract.operator, draft.wire(place), None)
    why = f"{expansion.group.why} {most // 2 + 1} letters beyond U+FFFF have more UTF-16 units than {most}."
    return expansion.question("astral-one-unit-more", (asked,), expansion.place, {"why": why})


def _counts_bytes(expansion: Expansion) -> bool:
    return any(one.unit == BYTES for one in expansion.contract.requires if one.id == expansion.body["limit"])


def _limit(expansion: Expansion) -> SizeLimit:
    place, wanted = expansion.place / "limit", expansion.body["limit"]
    guard = next((one for one in expansion.contract.requires if one.id == wanted), None)
    found = list(size_limits(guard.expression.text)) if guard is not None else []
    if len(found) != 1:
        hint = "name a guard that compares one `size(...)` with a number, such as `size(bytes(name)) <= 4096`"
        raise place.problem("C008", f"{wanted!r} is no guard that bounds one size", hint)
    return found[0]


def _makers(expansion: Expansion) -> Iterator[tuple[str, Make]]:
    try:
        type_ = type_at(expansion.contract.inputs, expansion.body["grow"])
    except UnknownPath as error:
        raise (expansion.place / "grow").problem("C008", f"unknown path {error.path!r}", error.hint) from None
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
    held = value_at(draft.wire(expansion.place), expansion.body["grow"])
    if isinstance(held, dict):
        item = next(iter(held.values()))
        return {f"k{k}": item for k in range(count)}
    return [held[0]] * count


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
    raise place.problem("C015", f"{limit.measure} does not reach {wanted} by what stands at `grow`", hint)
