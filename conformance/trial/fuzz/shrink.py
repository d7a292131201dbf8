"""A wrong example made small by Hypothesis: it shrinks the choices that make the example.

Examples are drawn without Hypothesis, which is faster and lets many calls run at once. Only an example with a wrong
answer is written as choices: those that a generator made, or those that lead to it from the simplest value of its type.
Hypothesis replays the choices, makes them smaller, and tries each new example. Nothing is drawn at random, so the same
example always shrinks to the same result.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Any, Final

import numpy as np

from conformance.codec.selfdescribing import plain_map
from conformance.contract.canonical import encode_item
from conformance.contract.types import FIXED_BYTES, Enum, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value, is_place
from conformance.trial.fuzz.near_bytes import item_in, resealed
from conformance.trial.fuzz.seed import printed
from conformance.vectors.place import ABSENT

_PRECISION: Final = 53  # bits of `Random.random`
_LARGEST: Final = 300  # bytes of choices; the time of a shrink grows faster than their square: 800 took 30 s
_FEW: Final = 200  # bytes of choices with which larger steps are tried as well
_DEEPEST: Final = 10  # lists and maps in each other; Hypothesis draws 100 deep, and each takes up to eight
_LENGTHS: Final = (128, 32, 8, 0)  # of what is made small item by item; the first at which the choices are few enough
_STEPS: Final = (1, 8, 7, 6, 5)
_PASSES: Final = 3
_MOST: Final = 3000  # examples that are asked
_MADE: Final = 300  # examples that Hypothesis makes in one way, alike ones included; each costs about 10 ms


@dataclass(frozen=True, slots=True)
class RecordedChoices:
    """A Hypothesis strategy, and the choices with which it makes the example to begin with."""

    strategy: Any
    first: tuple[bool | int | bytes, ...]

    @property
    def size(self) -> int:
        """The bytes of the choices."""
        from hypothesis.database import choices_to_bytes

        return len(choices_to_bytes(self.first))

    def map(self, change: Callable[[Any], Any]) -> RecordedChoices:
        """The same choices of a value that is then changed."""
        return RecordedChoices(self.strategy.map(change), self.first)


class _Wrong(Exception):
    """The example is answered wrongly."""


class _Enough(BaseException):
    """So many examples were made that Hypothesis has to stop; it lets pass what is no Exception."""


def smallest_example(
    example: Any, ways: Iterable[Callable[[Any], RecordedChoices]], is_wrong: Callable[[Any], bool], most: int = _MOST
) -> Any:
    """The example made small by each way to write it as choices, with at most `most` questions; the example itself if
    nothing smaller is wrong."""
    known: dict[str, bool] = {}

    def asked(one: Any) -> bool:
        told = printed(one)
        if told not in known:
            known[told] = len(known) < most and is_wrong(one)
        return known[told]

    for number, way in enumerate(ways):
        # An example that was too long to write as choices may be short enough after a first pass.
        for _ in range(_PASSES):
            choices = way(example)
            if number > 1 and choices.size > _FEW:
                break
            before, example = example, _shrunk(choices, asked, example)
            if printed(example) == printed(before):
                break
    return example


def _shrunk(choices: RecordedChoices, is_wrong: Callable[[Any], bool], found: Any) -> Any:
    """The smallest wrong example that Hypothesis finds; else what was found before."""
    import hypothesis  # 100 ms, which only a wrong answer is worth
    from hypothesis.database import ExampleDatabase, choices_to_bytes

    class First(ExampleDatabase):
        """Gives Hypothesis the choices to begin with, as some that are not shrunk yet, and keeps nothing."""

        def fetch(self, key: bytes) -> Iterable[bytes]:
            return [choices_to_bytes(choices.first)] if key.endswith(b".secondary") else []

        def save(self, key: bytes, value: bytes) -> None:
            pass

        def delete(self, key: bytes, value: bytes) -> None:
            pass

    made = 0

    @hypothesis.settings(
        database=First(),
        phases=[hypothesis.Phase.reuse, hypothesis.Phase.shrink],
        derandomize=False,  # which goes with no database
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.seed(0)  # below the settings, whose database it takes away
    @hypothesis.given(choices.strategy)
    def ask(example: Any) -> None:
        nonlocal found, made
        made += 1
        if made > _MADE:
            raise _Enough
        if is_wrong(example):
            found = example
            raise _Wrong

    # An example that Hypothesis cannot replay stays as it is.
    with contextlib.suppress(_Wrong, _Enough, hypothesis.errors.Unsatisfiable, RecursionError):
        ask()
    return found


# -- what a generator made


class _Recording(Random):
    """The same numbers as `Random`, and a record of them."""

    def __init__(self, number: int | bytes) -> None:
        super().__init__(number)
        self.record: list[int] = []

    def getrandbits(self, k: int, /) -> int:
        self.record.append(super().getrandbits(k))
        return self.record[-1]

    def random(self) -> float:
        found = super().random()
        self.record.append(int(found * 2**_PRECISION))
        return found


class _Replaying(Random):
    """Every number is a choice of Hypothesis; `Random` makes everything else of these two methods."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        super().__init__(0)
        self.choose = choose

    def getrandbits(self, k: int, /) -> int:
        return self.choose(k)

    def random(self) -> float:
        return math.ldexp(self.choose(_PRECISION), -_PRECISION)


