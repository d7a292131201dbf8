"""The calls that one operator is fuzzed with, drawn before any is asked: they depend on contract and seed alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from random import Random
from typing import Final

from conformance.codec.codebook import OperatorForms
from conformance.trial.fuzz.listings.growth import grown, near_long
from conformance.trial.fuzz.listings.inputs import leaf_origins, leaf_variants
from conformance.trial.fuzz.listings.near_frozen import LISTINGS, Origins
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.seed import (
    ACCEPTED,
    LONGEST,
    InputLimits,
    Seeds,
    Vocabulary,
    longest_of,
    printed,
    vocabulary_of,
)
from conformance.trial.fuzz.shrink import RecordedChoices, random_remade
from conformance.trial.generator import Native, generator_of
from conformance.vectors.place import Place, at, put

OPENING, DEGENERATE, GROWN, DRAWN = "opening", "degenerate", "grown", "drawn"  # why a call is asked
_SUCCEEDING: Final = 0.7  # of the drawn calls, at least
_CHANGES: Final = (1, 1, 1, 2, 2, 3)  # places of a seed that a call changes
_TRIES: Final = 10  # candidates for one call
_ALSO_FAILED: Final = 4  # every fourth accepted call may start from one that the reference alone refuses
_GENERATED: Final = 0.5  # share of the accepted calls that start from a generated input, if there is a generator
_AS_GENERATED: Final = 0.6  # share of the generated inputs that are asked unchanged
_MOST_DEGENERATE: Final = 600  # calls
_MOST_RECORDS: Final = 100  # for each guard
_PLAIN_RECORD: Final = 2  # fields of a failure record: the code and the operator
_MOST_LONG: Final = 100
_NEAR_GROWN: Final = 2  # of the generator's large inputs that are not too long, so many are changed too


@dataclass(frozen=True, slots=True)
class DrawnCall:
    """One call: its inputs, the guard that refuses them (ACCEPTED for none), why it is asked, and the choices of the
    generator if one made the inputs."""

    side: str
    native: Native = field(repr=False)
    why: str
    choices: Callable[[], RecordedChoices] | None = field(default=None, repr=False, compare=False)


def drawn_calls(
    forms: OperatorForms, seeds: Seeds, wanted: int, number: int, bounds: InputLimits | None = None
) -> tuple[DrawnCall, ...]:
    """The calls, all different: the smallest example of every side, degenerate values leaf by leaf, the longest example
    changed, the common listings, then `wanted` drawn calls.
    Calls with one large leaf come last, so that a small call shows a mistake first.

    No drawn call is a frozen call; a listed one may be. There are fewer than `wanted` if no more are found.
    """
    hand = _CallDrawer(forms, seeds, Random(number), bounds or InputLimits(forms.contract))  # noqa: S311
    calls = [*hand.opening(), *hand.degenerate(), *hand.refused_degenerate()]
    calls += [*hand.long(), *hand.near()]
    long = [*hand.grown()]
    return (*calls, *hand.drawn(wanted), *long)


def only_drawn(
    forms: OperatorForms, seeds: Seeds, wanted: int, number: int, bounds: InputLimits
) -> tuple[DrawnCall, ...]:
    """The drawn calls alone, at a fifth of the cost; a few may differ from those that `drawn_calls` draws."""
    return tuple(_CallDrawer(forms, seeds, Random(number), bounds).drawn(wanted))  # noqa: S311


class _CallDrawer:
    """Draws calls, and remembers which were drawn."""

    def __init__(self, forms: OperatorForms, seeds: Seeds, random: Random, bounds: InputLimits) -> None:
        self.contract, self.seeds, self.random = forms.contract, seeds, random
        self.bounds, self.suite, self.generator = bounds, forms.suite, generator_of(forms.contract, forms.suite)
        self.words: Vocabulary = vocabulary_of(self.contract, seeds.all)
        self.known: set[str] = set()
        # If all examples that a guard refuses are cheap, the calls drawn for it must be cheap too.
        self.cheap = {
            side
            for side, natives in seeds.by_side.items()
            if side != ACCEPTED and all(self.bounds.is_cheap(native) for native in natives)
        }

    def opening(self) -> Iterator[DrawnCall]:
        for side, natives in self.seeds.by_side.items():
            self.known.add(printed(natives[0]))
            yield DrawnCall(side, natives[0], OPENING)

    def degenerate(self) -> Iterator[DrawnCall]:
        """Degenerate values, leaf by leaf, and the inputs in which they are put.

        Only both show a backend that takes one for the other.
        """
        accepted = self.seeds.by_side.get(ACCEPTED, ())
        yield from self.calls(leaf_origins(self.words.inside, accepted), DEGENERATE)
        yield from self.calls(leaf_variants(self.words.inside, accepted), DEGENERATE, _MOST_DEGENERATE)

    def long(self) -> Iterator[DrawnCall]:
        """The longest example that may be asked, with each leaf changed to one of the same length or in the middle."""
        if (native := longest_of(self.seeds.by_side.get(ACCEPTED, ()))) is not None:
            yield from self.near_long(native, DEGENERATE)

    def near_long(self, native: Native, why: str) -> Iterator[DrawnCall]:
        return self.calls(near_long(self.words.inside, native), why, _MOST_LONG)

    def refused_degenerate(self) -> Iterator[DrawnCall]:
        """Degenerate values in the smallest example of every guard, which refuses them too: what a failure record says
        of the inputs must be right as well. Only if the record says more than the code and the operator."""
        if len(self.contract.failure.fields) <= _PLAIN_RECORD:
            return
        for side, natives in self.seeds.by_side.items():
            if side != ACCEPTED:
                calls = self.calls(leaf_variants(self.words.inside, natives[:1]), DEGENERATE)
                yield from islice((call for call in calls if call.side == side), _MOST_RECORDS)

    def near(self) -> Iterator[DrawnCall]:
        """Calls near the accepted ones, and near the guards, of every listing."""
        origins = Origins(self.words, self.seeds.by_side, self.bounds.side, self.seeds.failed, no_file_opened=True)
        for listing in LISTINGS:
            yield from self.calls(listing.inputs(origins), DEGENERATE, listing.most)

    def grown(self) -> Iterator[DrawnCall]:
        """Calls with one long leaf, and large inputs of the generator."""
        natives, numbers = self.seeds.by_side.get(ACCEPTED, ()), self.words.numbers
        made = partial(self.call, why=GROWN)
        yield from grown(self.words.inside, natives, numbers, made, lambda call: call.side == ACCEPTED)
        if self.generator is not None and self.generator.grown is not None:
            # A separate Random, so that the drawn calls do not depend on these.
            near = 0
            for native in self.generator.grown(Random(self.contract.operator)):  # noqa: S311
                yield from self.calls([native], GROWN)
                if near < _NEAR_GROWN and len(printed(native)) <= LONGEST:
                    near += 1
                    yield from self.near_long(native, GROWN)

    def drawn(self, wanted: int) -> Iterator[DrawnCall]:
        self.known.update(printed(native) for native in self.seeds.all)
        guards = [side for side in self.seeds.by_side if side != ACCEPTED]
        refused = int(wanted * (1 - _SUCCEEDING)) if guards else 0
        near: list[DrawnCall] = []
        found = list(self.accepted(wanted - refused, near))
        self.random.shuffle(near)
        for k in range(min(refused, len(found)) if found else refused):
            # Every third one comes from `near`: it was meant to be accepted, so it is close to a guard.
            call = near.pop() if near and k % 3 == 2 else self.refused(guards[(k - k // 3) % len(guards)])
            if call is not None:
                found.append(call)
        found += self.accepted(wanted - len(found), [])
        self.random.shuffle(found)
        yield from found

    def accepted(self, wanted: int, near: list[DrawnCall]) -> Iterator[DrawnCall]:
        """Calls that no guard refuses; a candidate that a guard does refuse is added to `near`."""
        natives = self.seeds.by_side.get(ACCEPTED, ())
        if not natives and self.generator is None:
            return
        for k in range(wanted):
            for tried in range(_TRIES):
                if self.generator is not None and (not natives or self.random.random() < _GENERATED):
                    number = self.random.getrandbits(64)
                    native = self.generated(Random(number))  # noqa: S311
                    call = self.call(native, DRAWN, partial(random_remade, self.generated, number))
                else:
                    some = self.seeds.answered if k % _ALSO_FAILED else natives
                    native = self.changed(some[(k + tried) % len(some)], self.random, tame=tried > 1)
                    call = self.call(native, DRAWN)
                if call is not None and call.side == ACCEPTED:
                    yield call
                    break
                if call is not None:
                    near.append(call)

    def generated(self, random: Random) -> Native:
        """An input from the contract's generator, sometimes changed."""
        assert self.generator is not None
        native = self.generator.made(self.suite, random)
        return native if random.random() < _AS_GENERATED else self.changed(native, random)

    def refused(self, guard: str) -> DrawnCall | None:
        """A call that this guard refuses: an example of the guard, changed or with a part of another example."""
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
        """An input with one part of an example from any side; a changed input if no part differs."""
        other = self.random.choice(self.seeds.by_side[self.random.choice(list(self.seeds.by_side))])
        apart = [place for place in self.words.inside.all(other) if place.is_there and _differs(native, place)]
        if not apart:
            return self.changed(native, self.random)
        place = self.random.choice(apart)
        crossed: Native = put(native, place.path, place.value)
        return crossed

    def calls(self, natives: Iterable[Native], why: str, most: int | None = None) -> Iterator[DrawnCall]:
        """The calls with these inputs that are not known and may be asked, at most so many."""
        return islice((call for native in natives if (call := self.call(native, why)) is not None), most)

    def call(self, native: Native, why: str, choices: Callable[[], RecordedChoices] | None = None) -> DrawnCall | None:
        """The call with these inputs; None if it is known, or must not be asked."""
        told = printed(native)
        if told in self.known or (why == DEGENERATE and len(told) > LONGEST):
            return None
        self.known.add(told)
        side = self.bounds.side(native, limited=why != GROWN, told=told)
        if side is None or (side in self.cheap and not self.bounds.is_cheap(native, told)):
            return None
        return DrawnCall(side, native, why, choices)


def _differs(native: Native, place: Place) -> bool:
    """Whether an input has the container of a place of another input, but a different value at the place."""
    try:
        at(native, place.path[:-1])
        return printed(at(native, place.path)) != printed(place.value)
    except (KeyError, IndexError, TypeError):
        return False
