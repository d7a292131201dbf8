"""Programs drawn from a seed: calls on several handles, mostly with inputs that the contract accepts.

They are drawn with Random. Hypothesis also draws constants from the loaded modules, so a selection of checks, an
installed wheel or a forked process would give other programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random
from typing import Any, Final

from conformance.codec.codebook import Codebook
from conformance.contract.cel.engine import Unjudgeable
from conformance.contract.machine import State
from conformance.contract.model import Contract
from conformance.contract.types import Struct, without_places
from conformance.lint.call import calls_of
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.program import NOT_GIVEN, Program, ProgramCall, method_of, program_of, turn_of
from conformance.trial.fuzz.seed import Vocabulary, vocabulary_of
from conformance.trial.generator import Native
from conformance.vectors.case import CallStep, Case, ExpectedFailure
from conformance.vectors.conversation.state_tracking import OUTSIDE, SUCCEEDS, UNSURE, CallEffect, MachineCall, Model

LONGEST: Final = 14  # turns of a drawn program
_SELDOM: Final = 0.1  # of the turns open one more handle
_LUCKY: Final = 7 / 8  # of the turns are to succeed
_AGAIN: Final = 2 / 3  # of the turns use a closed handle if none is open
_HANDLES: Final = ["live"] * 16 + ["closed"] * 2 + ["not given"]
_CHANGES: Final = [0, 0, 1, 1, 2]  # places of an example that a turn changes
_COMPARED: Final = 8  # first handles, and inputs of an operation on each
_TRIES: Final = 4  # draws until a turn succeeds that should


@dataclass(frozen=True, slots=True)
class Seed:
    """Inputs to start from: the native inputs without roots and handles, and the roots."""

    native: Native
    roots: Mapping[str, Any]


@dataclass(slots=True)
class Pool:
    """What programs of one machine are drawn from."""

    contract: Contract
    codebook: Codebook
    model: Model
    refusing: tuple[Program, ...] = ()  # the shortest program to each refusal in the cases
    seeds: dict[str, tuple[Seed, ...]] = field(default_factory=dict)
    good: dict[str, tuple[Seed, ...]] = field(default_factory=dict)  # that a fresh handle accepts; all, if none
    answered: dict[str, frozenset[str]] = field(default_factory=dict)  # printed seeds of frozen calls that succeed
    inputs: dict[str, Struct] = field(default_factory=dict)  # without places; nothing for what takes only those
    words: dict[str, Vocabulary] = field(default_factory=dict)
    plain: tuple[ProgramCall, State] | None = None  # opens a handle, and the state that it leaves
    reached: dict[tuple[str, int, str], tuple[ProgramCall, CallEffect]] = field(default_factory=dict)

    def reach(self, turn: ProgramCall, state: State | None) -> CallEffect:
        """What a turn does on a handle in this state; inputs that are the same object are judged once.

        A turn that the expression engine cannot judge is outside the domain.
        """
        key = (turn.operator, id(turn.native), "" if state is None else repr(state))
        if key not in self.reached:
            try:
                effect = self.model.reach(move_of(turn), state)
            except Unjudgeable:
                effect = CallEffect(OUTSIDE, frozenset(), state)
            self.reached[key] = turn, effect
        return self.reached[key][1]

    def passes(self, turn: ProgramCall, state: State | None) -> bool:
        """Whether a turn goes through in a state."""
        return self.reach(turn, state).side in (SUCCEEDS, UNSURE)

    def after(self, turn: ProgramCall, state: State | None) -> State:
        """The state that a turn leaves."""
        return self.reach(turn, state).after or {}

    @property
    def opening(self) -> list[str]:
        """The operations that open a handle and can be drawn; those that files may refuse come up less often."""
        opening = [name for name in self.seeds if self.model.opening(name)]
        return [name for name in opening for _ in range(1 if self.codebook[name].contract.refuses else 3)]

    @property
    def taking(self) -> list[str]:
        """The operations that take a handle; those that close one seldom come up."""
        taking = [name for name in self.seeds if not self.model.opening(name)]
        return [name for name in taking for _ in range(1 if self.model.closes(name) else 4)]


def pool_of(contract: Contract, cases: Sequence[Case], codebook: Codebook) -> Pool:
    """Everything to draw from: the examples of the contract, and the inputs of frozen calls."""
    model = Model(contract, codebook)
    assert contract.machine is not None
    methods = contract.machine.methods
    quick = [case for case in cases if case.profile == "quick"]
    pool = Pool(contract, codebook, model)
    steps = [step for case in quick for step in case.calls if step.operator in methods]
    answers = [(step, turn) for step in steps for turn in [turn_of(step, codebook, {})] if turn is not None]
    asked = [turn for _, turn in answers]
    lucky = [turn for step, turn in answers if not isinstance(step.expected, ExpectedFailure)]
    for operator, moves in model.moves.items():
        forms, method = codebook[operator], method_of(codebook, operator)
        places = {*forms.roots, *([method.takes] if method.takes else ())}
        seeds = {repr(seed): seed for move in moves for seed in [_seed(move, places)]}
        turns = [turn for turn in asked if turn.operator == operator]
        seeds |= {repr(seed): seed for turn in turns for seed in [Seed(turn.native, turn.roots)]}
        pool.seeds[operator] = tuple(seeds[key] for key in sorted(seeds, key=lambda text: (len(text), text)))
        pool.answered[operator] = frozenset(
            repr(Seed(turn.native, turn.roots)) for turn in lucky if turn.operator == operator
        )
        plain = without_places(forms.contract.inputs)
        if plain.fields:
            pool.inputs[operator] = plain
            pool.words[operator] = vocabulary_of(
                replace(forms.contract, inputs=plain), [seed.native for seed in pool.seeds[operator]]
            )
    pool.plain = _most_welcoming(pool)
    fresh = None if pool.plain is None else pool.plain[1]
    for operator, some in pool.seeds.items():
        pool.good[operator] = tuple(seed for seed in some if _is_good(pool, operator, seed, fresh)) or some
    pool.refusing = tuple(_refusing(quick, codebook, methods))
    return pool


def _most_welcoming(pool: Pool) -> tuple[ProgramCall, State] | None:
    """The turn, of the first few that open a handle, whose handle lets the most inputs through."""

    def accepted(opened: tuple[ProgramCall, State]) -> int:
        some = ((name, seed) for name in {*pool.taking} for seed in pool.seeds[name][:_COMPARED])
        turns = (ProgramCall(name, seed.native, seed.roots, 0) for name, seed in some)
        return sum(pool.reach(turn, opened[1]).side in (SUCCEEDS, UNSURE) for turn in turns)

    return max(islice(opening_turns(pool), _COMPARED), key=accepted, default=None)


def _refusing(cases: Sequence[Case], codebook: Codebook, methods: Sequence[str]) -> Iterator[Program]:
    """For every guard that refuses in a frozen trace, the shortest program from the traces that reaches it."""
    seen: set[tuple[str, str]] = set()
    refused = (case for case in cases if any(_is_refused(step, methods) for step in case.calls))
    for case in sorted(refused, key=lambda one: (len(one.steps), one.id)):
        for call in calls_of(case, codebook):
            contract = codebook[call.operator].contract
            if call.succeeds or call.operator not in methods or not contract.foresees(call.inputs):
                continue
            guard = contract.refusal(call.inputs)
            if guard is not None and (call.operator, guard.id) not in seen:
                seen.add((call.operator, guard.id))
                yield program_of(case, call.step, codebook, methods)


def _is_refused(step: CallStep, methods: Sequence[str]) -> bool:
    return step.operator in methods and isinstance(step.expected, ExpectedFailure)


def _is_good(pool: Pool, operator: str, seed: Seed, fresh: State | None) -> bool:
    turn = ProgramCall(operator, seed.native, seed.roots)
    return pool.passes(turn, fresh) and within(pool, turn)


def within(pool: Pool, turn: ProgramCall) -> bool:
    """Whether a turn keeps the limits that only fuzzing has: the call is cheap enough, and it ends."""
    contract = pool.codebook[turn.operator].contract
    activation = contract.environment.bind(turn.native) if contract.fuzz_limits else None
    return all(limit.holds(activation) for limit in contract.fuzz_limits)


def _seed(move: MachineCall, places: set[str]) -> Seed:
    native = {name: value for name, value in move.native.items() if name not in places}
    roots = {name: value for name, value in move.wire.items() if name in places and isinstance(value, Mapping)}
    return Seed(native, roots)


def opening_turns(pool: Pool) -> Iterator[tuple[ProgramCall, State]]:
    """The turns that open a handle with any files, each with the state that it leaves."""
    for operator in pool.opening:
        for seed in pool.seeds[operator]:
            turn = ProgramCall(operator, seed.native, seed.roots)
            reached = pool.reach(turn, None)
            if reached.side == SUCCEEDS and reached.after is not None and within(pool, turn):
                yield turn, reached.after


def is_judged(pool: Pool, turn: ProgramCall) -> bool:
    """Whether the expression engine can hold a turn's inputs, and they lie in the domain."""
    return pool.reach(turn, None).side != OUTSIDE