def random_remade(make: Callable[[Random], Any], number: int | bytes) -> RecordedChoices:
    """What `make` makes of `Random(number)`, by the numbers that it draws."""
    from hypothesis import strategies as st

    recording = _Recording(number)
    make(recording)

    def replayed(draw: Any) -> Any:
        return make(_Replaying(lambda bits: int(draw(st.integers(0, 2**bits - 1)))))

    return RecordedChoices(st.composite(replayed)(), tuple(recording.record))


# -- a value of a type


def fixed_value(value: Any) -> RecordedChoices:
    """No choice."""
    from hypothesis import strategies as st

    return RecordedChoices(st.just(value), ())


def number(value: int, step: int = 1) -> RecordedChoices:
    """A whole number between 0 and this one, so many steps apart."""
    from hypothesis import strategies as st

    times, rest = divmod(abs(value), step)
    if not times:
        return fixed_value(value)
    sign = 1 if value > 0 else -1
    return RecordedChoices(st.integers(0, times), (times,)).map(lambda made: sign * (made * step + rest))


def flag(value: bool = True) -> RecordedChoices:
    """False, or true as it is."""
    from hypothesis import strategies as st

    return RecordedChoices(st.booleans(), (True,)) if value else fixed_value(value)


def one_of(values: Sequence[Any]) -> RecordedChoices:
    """One of these, the simplest first; the last to begin with."""
    return number(len(values) - 1).map(values.__getitem__)


def tuple_of(parts: Sequence[RecordedChoices]) -> RecordedChoices:
    """The values of all parts, in a tuple."""
    from hypothesis import strategies as st

    return RecordedChoices(
        st.tuples(*(one.strategy for one in parts)), tuple(chain.from_iterable(one.first for one in parts))
    )


def kept_or_absent(part: RecordedChoices) -> RecordedChoices:
    """The value, or ABSENT."""
    return tuple_of([flag(), part]).map(lambda made: made[1] if made[0] else ABSENT)


def some_of(parts: Sequence[RecordedChoices]) -> RecordedChoices:
    """The values of some parts, in a list."""
    return tuple_of([kept_or_absent(one) for one in parts]).map(lambda made: [one for one in made if one is not ABSENT])


def simpler(type_: Type, value: Any, step: int = 1) -> RecordedChoices:
    """A value of a type that is no larger at any place, whose numbers are so many steps away; item by item as far as
    Hypothesis can replay it."""
    found = (_Simpler(length, step).of(type_, value) for length in _LENGTHS)
    return next((one for one in found if one.size <= _LARGEST), fixed_value(value))


