"""Programs that are asked before any drawn one. Each listing finds one kind of mistake in machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

from conformance.contract.engine import Unjudgeable
from conformance.contract.machine import State
from conformance.contract.types import Enum
from conformance.trial.fuzz.growth import large
from conformance.trial.fuzz.guard_listings import at_numbers
from conformance.trial.fuzz.input_listings import exchanged, leaf_variants
from conformance.trial.fuzz.program import NOT_GIVEN, Program, ProgramCall, method_of
from conformance.trial.fuzz.program_draw import LONGEST, Pool, Seed, is_judged, opening_turns, reading, within
from conformance.trial.fuzz.renamings import renamings, twins
from conformance.trial.generator import Native
from conformance.vectors.place import ABSENT, Place, degenerates, put
from conformance.vectors.state_tracking import OUTSIDE, SUCCEEDS, UNSURE

_MOST_LISTED: Final = 60  # degenerate inputs of an operation
_MOST_OTHER: Final = 20  # inputs of an operation at the numbers of the contract, with other names, with twins
_REPEATED: Final = 12  # turns with the same inputs
_MOST_TURNS: Final = 20  # of a program in which operations follow each other, beside those that read
_MOST_HANDLES: Final = 6  # of different kinds, each the start of one such program
_MOST_EMPTIED: Final = 20  # leaves of one operation
_MOST_SEEDS: Final = 6  # inputs of an operation that are tried in a state
_MOST_REFUSED: Final = 24  # degenerate inputs of an operation that a state refuses
_MOST_OTHERS: Final = 3  # degenerate inputs of every other operation in that state


def opening(pool: Pool) -> Iterator[Program]:
    """A program for every side of every guard that a fresh handle shows, or a frozen trace; each reads at its end."""
    for program in (*_sides(pool), *pool.refusing):
        handle = program[-1].handle
        yield program if handle is None or handle == NOT_GIVEN else (*program, *reading(pool, [handle]))


def _sides(pool: Pool) -> Iterator[Program]:
    first = pool.plain
    seen: set[tuple[str, str]] = set()
    for operator, seeds in pool.seeds.items():
        if not method_of(pool.codebook, operator).takes:
            for turn in (ProgramCall(operator, seed.native, seed.roots) for seed in seeds):
                if _is_new(pool, turn, None, seen):
                    yield (turn,)
        elif first is not None and seeds:
            given, state = first
            yield (given, ProgramCall(operator, seeds[0].native, seeds[0].roots, NOT_GIVEN))
            for turn in (ProgramCall(operator, seed.native, seed.roots, 0) for seed in seeds):
                if _is_new(pool, turn, state, seen):
                    yield (given, turn)


def _is_new(pool: Pool, turn: ProgramCall, state: State | None, seen: set[tuple[str, str]]) -> bool:
    if not within(pool, turn):
        return False
    side = (turn.operator, pool.reach(turn, state).side)
    new = side not in seen and side[1] != OUTSIDE
    seen.add(side)
    return new


def degenerate(pool: Pool) -> Iterator[Program]:
    """Programs of degenerate inputs, leaf by leaf: a few turns on one handle, which is read at the end."""
    handles = _handles(pool)
    for operator in pool.inputs:
        takes = method_of(pool.codebook, operator).takes
        asked = _varied(pool, operator, 0 if takes else None)
        if not takes:
            yield from ((turn, *reading(pool, [0])) for turn in asked)
        else:
            yield from _on_handles(pool, asked, handles)


def grown(pool: Pool) -> Iterator[Program]:
    """For every leaf that can be long, a call with the leaf grown that some handle lets through; it is read after."""
    handles = _handles(pool)
    for operator in pool.inputs:
        takes = method_of(pool.codebook, operator).takes
        for seed in fullest_inputs(pool, operator)[:1]:
            words = pool.words[operator]
            for _, natives in large(words.inside, [seed.native], words.numbers):
                turns = (ProgramCall(operator, native, seed.roots, 0 if takes else None) for native in natives)
                judged = (turn for turn in turns if is_judged(pool, turn) and within(pool, turn))
                programs = (_grown(pool, turn, handles) for turn in judged)
                if (program := next((one for one in programs if one), None)) is not None:
                    yield program


def _grown(pool: Pool, turn: ProgramCall, handles: Sequence[tuple[ProgramCall, State | None]]) -> Program:
    """The program of one turn that goes through, on a handle if it takes one; empty if it does not."""
    if turn.handle is None:
        return (turn, *reading(pool, [0])) if _passes(pool, turn, None) else ()
    given = next((one for one, state in handles if _passes(pool, turn, state)), None)
    return () if given is None else (given, turn, *reading(pool, [0]))


def repeated(pool: Pool) -> Iterator[Program]:
    """For every operation that closes no handle, the same call again and again, as often as some handle allows.

    This finds backends that are wrong from the fifth or the tenth call of a handle on.
    """
    handles = _handles(pool)
    for operator in (name for name in pool.seeds if method_of(pool.codebook, name).takes):
        if not pool.model.closes(operator) and handles:
            seed = fullest_inputs(pool, operator)[0]
            turn = ProgramCall(operator, seed.native, seed.roots, 0)
            times, given = max(
                ((_times(pool, turn, state), given) for given, state in handles), key=lambda pair: pair[0]
            )
            yield (given, *[turn] * times, *reading(pool, [0]))


def refused_later(pool: Pool) -> Iterator[Program]:
    """For every two calls: the first again and again until the state refuses the second, which it let through before.

    The second is asked there, the handle is read, and the first is asked once more. This finds backends that do a part
    of a call and then refuse it.
    """
    if pool.plain is None:
        return
    (given, fresh), look = pool.plain, (*reading(pool, [0]),)
    names = [name for name in pool.seeds if _is_asked(pool, name)]
    turns = [ProgramCall(name, one.native, one.roots, 0) for name in names for one in pool.good[name][:_MOST_SEEDS]]
    for turn in turns:
        left = [other for other in turns if _passes(pool, other, fresh)]
        state: State | None = fresh
        for count in range(1, _REPEATED + 1):
            if not _passes(pool, turn, state):
                break
            state = _after(pool, turn, state)
            for other in [one for one in left if not _passes(pool, one, state)]:
                left.remove(other)
                yield (given, *[turn] * count, other, *look, turn, *look)


def _times(pool: Pool, turn: ProgramCall, state: State | None) -> int:
    """How often a handle lets a turn through, up to the number that is asked."""
    for k in range(_REPEATED):
        if not _passes(pool, turn, state):
            return k
        state = _after(pool, turn, state)
    return _REPEATED


def _handles(pool: Pool) -> list[tuple[ProgramCall, State]]:
    """Turns that open a handle, each with the state that it leaves: the plain one, then others with degenerate inputs.

    With its largest number as a limit, a handle lets through what the plain one refuses.
    """
    found = [] if pool.plain is None else [pool.plain]
    for operator in dict.fromkeys(pool.opening):
        if operator in pool.inputs:
            for turn in _degenerate(pool, operator, None, _MOST_LISTED):
                reached = pool.reach(turn, None)
                if reached.side == SUCCEEDS and reached.after is not None:
                    found.append((turn, reached.after))
    return found


def _on_handles(
    pool: Pool, turns: Iterator[ProgramCall], handles: Sequence[tuple[ProgramCall, State]]
) -> Iterator[Program]:
    """Programs with these turns in their order, each on a handle that lets it through if there is one."""
    program: list[ProgramCall] = []
    state: State | None = None
    for turn in turns:
        other = next((one for one in handles if _passes(pool, turn, one[1])), None)
        if program and (len(program) > LONGEST or (other is not None and not _passes(pool, turn, state))):
            yield (*program, *reading(pool, [0]))
            program = []
        if not program and handles:
            given, state = other or handles[0]
            program = [given]
        if program:
            program.append(turn)
            state = _after(pool, turn, state) if _passes(pool, turn, state) else state
    if program:
        yield (*program, *reading(pool, [0]))


def _passes(pool: Pool, turn: ProgramCall, state: State | None) -> bool:
    """Whether a turn goes through in a state; not if the expression engine cannot hold the state."""
    try:
        return pool.reach(turn, state).side in (SUCCEEDS, UNSURE)
    except Unjudgeable:
        return False


def _degenerate(pool: Pool, operator: str, handle: int | None, most: int) -> Iterator[ProgramCall]:
    """Turns of an operation with degenerate inputs."""
    variants = leaf_variants(pool.words[operator].inside, _alike(pool, operator))
    yield from islice(_turns(pool, operator, handle, variants), most)


def _varied(pool: Pool, operator: str, handle: int | None) -> Iterator[ProgramCall]:
    """Turns of an operation with degenerate inputs, numbers of the contract, neighbours exchanged, and other names."""
    words, alike = pool.words[operator], _alike(pool, operator)
    yield from _degenerate(pool, operator, handle, _MOST_LISTED)
    listed = [listing(words.inside, alike) for listing in (exchanged, renamings, twins)]
    for some in (at_numbers(words.inside, alike, words.numbers), *listed):
        yield from islice(_turns(pool, operator, handle, some), _MOST_OTHER)


def _alike(pool: Pool, operator: str) -> list[Native]:
    """The accepted inputs of an operation with the same roots as the first of them."""
    return [one.native for one in pool.good[operator] if one.roots == pool.good[operator][0].roots]


def _turns(pool: Pool, operator: str, handle: int | None, natives: Iterable[Native]) -> Iterator[ProgramCall]:
    """The turns with these inputs that can be judged."""
    roots = pool.good[operator][0].roots
    turns = (ProgramCall(operator, native, roots, handle) for native in natives)
    yield from (turn for turn in turns if is_judged(pool, turn) and within(pool, turn))


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
            for name in (closer, *taking):
                seed = pool.good[name][0]
                turns.append(ProgramCall(name, seed.native, seed.roots, opened_by))
    if turns:
        yield tuple(turns)


def emptied_programs(pool: Pool) -> Iterator[Program]:
    """For every operation with inputs, leaf by leaf: a call with a value, one with an empty one; each is looked at.

    This finds backends that take a zero for "not given".
    """
    if pool.plain is None:
        return
    given, _ = pool.plain
    look = (*reading(pool, [0]),)
    for operator in (name for name in pool.inputs if method_of(pool.codebook, name).takes):
        for full, bare in list(_full_and_bare(pool, operator))[:_MOST_EMPTIED]:
            yield (given, full, *look, bare, *look, full, *look)


def _full_and_bare(pool: Pool, operator: str) -> Iterator[tuple[ProgramCall, ProgramCall]]:
    """Two turns that differ in one leaf, which has a value in the first and none or an empty one in the second."""
    seen: set[str] = set()
    for seed in fullest_inputs(pool, operator):
        for place in pool.words[operator].inside.first(seed.native):
            if place.key in seen:
                continue
            values = [place.value, *degenerates(place)]
            full = [value for value in values if not _is_empty(value)]
            bare = [value for value in values if _is_empty(value)]
            for value in bare if full else ():
                turns = tuple(_turn(operator, seed, place, one) for one in (full[0], value))
                if all(is_judged(pool, turn) and within(pool, turn) for turn in turns):
                    seen.add(place.key)
                    yield turns[0], turns[1]


def _turn(operator: str, seed: Seed, place: Place, value: Any) -> ProgramCall:
    return ProgramCall(operator, put(seed.native, place.path, value), seed.roots, 0)


def _is_empty(value: Any) -> bool:
    size = getattr(value, "size", None)  # of an array, whose truth is another matter
    return value is ABSENT or not (value if size is None else size)


def nothing_asked(pool: Pool) -> Iterator[Program]:
    """For every operation and guard of state that refuses it in a frozen trace: degenerate inputs there, first of the
    refused operation, then of the others.

    This finds backends that check the inputs before the state, and so answer an empty call that is not allowed.
    """
    taking = [name for name in pool.inputs if method_of(pool.codebook, name).takes]
    seen: set[tuple[str, str]] = set()
    for *way, refused in pool.refusing:
        if refused.handle is None or refused.handle == NOT_GIVEN:
            continue
        look = (*reading(pool, [refused.handle]),)
        if (refused.operator, told := repr(way)) not in seen:
            seen.add((refused.operator, told))
            own = [refused.operator] if refused.operator in taking else []
            turns = (_degenerate(pool, name, refused.handle, _MOST_REFUSED) for name in own)
            yield (*way, *chain.from_iterable(turns), *look)
        if ("", told) not in seen:
            seen.add(("", told))
            others = (name for name in taking if name != refused.operator and not pool.model.closes(name))
            turns = (_degenerate(pool, name, refused.handle, _MOST_OTHERS) for name in others)
            yield (*way, *chain.from_iterable(turns), *look)


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


def _round(pool: Pool, seeds: Mapping[str, Sequence[Seed]], state: State) -> Iterator[ProgramCall]:
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
        before, state = asked, _after(pool, can[asked], state)


def _lasting(pool: Pool, seeds: Mapping[str, Sequence[Seed]], state: State) -> Iterator[str]:
    """The operations after which another one is refused, even after any one further operation."""
    can = _possible(pool, seeds, state)
    for name, turn in can.items():
        after = _after(pool, turn, state)
        left = _possible(pool, seeds, after)
        back = {one for then in left.values() for one in _possible(pool, seeds, _after(pool, then, after))}
        if can.keys() - left.keys() - back:
            yield name


def _possible(pool: Pool, seeds: Mapping[str, Sequence[Seed]], state: State) -> dict[str, ProgramCall]:
    found = ((name, _next(pool, some, name, state)) for name, some in seeds.items())
    return {name: turn for name, turn in found if turn is not None}


def _after(pool: Pool, turn: ProgramCall, state: State | None) -> State:
    return pool.reach(turn, state).after or {}


def _next(pool: Pool, seeds: Sequence[Seed], operator: str, state: State) -> ProgramCall | None:
    """The first of an operation's turns that a handle in this state lets through, or may."""
    for seed in seeds:
        turn = ProgramCall(operator, seed.native, seed.roots, 0)
        if pool.reach(turn, state).side in (SUCCEEDS, UNSURE) and within(pool, turn):
            return turn
    return None


def fullest_inputs(pool: Pool, operator: str) -> list[Seed]:
    """The inputs of an operation: those of successful frozen calls first, and among these the fullest first."""
    words = pool.words.get(operator)
    return sorted(
        pool.good[operator],
        key=lambda seed: (
            repr(seed) not in pool.answered[operator],
            sum(_is_poor(place.value) for place in (words.inside.first(seed.native) if words else ())),
        ),
    )


def _is_poor(value: Any) -> bool:
    """Whether a value is empty, or is a list whose items are all equal."""
    return _is_empty(value) or (isinstance(value, list) and all(one == value[0] for one in value))