def may_be_asked(pool: Pool, turn: ProgramCall) -> bool:
    """Whether a turn can be judged, and keeps the limits of fuzzing."""
    return is_judged(pool, turn) and within(pool, turn)


def programs(pool: Pool, seed: str) -> Iterator[Program]:
    """Endless programs; none if no operation opens a handle."""
    random = Random(seed)  # noqa: S311
    opening, taking = pool.opening, pool.taking or pool.opening
    while opening:
        yield _program(random, pool, opening, taking)


def _program(random: Random, pool: Pool, opening: Sequence[str], taking: Sequence[str]) -> Program:
    turns: list[ProgramCall] = []
    live: dict[int, State] = {}
    closed: list[int] = []
    for _ in range(random.randint(2, LONGEST)):
        begins = not (live or closed) or random.random() < _SELDOM or (not live and random.random() >= _AGAIN)
        operator = random.choice(opening if begins else taking)
        handle = None
        if method_of(pool.codebook, operator).takes:
            handle = _drawn_handle(random, live, closed)
        wanted = random.random() < _LUCKY
        for attempt in range(_TRIES):
            seeds = pool.good if wanted else pool.seeds
            turn = _drawn_turn(random, pool, operator, random.choice(seeds[operator]), handle)
            reached = pool.reach(turn, live.get(NOT_GIVEN if handle is None else handle))
            content = not wanted or reached.side in (SUCCEEDS, UNSURE) or attempt + 1 == _TRIES
            if content and reached.side != OUTSIDE and within(pool, turn):
                break
        else:
            continue
        turns.append(turn)
        if reached.side == SUCCEEDS:
            _follow(pool, turn, len(turns) - 1, reached.after, live, closed)
    return (*turns, *reading(pool, list(live)))