def in_steps(tell: Callable[[Any, int], RecordedChoices]) -> Iterator[Callable[[Any], RecordedChoices]]:
    """The ways to tell an example as choices, with numbers that fall by 1, then by larger steps, which leave a
    remainder as it is."""
    for step in _STEPS:
        yield lambda example, step=step: tell(example, step)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class _Simpler:
    """Simpler values; a value longer than `length` only loses its end, and one deeper than `depth` stays."""

    length: int
    step: int
    depth: int = _DEEPEST

    def of(self, type_: Type, value: Any) -> RecordedChoices:
        if is_place(type_):
            return fixed_value(value)
        match type_:
            case Enum(values):
                return one_of(values[: values.index(value) + 1])
            case Scalar(name) if name in FIXED_BYTES:
                return self.zeroed(value)
            case Struct(fields):
                there = [(one, self.of(one.type, value[one.name])) for one in fields if one.name in value]
                return self.mapping([(one.name, kept_or_absent(part) if one.optional else part) for one, part in there])
            case Tensor():
                return self.tensor(value)
            case ListOf(item):
                return self.items(item, value)
            case MapOf(item):
                return self.mapping([(key, kept_or_absent(self.of(item, value[key]))) for key in value])
        return self.self_describing(value)

    def self_describing(self, value: Any) -> RecordedChoices:
        """A scalar, or a self-describing value."""
        within = replace(self, depth=self.depth - 1)
        match value:
            case list() | dict() | tuple() if not self.depth:
                return fixed_value(value)
            case bool():
                return flag(value)
            case int():
                return number(value, self.step)
            case float():
                return one_of([*(simple for simple in (0.0, 1.0) if simple < abs(value)), value])
            case str():
                return self.items(None, value).map("".join)
            case bytes():
                return self.data(value)
            case list():
                return within.items(Value(), value)
            case dict():
                return self.mapping([(key, kept_or_absent(within.of(Value(), one))) for key, one in value.items()])
            case tuple():
                pairs = [tuple_of([within.of(Value(), key), within.of(Value(), one)]) for key, one in value]
                return some_of(pairs).map(plain_map)
        return fixed_value(value)

    def items(self, item: Type | None, value: Sequence[Any]) -> RecordedChoices:
        """The items of a list or text, each of them there or not; letters, which are of no type, as they are."""
        if len(value) > self.length:
            return number(len(value)).map(lambda length: value[:length])
        return some_of([fixed_value(one) if item is None else self.of(item, one) for one in value])

    def mapping(self, parts: Sequence[tuple[str, RecordedChoices]]) -> RecordedChoices:
        """A map, or a struct, without those whose value is ABSENT."""
        names = [name for name, _ in parts]
        return tuple_of([part for _, part in parts]).map(
            lambda made: {name: one for name, one in zip(names, made, strict=True) if one is not ABSENT}
        )

    def data(self, value: bytes) -> RecordedChoices:
        """Bytes; where they are a list or map in CBOR, a simpler one, whose digests are right."""
        from hypothesis import strategies as st

        found = item_in(value)
        if found is not None and isinstance(found[0], list | dict | tuple) and encode_item(found[0]) == value:
            item = found[0]
            return self.of(Value(), item).map(lambda made: resealed(item, made))
        if len(value) > self.length:
            return number(len(value)).map(lambda length: value[:length])
        return RecordedChoices(st.binary(max_size=len(value)), (value,))

    def zeroed(self, value: bytes) -> RecordedChoices:
        """As many bytes."""
        from hypothesis import strategies as st

        return RecordedChoices(st.binary(min_size=len(value), max_size=len(value)), (value,))

    def tensor(self, value: np.ndarray[Any, Any]) -> RecordedChoices:
        """An array of the same shape, whose elements are smaller, or 0 where they are no whole numbers."""
        zero = np.zeros_like(value)
        if value.size > self.length:
            return flag().map(lambda whole: value if whole else zero)
        if value.dtype.kind in "iu":
            numbers = tuple_of([number(int(one), self.step) for one in value.flat])
            return numbers.map(lambda made: np.array(made, dtype=value.dtype).reshape(value.shape))
        flags = tuple_of([flag(bool(one)) for one in (value != zero).flat])
        return flags.map(lambda made: np.where(np.array(made, dtype=bool).reshape(value.shape), value, zero))
