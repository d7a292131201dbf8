"""Long programs on one handle: many calls, most of which the state lets through, with values of the calls before them.

Where no expression knows the state (a history, what expires), only such a sequence shows what a backend keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from random import Random
from typing import Any, Final

from conformance.contract.machine import State
from conformance.contract.types import INTEGER_RANGES, Scalar
from conformance.trial.fuzz.listings.programs import refused_turns
from conformance.trial.fuzz.program import Program, ProgramCall
from conformance.trial.fuzz.program_draw import Pool, may_be_asked, opening_turns, reading
from conformance.vectors.conversation.state_tracking import SUCCEEDS
from conformance.vectors.place import Place, put

_MOST_HANDLES: Final = 3  # that are opened as an example says
_PROGRAMS: Final = 24
_WITH_FILES: Final = 3  # whose calls cost more
_TURNS: Final = 20  # of a program
_TRIES: Final = 6  # draws of a turn until the state lets it through, or refuses it
_RUN: Final = 9  # turns of one operation in a row, in every second program
_REFUSED: Final = 1 / 5  # of the turns are to be refused
_FIRST: Final = 2  # leaves, at most, that a number is the sum with
_NEAR: Final = 3 / 4  # of the leaves get a value that the program has had already, or one near it
_LARGE: Final = 2**32 + 5  # which wraps in 32 bits


def long_programs(pool: Pool) -> Iterator[Program]:
    """For the first few handles and one with large numbers, some programs from a fixed seed; each reads at its end."""
    random = Random("walks")  # noqa: S311
    names = [name for name in dict.fromkeys(pool.taking) if not pool.model.closes(name)]
    wrong = {name: list(refused_turns(pool, name)) for name in names}
    most = _WITH_FILES if pool.keeps_files else _PROGRAMS
    handles = [*islice(opening_turns(pool), _MOST_HANDLES), *_large(pool)]
    for k, (given, state) in enumerate(islice(cycle(handles), most if names else 0)):
        first = k // 2 % len(names)
        order = [*names[first:], *names[:first]] if k % 2 else []
        yield (*_drawn(random, pool, wrong, order, given, state), *reading(pool, [0]))


def _large(pool: Pool) -> Iterator[tuple[ProgramCall, State]]:
    """The plain handle with a large number in every leaf that may have one."""
    if pool.plain is None or (operator := pool.plain[0].operator) not in pool.inputs:
        return
    turn = pool.plain[0]
    for place in pool.words[operator].inside.first(turn.native):
        if type(place.value) is int:
            other = replace(turn, native=put(turn.native, place.path, _LARGE))
            turn = other if pool.reach(other, None).side == SUCCEEDS and may_be_asked(pool, other) else turn
    if turn is not pool.plain[0]:
        yield turn, pool.after(turn, None)


def _drawn(
    random: Random,
    pool: Pool,
    wrong: Mapping[str, Sequence[ProgramCall]],
    order: Sequence[str],
    given: ProgramCall,
    state: State,
) -> Iterator[ProgramCall]:
    """The calls of a program; with an `order`, each operation comes some times in a row, then the next one."""
    yield given
    names = list(wrong)
    known = list(_leaves(pool, given))
    done = 0
    for _ in range(_TURNS):
        wanted = random.random() >= _REFUSED
        for attempt in range(_TRIES):
            done += _RUN - done % _RUN if attempt in (2, 4) else 0  # nothing fits: on to the next operation
            name = order[done // _RUN % len(order)] if order else random.choice(names)
            seeds = pool.seeds[name] if wanted or attempt % 2 or not wrong[name] else wrong[name]
            turn = replace(random.choice(seeds), handle=0)
            turn = turn if seeds is wrong[name] else _near(random, pool, turn, known)
            if wanted == pool.passes(turn, state) or (order and not wanted):
                break
        done += 1
        if may_be_asked(pool, turn):
            yield turn
            if pool.passes(turn, state):
                known += _leaves(pool, turn)
                state = pool.after(turn, state)


def _near(random: Random, pool: Pool, turn: ProgramCall, known: Sequence[Place]) -> ProgramCall:
    """A turn with some of its leaves as in calls before it, or near them."""
    for place in _leaves(pool, turn):
        if random.random() < _NEAR and (values := list(_values(random, place, known))):
            turn = replace(turn, native=put(turn.native, place.path, random.choice(values)))
    return turn


def _values(random: Random, place: Place, known: Sequence[Place]) -> Iterator[Any]:
    alike = [one.value for one in known if type(one.value) is type(place.value)]
    if not alike:
        return
    one, first = random.choice(alike), random.choice(alike[:_FIRST])
    last = next((leaf.value for leaf in reversed(known) if leaf.key == place.key), one)
    match place.type:
        case Scalar(name) if name in INTEGER_RANGES:
            low, high = INTEGER_RANGES[name]
            near = (one, last, last, last, last + 1, last + 1, last + 2, last + first, last + first - 1)
            yield from (value for value in near if low <= value <= high)
        case Scalar("string"):
            yield from (one, one, last, one.swapcase(), "")


def _leaves(pool: Pool, turn: ProgramCall) -> Iterator[Place]:
    """The leaves of a turn that are a number or a text."""
    if turn.operator in pool.inputs:
        places = pool.words[turn.operator].inside.first(turn.native)
        yield from (place for place in places if place.is_there and type(place.value) in (int, str))