def reading(pool: Pool, live: Sequence[int]) -> Iterator[ProgramCall]:
    """What can be read on every handle that is still open: a wrong state shows at the end at the latest."""
    for handle in live:
        for operator in filter(pool.model.reads, pool.seeds):
            seed = pool.good[operator][0]
            yield ProgramCall(operator, seed.native, seed.roots, handle)


def _follow(
    pool: Pool, turn: ProgramCall, number: int, after: State | None, live: dict[int, State], closed: list[int]
) -> None:
    if method_of(pool.codebook, turn.operator).opens:
        live[number] = after or {}
    elif turn.handle is not None and turn.handle in live:
        if after is None:
            del live[turn.handle]
            closed.append(turn.handle)
        else:
            live[turn.handle] = after


def _drawn_handle(random: Random, live: Mapping[int, State], closed: Sequence[int]) -> int:
    kind = random.choice(_HANDLES)
    if kind == "not given" or not (live or closed):
        return NOT_GIVEN
    return random.choice(list(closed if not live or (closed and kind == "closed") else live))


def _drawn_turn(random: Random, pool: Pool, operator: str, seed: Seed, handle: int | None) -> ProgramCall:
    native = seed.native
    for _ in range(random.choice(_CHANGES) if operator in pool.inputs else 0):
        other = mutated(native, random, pool.words[operator])
        native = other if is_judged(pool, ProgramCall(operator, other, seed.roots, handle)) else native
    return ProgramCall(operator, native, seed.roots, handle)


def move_of(turn: ProgramCall) -> MachineCall:
    """A turn as a move of the model."""
    return MachineCall(turn.operator, {}, turn.native)
