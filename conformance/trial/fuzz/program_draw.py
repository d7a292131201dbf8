"""Programs drawn from a seed: calls on several handles, mostly with inputs that the contract accepts.

They are drawn with Random. Hypothesis also draws constants from the loaded modules, so a selection of checks, an
installed wheel or a forked process would give other programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random
from typing import Final

from conformance.codec.codebook import Codebook
from conformance.contract.cel.engine import Unjudgeable
from conformance.contract.machine import State
from conformance.contract.model import Contract
from conformance.contract.types import Struct, without_places
from conformance.lint.call import calls_of
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.program import NOT_GIVEN, Program, ProgramCall, method_of, program_of, turn_of
from conformance.trial.fuzz.seed import Vocabulary, vocabulary_of
from conformance.vectors.case import CallStep, Case, ExpectedFailure
from conformance.vectors.conversation.state_tracking import OUTSIDE, SUCCEEDS, UNSURE, CallEffect, MachineCall, Model

LONGEST: Final = 14  # turns of a drawn program
_SELDOM: Final = 0.1  # of the turns open one more handle
_LUCKY: Final = 7 / 8  # of the turns are to succeed
_AGAIN: Final = 2 / 3  # of the turns use a closed handle if none is open
_HANDLES: Final = ["live"] * 16 + ["closed"] * 2 + ["not given"]
_CHANGES: Final = [0, 0, 1, 1, 2]  # places of an example that a turn changes
_COMPARED: Final = 8  # first handles, and inputs of an operation on each
_TRIES: Final = 8  # draws until a turn succeeds that should, from the second on of any operation


@dataclass(slots=True)
class Pool:
    """What programs of one machine are drawn from."""

    contract: Contract
    codebook: Codebook
    model: Model
    refusing: tuple[Program, ...] = ()  # the shortest program to each refusal in the cases
    seeds: dict[str, tuple[ProgramCall, ...]] = field(default_factory=dict)  # calls to start from, without a handle
    good: dict[str, tuple[ProgramCall, ...]] = field(default_factory=dict)  # that a fresh handle accepts; all, if none
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
    def keeps_files(self) -> bool:
        """Whether the calls of the machine read or write files: each costs more."""
        return self.contract.purity == "io"

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
    asked = [replace(turn, handle=None) for _, turn in answers]
    lucky = {repr(seed) for (step, _), seed in zip(answers, asked, strict=True) if not _fails(step)}
    for operator, moves in model.moves.items():
        forms, method = codebook[operator], method_of(codebook, operator)
        places = {*forms.roots, *([method.takes] if method.takes else ())}
        own = [*(_seed(move, places) for move in moves), *(seed for seed in asked if seed.operator == operator)]
        seeds = {repr(seed): seed for seed in own}
        pool.seeds[operator] = tuple(seeds[key] for key in sorted(seeds, key=lambda text: (len(text), text)))
        pool.answered[operator] = frozenset(seeds.keys() & lucky)
        plain = without_places(forms.contract.inputs)
        if plain.fields:
            pool.inputs[operator] = plain
            pool.words[operator] = vocabulary_of(
                replace(forms.contract, inputs=plain), [seed.native for seed in pool.seeds[operator]]
            )
    pool.plain = _most_welcoming(pool)
    fresh = None if pool.plain is None else pool.plain[1]
    for operator, some in pool.seeds.items():
        fit = (seed for seed in some if pool.passes(seed, fresh) and within(pool, seed))
        pool.good[operator] = tuple(fit) or some
    pool.refusing = tuple(_refusing(quick, codebook, methods))
    return pool


def _most_welcoming(pool: Pool) -> tuple[ProgramCall, State] | None:
    """The turn, of the first few that open a handle, whose handle lets the most inputs through."""

    def accepted(opened: tuple[ProgramCall, State]) -> int:
        some = (seed for name in {*pool.taking} for seed in pool.seeds[name][:_COMPARED])
        return sum(pool.reach(seed, opened[1]).side in (SUCCEEDS, UNSURE) for seed in some)

    return max(islice(opening_turns(pool), _COMPARED), key=accepted, default=None)


def _refusing(cases: Sequence[Case], codebook: Codebook, methods: Sequence[str]) -> Iterator[Program]:
    """For every guard that refuses in a frozen trace, the shortest program from the traces that reaches it."""
    seen: set[tuple[str, str]] = set()
    refused = (case for case in cases if any(step.operator in methods and _fails(step) for step in case.calls))
    for case in sorted(refused, key=lambda one: (len(one.steps), one.id)):
        for call in calls_of(case, codebook):
            contract = codebook[call.operator].contract
            if call.succeeds or call.operator not in methods or not contract.foresees(call.inputs):
                continue
            guard = contract.refusal(call.inputs)
            if guard is not None and (call.operator, guard.id) not in seen:
                seen.add((call.operator, guard.id))
                yield program_of(case, call.step, codebook, methods)


def _fails(step: CallStep) -> bool:
    return isinstance(step.expected, ExpectedFailure)


def within(pool: Pool, turn: ProgramCall) -> bool:
    """Whether a turn keeps the limits that only fuzzing has: the call is cheap enough, and it ends."""
    contract = pool.codebook[turn.operator].contract
    activation = contract.environment.bind(turn.native) if contract.fuzz_limits else None
    return all(limit.holds(activation) for limit in contract.fuzz_limits)


def _seed(move: MachineCall, places: set[str]) -> ProgramCall:
    native = {name: value for name, value in move.native.items() if name not in places}
    roots = {name: value for name, value in move.wire.items() if name in places and isinstance(value, Mapping)}
    return ProgramCall(move.operator, native, roots)


def opening_turns(pool: Pool) -> Iterator[tuple[ProgramCall, State]]:
    """The turns that open a handle with any files, each with the state that it leaves."""
    for operator in pool.opening:
        for turn in pool.seeds[operator]:
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
    lasting = [name for name in taking if not pool.model.closes(name)] or taking
    for _ in range(random.randint(2, LONGEST)):
        begins = not (live or closed) or random.random() < _SELDOM or (not live and random.random() >= _AGAIN)
        operator = random.choice(opening if begins else taking)
        handle = None
        if method_of(pool.codebook, operator).takes:
            handle = _drawn_handle(random, live, closed)
        wanted = random.random() < _LUCKY
        for attempt in range(_TRIES):
            if attempt and wanted and not begins:
                operator = random.choice(lasting)
                if attempt + 1 == _TRIES:  # no state of a handle may let anything through any more
                    operator, handle = random.choice(opening), None
            seeds = pool.good if wanted else pool.seeds
            turn = _drawn_turn(random, pool, replace(random.choice(seeds[operator]), handle=handle))
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
            yield replace(pool.good[operator][0], handle=handle)


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


def _drawn_turn(random: Random, pool: Pool, turn: ProgramCall) -> ProgramCall:
    for _ in range(random.choice(_CHANGES) if turn.operator in pool.inputs else 0):
        other = replace(turn, native=mutated(turn.native, random, pool.words[turn.operator]))
        turn = other if is_judged(pool, other) else turn
    return turn


def move_of(turn: ProgramCall) -> MachineCall:
    """A turn as a move of the model."""
    return MachineCall(turn.operator, {}, turn.native)
