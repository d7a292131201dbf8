"""The calls that one operator is fuzzed with, drawn before any is asked: they depend on contract and seed alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations, islice, repeat, zip_longest
from random import Random
from typing import Any, Final

from conformance.codec.codebook import OperatorForms
from conformance.contract.types import INTEGER_RANGES, Scalar, Struct, Value
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.near_bytes import degenerate_items
from conformance.trial.fuzz.neighbours import neighbours
from conformance.trial.fuzz.seed import (
    ACCEPTED,
    LONGEST,
    Bounds,
    Places,
    Seeds,
    Vocabulary,
    printed,
    vocabulary_of,
)
from conformance.trial.fuzz.shrink import Choices, remade
from conformance.trial.fuzz.versions import versions
from conformance.trial.generator import Native, generator_of
from conformance.vectors.place import Path, Place, at, degenerates, put

Kind = tuple[str, bool, bool]


def listed(inside: Places, natives: Iterable[Native]) -> Iterator[Native]:
    """Every leaf of the first of these inputs that has it, with each degenerate value of its type.

    The first value of every leaf comes before the second of any: whoever takes only some leaves out no leaf.
    """
    found: dict[Kind, Iterator[tuple[Native, Path, Any]]] = {}
    for native in natives:
        for kind, path, values in _leaves(inside, native):
            if kind not in found:
                found[kind] = zip(repeat(native), repeat(path), values, strict=False)
    for native, path, value in filter(None, chain.from_iterable(zip_longest(*found.values()))):
        yield put(native, path, value)


def _leaves(inside: Places, native: Native) -> Iterator[tuple[Kind, Path, Iterator[Any]]]:
    """Every leaf of an input, with where it is and its degenerate values; parts of a CBOR item are leaves too."""
    for place in inside.first(native):
        yield _kind(place), place.path, degenerates(place)
        if type(place.value) is bytes:
            for part, values in degenerate_items(place.value):
                name, there, full = _kind(part)
                yield (f"{place.key}/{name}", there, full), place.path, values
    # Whoever goes wrong behind the first item of a list is right about the first.
    for place in inside.last(native):
        name, there, full = _kind(place)
        yield (f"{name}$", there, full), place.path, degenerates(place)


def _kind(place: Place) -> Kind:
    """What of a place is worth its own degenerate values: its leaf, and whether it has a value and content."""
    size = getattr(place.value, "size", None)  # of an array, whose truth is another matter
    return place.key, place.is_there, bool(place.value if size is None else size)


_BYTES: Final = 2**20 + 1  # of a text or a byte string; the frozen sizes end at 2^16 + 1
_ITEMS: Final = 4_999  # of a list or map, all different, where those of the frozen sizes are alike
_PERIOD: Final = 251  # a prime, so that no block of bytes is like the one before


def large(inside: Places, natives: Iterable[Native]) -> Iterator[Native]:
    """For every leaf that can be long, the first of these inputs that has it, with the leaf grown."""
    seen: set[str] = set()
    for native in natives:
        for place in inside.first(native):
            # Every part of a self-describing value has the kind of its leaf.
            name = type(place.value).__name__ if isinstance(place.type, Value) else place.key
            if name not in seen and (grown := _grown(place)) is not None:
                seen.add(name)
                yield put(native, place.path, grown)


def _grown(place: Place) -> Any:
    match place.value:
        case str() if isinstance(place.type, Scalar | Value):
            return (place.value + "a" * _BYTES)[: _BYTES - 1] + "z"
        case bytes() if place.type in (Scalar("bytes"), Value()):
            return (bytes(range(_PERIOD)) * (_BYTES // _PERIOD + 1))[:_BYTES]
        case list() if place.value and not isinstance(place.value[0], dict):
            return [_numbered(place.value[0], k) for k in range(_ITEMS)]
        case dict() if place.value and not isinstance(place.type, Struct):
            key = min(place.value)
            return {**place.value, **{f"{key}{k}": place.value[key] for k in range(_ITEMS)}}
    return None


def _numbered(item: Any, number: int) -> Any:
    """The item as the one of a number, where it is a text or a number."""
    match item:
        case bool():
            return item
        case int():
            return item + number if item < 2**31 else item - number
        case str():
            return f"{item}{number}"
    return item


_SCALES: Final = (2**53, 2**32, 2**63)
_APART: Final = 1  # two numbers meet where they are no further apart
_SEEDS: Final = 4  # inputs in which the same leaves are moved
_TOGETHER: Final = 3  # leaves that are moved together: an index, the size that bounds it, the number of all
_TOPS: Final = (2**32 - 5, 2**32 + 1, 2**53 + 1, 2**63 + 1)  # no powers of two, which hide a product that wraps


def related(inside: Places, natives: Iterable[Native]) -> Iterator[tuple[Native, ...]]:
    """For every two leaves whose numbers meet, and an input of them: both far up, equal or one beside the other, and
    either of them 2^32 above the other."""
    for native, (one, other) in _meeting(inside, natives, 2):
        yield tuple(_moved(native, one, other))


def together(inside: Places, natives: Iterable[Native]) -> Iterator[Native]:
    """For every three leaves whose numbers meet, and an input of them: all three far up, as far apart as before."""
    for native, some in _meeting(inside, natives, _TOGETHER):
        most = max(place.value for place in some)
        for top in _TOPS:
            if all(_fits(place, place.value + top - most) for place in some):
                moved = native
                for place in some:
                    moved = put(moved, place.path, place.value + top - most)
                yield moved


def _meeting(inside: Places, natives: Iterable[Native], count: int) -> Iterator[tuple[Native, tuple[Place, ...]]]:
    """Every so many leaves whose numbers meet, in some inputs in which they do."""
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
            if _fits(one, first) and _fits(other, second):
                yield put(put(native, one.path, first), other.path, second)
    for place, number in ((one, other.value + 2**32), (other, one.value + 2**32)):
        if _fits(place, number):
            yield put(native, place.path, number)


def _is_number(place: Place) -> bool:
    return place.is_there and isinstance(place.type, Scalar) and place.type.name in INTEGER_RANGES


def _fits(place: Place, number: int) -> bool:
    assert isinstance(place.type, Scalar)
    low, high = INTEGER_RANGES[place.type.name]
    return low <= number <= high


OPENING, DEGENERATE, GROWN, DRAWN = "opening", "degenerate", "grown", "drawn"  # why a call is asked
_SUCCEEDING: Final = 0.7  # of the drawn calls, at least
_CHANGES: Final = (1, 1, 1, 2, 2, 3)  # places of a seed that a call changes
_TRIES: Final = 10  # candidates for one call
_GENERATED: Final = 0.5  # share of the accepted calls that start from a made input, where there is a generator
_AS_GENERATED: Final = 0.6  # share of the made inputs that are asked as they are
_MOST_DEGENERATE: Final = 600  # calls
_MOST_RELATED: Final = 150
_MOST_TOGETHER: Final = 150  # asked of the guards, which refuse most of them
_MOST_MOVED: Final = 40
_MOST_NEIGHBOURS: Final = 120
_MOST_VERSIONS: Final = 150


@dataclass(frozen=True, slots=True)
class Drawn:
    """One call: its inputs, the guard that refuses them (ACCEPTED for none), and why it is asked; the choices of a
    generator that made them."""

    side: str
    native: Native = field(repr=False)
    why: str
    choices: Callable[[], Choices] | None = field(default=None, repr=False, compare=False)


def drawn_calls(
    forms: OperatorForms, seeds: Seeds, wanted: int, number: int, bounds: Bounds | None = None
) -> tuple[Drawn, ...]:
    """The calls, no two alike: the smallest example of every side, degenerate values leaf by leaf, numbers that meet
    far up or in fewer bits, versions, then `wanted` drawn. The calls with one large leaf come last, so that a mistake
    that small calls show is found in one of them.

    The drawn ones are no frozen calls. Fewer are drawn where the contract has no more.
    """
    hand = _Hand(forms, seeds, Random(number), bounds or Bounds(forms.contract))  # noqa: S311
    calls = [*hand.opening(), *hand.degenerate(), *hand.related(), *hand.neighbours(), *hand.versions()]
    grown = [*hand.grown()]
    return (*calls, *hand.drawn(wanted), *grown)


def only_drawn(forms: OperatorForms, seeds: Seeds, wanted: int, number: int) -> tuple[Drawn, ...]:
    """Drawn calls alone, which cost a fifth of all: those behind the listed ones may differ in a few."""
    return tuple(_Hand(forms, seeds, Random(number), Bounds(forms.contract)).drawn(wanted))  # noqa: S311


class _Hand:
    """Draws calls, and remembers which were drawn."""

    def __init__(self, forms: OperatorForms, seeds: Seeds, random: Random, bounds: Bounds) -> None:
        self.contract, self.seeds, self.random = forms.contract, seeds, random
        self.bounds, self.generator = bounds, generator_of(forms.contract, forms.suite)
        self.words: Vocabulary = vocabulary_of(self.contract, seeds.all)
        self.known = {printed(native) for native in seeds.all}
        # Where the examples that a guard refuses are cheap, what is drawn there is to be cheap as well.
        self.cheap = {
            side
            for side, natives in seeds.by_side.items()
            if side != ACCEPTED and all(self.bounds.is_cheap(native) for native in natives)
        }

    def opening(self) -> Iterator[Drawn]:
        for side, natives in self.seeds.by_side.items():
            yield Drawn(side, natives[0], OPENING)

    def degenerate(self) -> Iterator[Drawn]:
        natives = listed(self.words.inside, self.seeds.by_side.get(ACCEPTED, ()))
        calls = (self.call(native, DEGENERATE) for native in natives)
        yield from islice((call for call in calls if call is not None), _MOST_DEGENERATE)

    def related(self) -> Iterator[Drawn]:
        """Equal large numbers at leaves that a guard compares; other leaves get no more than degenerate values."""
        found: list[Drawn] = []
        for natives in related(self.words.inside, self.seeds.by_side.get(ACCEPTED, ())):
            calls = [call for native in natives if (call := self.call(native, DEGENERATE)) is not None]
            if len({call.side for call in calls}) > 1:
                found += calls
            if len(found) >= _MOST_RELATED:
                break
        yield from found[:_MOST_RELATED]
        moved = together(self.words.inside, self.seeds.by_side.get(ACCEPTED, ()))
        further = (self.call(native, DEGENERATE) for native in islice(moved, _MOST_TOGETHER))
        yield from islice((call for call in further if call is not None and call.side == ACCEPTED), _MOST_MOVED)

    def neighbours(self) -> Iterator[Drawn]:
        """Two numbers of one leaf that fewer bits make one, where no guard refuses them."""
        natives = neighbours(self.words.inside, self.seeds.by_side.get(ACCEPTED, ()))
        calls = (self.call(native, DEGENERATE) for native in islice(natives, _MOST_NEIGHBOURS))
        yield from (call for call in calls if call is not None and call.side == ACCEPTED)

    def versions(self) -> Iterator[Drawn]:
        """Versions beside those that are registered."""
        natives = versions(self.words.inside, self.seeds.by_side.get(ACCEPTED, ()), self.words.words)
        calls = (self.call(native, DEGENERATE) for native in natives)
        yield from islice((call for call in calls if call is not None), _MOST_VERSIONS)

    def grown(self) -> Iterator[Drawn]:
        natives = large(self.words.inside, self.seeds.by_side.get(ACCEPTED, ()))
        calls = (self.call(native, GROWN) for native in natives)
        yield from (call for call in calls if call is not None and call.side == ACCEPTED)
        if self.generator is not None and self.generator.grown is not None:
            # A state of its own: what is drawn stays the same.
            natives = self.generator.grown(Random(self.contract.operator))  # noqa: S311
            yield from filter(None, (self.call(native, GROWN) for native in natives))

    def drawn(self, wanted: int) -> Iterator[Drawn]:
        guards = [side for side in self.seeds.by_side if side != ACCEPTED]
        refused = int(wanted * (1 - _SUCCEEDING)) if guards else 0
        near: list[Drawn] = []
        found = list(self.accepted(wanted - refused, near))
        self.random.shuffle(near)
        for k in range(min(refused, len(found)) if found else refused):
            # A third of them are calls whose seed was let through: one change away from a guard.
            call = near.pop() if near and k % 3 == 2 else self.refused(guards[(k - k // 3) % len(guards)])
            if call is not None:
                found.append(call)
        found += self.accepted(wanted - len(found), [])
        self.random.shuffle(found)
        yield from found

    def accepted(self, wanted: int, near: list[Drawn]) -> Iterator[Drawn]:
        """Calls that no guard refuses; those that one does although their seed was let through are added to `near`."""
        natives = self.seeds.by_side.get(ACCEPTED, ())
        if not natives and self.generator is None:
            return
        for k in range(wanted):
            for tried in range(_TRIES):
                if self.generator is not None and (not natives or self.random.random() < _GENERATED):
                    number = self.random.getrandbits(64)
                    native = self.generated(Random(number))  # noqa: S311
                    call = self.call(native, DRAWN, partial(remade, self.generated, number))
                else:
                    native = self.changed(natives[(k + tried) % len(natives)], self.random, tame=tried > 1)
                    call = self.call(native, DRAWN)
                if call is not None and call.side == ACCEPTED:
                    yield call
                    break
                if call is not None:
                    near.append(call)

    def generated(self, random: Random) -> Native:
        """What the contract's generator makes, or that with changes."""
        assert self.generator is not None
        native = self.generator.make(random)
        return native if random.random() < _AS_GENERATED else self.changed(native, random)

    def refused(self, guard: str) -> Drawn | None:
        """A call that this guard refuses: an example of it, changed, or with a second fault of another example."""
        natives = self.seeds.by_side[guard]
        for _ in range(_TRIES):
            start = self.random.choice(natives)
            native = self.crossed(start) if self.random.random() < 0.5 else self.changed(start, self.random)
            if (call := self.call(native, DRAWN)) is not None and call.side == guard:
                return call
        return None

    def changed(self, native: Native, random: Random, tame: bool = False) -> Native:
        for _ in range(1 if tame else random.choice(_CHANGES)):
            native = mutated(native, random, self.words, tame)
        return native

    def crossed(self, native: Native) -> Native:
        """An input with one part of another example, that of another guard where there is one."""
        other = self.random.choice(self.seeds.by_side[self.random.choice(list(self.seeds.by_side))])
        apart = [place for place in self.words.inside.all(other) if place.is_there and _differs(native, place)]
        if not apart:
            return self.changed(native, self.random)
        place = self.random.choice(apart)
        crossed: Native = put(native, place.path, place.value)
        return crossed

    def call(self, native: Native, why: str, choices: Callable[[], Choices] | None = None) -> Drawn | None:
        """The call with these inputs, None where it was drawn before, is frozen, or is not to be asked."""
        told = printed(native)
        if told in self.known or (why == DEGENERATE and len(told) > LONGEST):
            return None
        self.known.add(told)
        side = self.bounds.side(native, limited=why != GROWN, told=told)
        if side is None or (side in self.cheap and not self.bounds.is_cheap(native, told)):
            return None
        return Drawn(side, native, why, choices)


def _differs(native: Native, place: Place) -> bool:
    """Whether the input has another value at a place of another input, in a holder that it has as well."""
    try:
        at(native, place.path[:-1])
        return printed(at(native, place.path)) != printed(place.value)
    except (KeyError, IndexError, TypeError):
        return False
