"""Programs that are asked before any drawn one. Each listing finds one kind of mistake in machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from conformance.contract.machine import State
from conformance.trial.fuzz.listings.growth import grown, near_long
from conformance.trial.fuzz.listings.inputs import leaf_origins, leaf_variants
from conformance.trial.fuzz.listings.near_frozen import LISTINGS, Origins
from conformance.trial.fuzz.program import NOT_GIVEN, Program, ProgramCall, method_of
from conformance.trial.fuzz.program_draw import LONGEST, Pool, may_be_asked, opening_turns, reading, within
from conformance.trial.fuzz.seed import ACCEPTED, longest_of
from conformance.trial.generator import Native
from conformance.vectors.conversation.state_tracking import OUTSIDE, SUCCEEDS, UNSURE
from conformance.vectors.place import ABSENT, Place, degenerates, put

_MOST_LISTED: Final = 60  # degenerate inputs of an operation
_MOST_OTHER: Final = 20  # inputs of an operation, of each common listing
_MOST_EMPTIED: Final = 20  # leaves of one operation
_MOST_REFUSED: Final = 24  # degenerate inputs of an operation that a state refuses
_MOST_TRIED: Final = 4  # inputs of an operation on each handle, to find one that lets it through
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
            for turn in seeds:
                if _is_new(pool, turn, None, seen):
                    yield (turn,)
        elif first is not None and seeds:
            given, state = first
            yield (given, replace(seeds[0], handle=NOT_GIVEN))
            if operator in pool.inputs:
                yield from ((given, turn) for turn in _turns(pool, operator, 0, _all_empty(pool, operator)))
            bare = _degenerate(pool, operator, 0, _MOST_LISTED) if operator in pool.inputs else ()
            for turn in chain((replace(seed, handle=0) for seed in seeds), bare):
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
    handles = open_handles(pool)
    for operator in pool.inputs:
        takes = method_of(pool.codebook, operator).takes
        asked = _varied(pool, operator, 0 if takes else None)
        if not takes:
            yield from ((turn, *reading(pool, [0])) for turn in asked)
        else:
            yield from _on_handles(pool, asked, handles)


def refused_turns(pool: Pool, operator: str) -> Iterator[ProgramCall]:
    """For every guard that refuses some input on the plain handle, the first such turn."""
    seen = {SUCCEEDS, UNSURE, OUTSIDE}
    state = None if pool.plain is None else pool.plain[1]
    for turn in _varied(pool, operator, 0) if operator in pool.inputs else ():
        if (side := pool.reach(turn, state).side) not in seen:
            seen.add(side)
            yield turn


def long_leaves(pool: Pool) -> Iterator[Program]:
    """For every leaf that can be long, a call with the leaf grown that some handle lets through, and again with other
    middles; it is read after."""
    handles = open_handles(pool)
    for operator in pool.inputs:
        takes = method_of(pool.codebook, operator).takes
        for seed in fullest_inputs(pool, operator)[:1]:
            words = pool.words[operator]
            made = partial(_passing, pool, replace(seed, handle=0 if takes else None), handles)
            yield from grown(words.inside, [seed.native], words.numbers, made, lambda _: True)


def _passing(
    pool: Pool, plain: ProgramCall, handles: Sequence[tuple[ProgramCall, State | None]], native: Native
) -> Program | None:
    """The program of a turn with these inputs that goes through, on a handle if it takes one; None if it does not."""
    turn = replace(plain, native=native)
    if not may_be_asked(pool, turn):
        return None
    if turn.handle is None:
        return (turn, *reading(pool, [0])) if pool.passes(turn, None) else None
    given = next((one for one, state in handles if pool.passes(turn, state)), None)
    return None if given is None else (given, turn, *reading(pool, [0]))


def open_handles(pool: Pool) -> list[tuple[ProgramCall, State]]:
    """Turns that open a handle, each with the state that it leaves: the plain one, one for every operation that it
    refuses, then others with degenerate inputs.

    With its largest number as a limit, a handle lets through what the plain one refuses.
    """
    found = [] if pool.plain is None else [pool.plain]
    for taking in dict.fromkeys(pool.taking):
        turns = pool.good[taking][:_MOST_TRIED]
        if not any(pool.passes(turn, state) for turn in turns for _, state in found):
            welcoming = (one for one in opening_turns(pool) if any(pool.passes(turn, one[1]) for turn in turns))
            found += islice(welcoming, 1)
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
        other = next((one for one in handles if pool.passes(turn, one[1])), None)
        if program and (len(program) > LONGEST or (other is not None and not pool.passes(turn, state))):
            yield (*program, *reading(pool, [0]))
            program = []
        if not program and handles:
            given, state = other or handles[0]
            program = [given]
        for asked in (turn, *_answering(pool, turn)) if program else ():
            program.append(asked)
            state = pool.after(asked, state) if pool.passes(asked, state) else state
    if program:
        yield (*program, *reading(pool, [0]))


def _answering(pool: Pool, turn: ProgramCall) -> Iterator[ProgramCall]:
    """Calls that may tell what a turn gave: of operations that answer and have some of its inputs, with these values.

    What a store keeps under a key is told by no other call than one with that key.
    """
    given = pool.inputs[turn.operator].fields
    for operator in dict.fromkeys(pool.taking):
        contract = pool.codebook[operator].contract
        shared = [one.name for one in (pool.inputs[operator].fields if operator in pool.inputs else ()) if one in given]
        if shared and len(shared) < len(given) and contract.outputs.fields and not pool.model.closes(operator):
            plain = pool.good[operator][0]
            native = {**plain.native, **{name: turn.native[name] for name in shared if name in turn.native}}
            asked = replace(plain, native=native, handle=turn.handle)
            if may_be_asked(pool, asked):
                yield asked


def _degenerate(pool: Pool, operator: str, handle: int | None, most: int) -> Iterator[ProgramCall]:
    """Turns of an operation with degenerate inputs."""
    variants = leaf_variants(pool.words[operator].inside, _alike(pool, operator))
    yield from islice(_turns(pool, operator, handle, variants), most)


def _varied(pool: Pool, operator: str, handle: int | None) -> Iterator[ProgramCall]:
    """Turns of an operation with frozen inputs, with degenerate ones, near the longest one, of the common listings."""
    words, alike = pool.words[operator], _alike(pool, operator)
    yield from islice(_turns(pool, operator, handle, leaf_origins(words.inside, alike)), _MOST_LISTED)
    yield from _degenerate(pool, operator, handle, _MOST_LISTED)
    if (longest := longest_of(alike)) is not None:
        yield from islice(_turns(pool, operator, handle, near_long(words.inside, longest)), _MOST_LISTED)
    origins = Origins(words, _by_side(pool, operator), partial(_side, pool, operator))
    for listing in LISTINGS:
        yield from islice(_turns(pool, operator, handle, listing.inputs(origins)), _MOST_OTHER)


def _all_empty(pool: Pool, operator: str) -> Iterator[Native]:
    """An input with every part empty at once, if it has several parts: on a fresh handle they may equal the state."""
    native = pool.good[operator][0].native
    places = [place for place in pool.words[operator].inside.first(native) if len(place.path) == 1 and place.is_there]
    for place in places:
        bare = (value for value in degenerates(place) if value is not ABSENT and _is_empty(value))
        native = put(native, place.path, next(bare, place.value))
    if len(places) > 1:
        yield native


def _alike(pool: Pool, operator: str) -> list[Native]:
    """The accepted inputs of an operation with the same roots as the first of them."""
    return [one.native for one in pool.good[operator] if one.roots == pool.good[operator][0].roots]


def _by_side(pool: Pool, operator: str) -> dict[str, list[Native]]:
    """The inputs of an operation with the same roots, by the guard that refuses them whatever the state is."""
    roots = pool.good[operator][0].roots
    found: dict[str, list[Native]] = {ACCEPTED: _alike(pool, operator)}
    for native in (seed.native for seed in pool.seeds[operator] if seed.roots == roots):
        if (side := _side(pool, operator, native)) not in (None, ACCEPTED):
            found.setdefault(side, []).append(native)
    return found


def _side(pool: Pool, operator: str, native: Native) -> str | None:
    """The guard that refuses inputs whatever the state is, ACCEPTED for none; None if they cannot be judged."""
    turn = replace(pool.good[operator][0], native=native)
    if not may_be_asked(pool, turn):
        return None
    return ACCEPTED if pool.passes(turn, None) else pool.reach(turn, None).side


def _turns(pool: Pool, operator: str, handle: int | None, natives: Iterable[Native]) -> Iterator[ProgramCall]:
    """The turns with these inputs that can be judged."""
    plain = replace(pool.good[operator][0], handle=handle)
    turns = (replace(plain, native=native) for native in natives)
    yield from (turn for turn in turns if may_be_asked(pool, turn))


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
                turns = tuple(_turn(seed, place, one) for one in (full[0], value))
                if all(may_be_asked(pool, turn) for turn in turns):
                    seen.add(place.key)
                    yield turns[0], turns[1]


def _turn(seed: ProgramCall, place: Place, value: Any) -> ProgramCall:
    return replace(seed, native=put(seed.native, place.path, value), handle=0)


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
        own = [name for name in taking if name == refused.operator]
        others = [name for name in taking if name != refused.operator and not pool.model.closes(name)]
        for key, names, most in ((refused.operator, own, _MOST_REFUSED), ("", others, _MOST_OTHERS)):
            if (mark := (key, repr(way))) not in seen:
                seen.add(mark)
                turns = chain.from_iterable(_degenerate(pool, name, refused.handle, most) for name in names)
                yield (*way, *turns, *reading(pool, [refused.handle]))


def fullest_inputs(pool: Pool, operator: str) -> list[ProgramCall]:
    """The calls to start from: those of successful frozen calls first, and among these the fullest first."""
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
