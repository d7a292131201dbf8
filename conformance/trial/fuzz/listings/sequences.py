"""Programs in which calls come again, or follow each other in other orders. They are asked before any drawn one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from conformance.contract.machine import State
from conformance.contract.types import Enum
from conformance.trial.fuzz.listings.programs import fullest_inputs, open_handles
from conformance.trial.fuzz.program import Program, ProgramCall, method_of
from conformance.trial.fuzz.program_draw import Pool, is_judged, opening_turns, reading, within

_REPEATED: Final = 12  # turns with the same inputs
_MOST_TURNS: Final = 20  # of a program in which operations follow each other, beside those that read
_MOST_WITHOUT_FILES: Final = 40  # of one with refused calls, which cost less there
_MOST_HANDLES: Final = 6  # of different kinds, each the start of one such program
_MOST_SEEDS: Final = 6  # inputs of an operation that are tried in a state
_MOST_TIMES: Final = 2  # that one turn is let through between refused ones
_MOST_TRIED: Final = 12  # inputs of an operation that are asked where the state refuses them


def repeated(pool: Pool) -> Iterator[Program]:
    """For every operation that closes no handle, the same call again and again, as often as some handle allows.

    This finds backends that are wrong from the fifth or the tenth call of a handle on.
    """
    handles = open_handles(pool)
    for operator in (name for name in pool.seeds if method_of(pool.codebook, name).takes):
        if not pool.model.closes(operator) and handles:
            turn = replace(fullest_inputs(pool, operator)[0], handle=0)
            times, given = max(
                ((_times(pool, turn, state), given) for given, state in handles), key=lambda pair: pair[0]
            )
            yield (given, *[turn] * times, *reading(pool, [0]))


def _times(pool: Pool, turn: ProgramCall, state: State | None) -> int:
    """How often a handle lets a turn through, up to the number that is asked."""
    for k in range(_REPEATED):
        if not pool.passes(turn, state):
            return k
        state = pool.after(turn, state)
    return _REPEATED


def refused_later(pool: Pool) -> Iterator[Program]:
    """For every two calls: the first again and again until the state refuses the second, which it let through before.

    The second is asked there, the handle is read, and the first is asked once more. This finds backends that do a part
    of a call and then refuse it.
    """
    if pool.plain is None:
        return
    (given, fresh), look = pool.plain, (*reading(pool, [0]),)
    names = [name for name in pool.seeds if _is_asked(pool, name)]
    turns = [replace(seed, handle=0) for name in names for seed in pool.good[name][:_MOST_SEEDS]]
    for turn in turns:
        left = [other for other in turns if pool.passes(other, fresh)]
        state: State | None = fresh
        for count in range(1, _REPEATED + 1):
            if not pool.passes(turn, state):
                break
            state = pool.after(turn, state)
            for other in [one for one in left if not pool.passes(one, state)]:
                left.remove(other)
                yield (given, *[turn] * count, other, *look, turn, *look)


def refused_between(pool: Pool) -> Iterator[Program]:
    """For the first few handles, one call after another that the state lets through, and before each the calls that it
    refuses: the first and the last that each guard refuses, then the very first again.

    This finds backends that change their state and then refuse the call, where the same call again does not show it.
    """
    names = [name for name in pool.seeds if _is_asked(pool, name)]
    turns = [replace(seed, handle=0) for name in names for seed in pool.seeds[name][:_MOST_TRIED] if within(pool, seed)]
    most = _MOST_TURNS if pool.keeps_files else _MOST_WITHOUT_FILES
    for given, fresh in islice(opening_turns(pool), _MOST_HANDLES):
        program, state = [given], fresh
        asked: Counter[int] = Counter()  # of each turn, by its index
        while True:
            refused = _of_each_side(pool, turns, state)
            program += [*refused, *refused[:1], *(reading(pool, [0]) if refused else ())]
            possible = [k for k, turn in enumerate(turns) if asked[k] < _MOST_TIMES and pool.passes(turn, state)]
            if not possible or len(program) >= most:
                break
            best = _best(pool, turns, possible, state, asked)
            asked[best] += 1
            accepted = turns[best]
            program.append(accepted)
            state = pool.after(accepted, state)
        yield (*program, *reading(pool, [0]))


def _of_each_side(pool: Pool, turns: Sequence[ProgramCall], state: State) -> list[ProgramCall]:
    """For every operation and guard that refuses it in a state, the first and the last of these turns."""
    found: dict[tuple[str, str], list[ProgramCall]] = {}
    for turn in turns:
        if not pool.passes(turn, state) and is_judged(pool, turn):
            found.setdefault((turn.operator, pool.reach(turn, state).side), []).append(turn)
    return [turn for some in found.values() for turn in (some[:1] + some[1:][-1:])]


def _best(
    pool: Pool, turns: Sequence[ProgramCall], possible: Sequence[int], state: State, asked: Mapping[int, int]
) -> int:
    """The turn to go on with: of the operation that was asked least often; what ends everything comes last."""
    times: Counter[str] = Counter()
    first: dict[str, int] = {}
    for k, count in asked.items():
        times[turns[k].operator] += count
    for k in sorted(possible, key=lambda one: asked.get(one, 0)):
        first.setdefault(turns[k].operator, k)
    for name in sorted(first, key=lambda one: times[one]):
        after = pool.after(turns[first[name]], state)
        if any(pool.passes(other, after) for other in turns):
            return first[name]
    return possible[0]


def ended(pool: Pool) -> Iterator[Program]:
    """One program that opens a handle of every kind, ends it, and asks every operation with it; it has no other handle.

    This finds backends that lose a handle only while another one is open.
    """
    turns: list[ProgramCall] = []
    taking = [name for name in pool.seeds if method_of(pool.codebook, name).takes]
    taking.sort(key=lambda name: not pool.model.reads(name))  # a trace that ends with a look is the plainest
    for given, _ in _of_each_kind(pool):
        for closer in (name for name in pool.seeds if pool.model.closes(name)):
            opened_by = len(turns)
            turns.append(given)
            turns += [replace(pool.good[name][0], handle=opened_by) for name in (closer, *taking)]
    if turns:
        yield tuple(turns)


def rounds(pool: Pool) -> Iterator[Program]:
    """For every kind of handle, a program in which every operation follows every other, its inputs as before.

    This finds backends that cache an answer under too few of the inputs.
    """
    names = [name for name in pool.seeds if _is_asked(pool, name)]
    seeds = {name: fullest_inputs(pool, name)[:_MOST_SEEDS] for name in names}
    for given, state in _of_each_kind(pool, lambda state: bool(_possible(pool, seeds, state))):
        yield (given, *_round(pool, seeds, state))


def _of_each_kind(pool: Pool, wanted: Callable[[State], bool] = lambda _: True) -> Iterator[tuple[ProgramCall, State]]:
    """The first wanted handle of every kind, of the first few kinds."""
    seen: set[tuple[object, ...]] = set()
    for given, state in opening_turns(pool):
        kind = _kind(pool, given, state)
        if kind not in seen and len(seen) < _MOST_HANDLES and wanted(state):
            seen.add(kind)
            yield given, state


def _kind(pool: Pool, given: ProgramCall, state: State) -> tuple[object, ...]:
    """The kind of a handle: the operation that opened it, and the enum values in its state."""
    machine = pool.contract.machine
    assert machine is not None
    return given.operator, *(state.get(one.name) for one in machine.state.fields if isinstance(one.type, Enum))


def _is_asked(pool: Pool, name: str) -> bool:
    """Whether an operation takes turns in a round: it does not open, close or only read; reads follow every turn."""
    return not (pool.model.opening(name) or pool.model.closes(name) or pool.model.reads(name))


def _round(pool: Pool, seeds: Mapping[str, Sequence[ProgramCall]], state: State) -> Iterator[ProgramCall]:
    look = (*reading(pool, [0]),)
    lasting = set(_lasting(pool, seeds, state))
    pairs: set[tuple[str, str]] = set()
    count: Counter[str] = Counter()
    before, idle = "", 0
    for _ in range(_MOST_TURNS):
        can = _possible(pool, seeds, state)
        unseen = [name for name in can if (before, name) not in pairs]
        idle = 0 if unseen else idle + 1
        if not can or idle > len(seeds):
            return
        # Lasting operations come last; of the others, the one that was asked least often comes first.
        asked = min(unseen or can, key=lambda name: (name in lasting, count[name]))
        pairs.add((before, asked))
        count[asked] += 1
        yield can[asked]
        yield from look
        before, state = asked, pool.after(can[asked], state)


def _lasting(pool: Pool, seeds: Mapping[str, Sequence[ProgramCall]], state: State) -> Iterator[str]:
    """The operations after which another one is refused, even after any one further operation."""
    can = _possible(pool, seeds, state)
    for name, turn in can.items():
        after = pool.after(turn, state)
        left = _possible(pool, seeds, after)
        back = {one for then in left.values() for one in _possible(pool, seeds, pool.after(then, after))}
        if can.keys() - left.keys() - back:
            yield name


def _possible(pool: Pool, seeds: Mapping[str, Sequence[ProgramCall]], state: State) -> dict[str, ProgramCall]:
    """The first turn of every operation that a handle in this state lets through, or may."""
    found: dict[str, ProgramCall] = {}
    for name, some in seeds.items():
        fit = (replace(seed, handle=0) for seed in some if pool.passes(seed, state) and within(pool, seed))
        if (turn := next(fit, None)) is not None:
            found[name] = turn
    return found
