"""Calls that a contract's cases lack, found by solving the comparisons of its guards and by fuzzing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from random import Random
from typing import Any, Final

from conformance.codec.codebook import Codebook, OperatorForms
from conformance.contract.cel.engine import Unjudgeable
from conformance.contract.cel.syntax import Relation
from conformance.contract.machine import State
from conformance.contract.model import Contract
from conformance.contract.types import ListOf, Scalar, in_range
from conformance.contract.yaml.machine_file import OPEN_HANDLE
from conformance.lint.call import Evaluator, FrozenCall
from conformance.trial.fuzz.draw import drawn_calls
from conformance.trial.fuzz.listings.programs import degenerate, opening
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.program import Program, method_of, without_turns
from conformance.trial.fuzz.program_draw import Pool, move_of, pool_of, programs
from conformance.trial.fuzz.seed import Seeds, printed, vocabulary_of
from conformance.trial.generator import Native
from conformance.trial.missing_calls import MissingCall, missing_calls
from conformance.vectors.case import Case
from conformance.vectors.conversation.state_tracking import SUCCEEDS
from conformance.vectors.place import Place, at, distinct_places, empty_value, put

_NO_CASE: Final = Case("a suggestion", "", "", "", (), (), "quick", ())
_ROUNDS: Final = 3  # comparisons that are solved one after the other in one input
_STARTS: Final = 24  # inputs that a round starts from
_DRAWN: Final = 600  # calls of the fuzzer
_MUTATED: Final = 2500
_CHUNK: Final = 200  # calls that one evaluator remembers
_ACCEPTED: Final = 200  # calls that no guard refuses, for the failures that only the reference knows
_LONGEST: Final = 70_000  # items of a text, of bytes or of a list


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Inputs that a contract's cases lack, and all that they are an example of."""

    native: Native
    shows: tuple[MissingCall, ...]


def suggestions(
    forms: OperatorForms, known: Sequence[FrozenCall], starts: Iterable[Native]
) -> tuple[tuple[Suggestion, ...], tuple[MissingCall, ...], tuple[Native, ...]]:
    """Calls for what the `known` ones lack; what no call was found for; and calls that no guard refuses.

    `starts` are complete inputs to begin with. No answer of a backend is needed: guards and edge cases depend on the
    inputs alone. Nothing of a suite runs: its generators are not used.
    """
    contract = forms.contract
    evaluator = Evaluator(contract)
    search = _Search(forms, evaluator, list(missing_calls(contract, evaluator, known)))
    natives = [dict(call.inputs) for call in known]
    search.known.update(map(printed, natives))
    begun = [*_distinct([*starts, *natives])] or [empty_value(contract.inputs)]
    search.take(begun)
    for _ in range(_ROUNDS):
        search.take(chain.from_iterable(_solved(search, native) for native in search.promising(begun)))
    search.take(_fuzzed(forms, [*begun, *search.passed]))
    for _ in range(_ROUNDS - 1):
        search.take(chain.from_iterable(_solved(search, native) for native in search.promising(begun)))
    return tuple(search.found), tuple(dict.fromkeys(search.missing)), tuple(search.accepted)


class _Search:
    """The calls that are still missing, and those that were found; a candidate is judged once."""

    def __init__(self, forms: OperatorForms, evaluator: Evaluator, missing: list[MissingCall]) -> None:
        self.forms, self.contract, self.evaluator, self.missing = forms, forms.contract, evaluator, missing
        self.found: list[Suggestion] = []
        self.passed: list[Native] = []  # candidates that pass more guards than those before, the best last
        self.known: set[str] = set()
        self.accepted: list[Native] = []
        self._most = -1
        self._judged = 0

    def take(self, natives: Iterable[Native]) -> None:
        for native in natives:
            if not self.missing and (not self.contract.refuses or len(self.accepted) == _ACCEPTED):
                return
            told = printed(native)
            if told in self.known:
                continue
            self.known.add(told)
            self._judged += 1
            if self._judged % _CHUNK == 0:
                self.evaluator = self.evaluator.forgetful()
            try:
                self._judge(native)
            except Unjudgeable:
                continue

    def _judge(self, native: Native) -> None:
        call = FrozenCall(_NO_CASE, "", self.contract.operator, native)
        guard = self.evaluator.refusal(self.contract.requires, call)
        inside = guard is not None or all(self.evaluator.holds(one.text, call) for one in self.contract.domain)
        passed = len(self.contract.requires) if guard is None else self.contract.requires.index(guard)
        if inside and passed > self._most:
            self._most = passed
            self.passed.append(native)
        if not inside:
            return
        if guard is None and len(self.accepted) < _ACCEPTED:
            self.accepted.append(native)
        shows: list[MissingCall] = []
        for one in self.missing:
            if one not in shows and one.meets(self.evaluator, call):
                shows.append(one)
        for one in shows:
            self.missing.remove(one)
        if shows:
            self.found.append(Suggestion(native, tuple(shows)))

    def promising(self, begun: Sequence[Native]) -> list[Native]:
        """Inputs to change next: those that pass most guards, those that were found, and those to begin with."""
        found = [one.native for one in self.found]
        return [*_distinct([*self.passed[::-1], *found[::-1], *begun])][:_STARTS]


def _distinct(natives: Iterable[Native]) -> Iterator[Native]:
    seen: set[str] = set()
    for native in sorted(natives, key=lambda one: len(printed(one))):
        if (told := printed(native)) not in seen:
            seen.add(told)
            yield native


def _fuzzed(forms: OperatorForms, natives: Sequence[Native]) -> Iterator[Native]:
    """Calls as the fuzzer draws them from these inputs, then inputs changed at random, the same every time."""
    contract = replace(forms.contract, fuzz_generator="")  # it would be code of the suite
    plain = replace(forms, contract=contract)
    by_side: dict[str, list[Native]] = {}
    for native in natives:
        try:
            guard = contract.refusal(native)
        except Unjudgeable:
            continue
        by_side.setdefault(guard.id if guard else "", []).append(native)
    seeds = Seeds({side: tuple(some) for side, some in sorted(by_side.items())})
    yield from (call.native for call in drawn_calls(plain, seeds, _DRAWN, 0))
    random, words = Random(contract.operator), vocabulary_of(contract, natives)  # noqa: S311
    for _ in range(_MUTATED):
        native = random.choice(natives)
        for _ in range(random.choice((1, 1, 2, 3))):
            native = mutated(native, random, words)
        yield native


# -- inputs that lie beside a comparison


def _solved(search: _Search, native: Native) -> Iterator[Native]:
    """The input with one leaf changed so that a comparison that is missing is just true, or just not."""
    aims = dict.fromkeys(aim for one in search.missing for aim in one.aims)
    for aim in aims:
        yield from islice(_near_limit(search, native, aim), 60)


def _near_limit(search: _Search, native: Native, aim: Relation) -> Iterator[Native]:
    def of(one: Native) -> tuple[Any, Any]:
        call = FrozenCall(_NO_CASE, "", search.contract.operator, one)
        try:
            return search.evaluator.value(aim.left, call), search.evaluator.value(aim.right, call)
        except Unjudgeable:
            return None, None

    left, right = of(native)
    for place in distinct_places(search.contract.inputs, native):
        if not place.is_there:
            continue
        if type(left) is type(right) is int:
            yield from _moved(native, place, left - right, of)
        for value in (left, right):
            alike = type(value) is type(place.value) and value != place.value and isinstance(place.type, Scalar)
            if alike and (not isinstance(value, int) or in_range(place.type, value)):
                yield put(native, place.path, value)


def _moved(native: Native, place: Place, apart: int, of: Any) -> Iterator[Native]:
    """The input with a leaf moved so that two numbers, `apart` now, are equal, or one apart."""
    if (one_more := _shifted(native, place, 1) or _shifted(native, place, -1)) is None:
        return
    step = 1 if _size(one_more, place) > _size(native, place) else -1
    left, right = of(one_more)
    slope = (left - right - apart) * step if type(left) is type(right) is int else 0
    for change in {1, -1, slope} - {0}:
        for goal in (0, 1, -1):
            for rounding in (0, 1):
                by = (goal - apart) // change + rounding
                if by and (moved := _shifted(native, place, by)) is not None:
                    yield moved


def _size(native: Native, place: Place) -> int:
    value = at(native, place.path)
    return value if isinstance(value, int) else len(value)


def _shifted(native: Native, place: Place, by: int) -> Native | None:
    """The input with a number moved, or a text, bytes or list made longer or shorter; None if that is impossible."""
    value: Any = place.value
    made: Any = None
    if type(value) is int and in_range(place.type, value + by):
        made = value + by
    elif isinstance(value, str | bytes | list) and 0 <= len(value) + by <= _LONGEST and _has_size(place):
        made = value[: len(value) + by] if by < 0 else value + _more(place) * by
    changed: Native | None = None if made is None else put(native, place.path, made)
    return changed


def _has_size(place: Place) -> bool:
    return isinstance(place.type, ListOf) or (isinstance(place.type, Scalar) and place.type.name in ("string", "bytes"))


def _more(place: Place) -> Any:
    if isinstance(place.type, ListOf):
        return [place.value[-1] if place.value else empty_value(place.type.item)]
    return place.value[-1:] or ("a" if isinstance(place.value, str) else b"a")


_PROGRAMS: Final = 1500  # drawn


@dataclass(frozen=True, slots=True)
class SuggestedProgram:
    """A program whose last call is something that the cases lack."""

    program: Program
    operator: str
    shows: tuple[MissingCall, ...]


def machine_suggestions(
    contract: Contract, codebook: Codebook, cases: Sequence[Case], known: Mapping[str, Sequence[FrozenCall]]
) -> tuple[tuple[SuggestedProgram, ...], tuple[tuple[str, MissingCall], ...]]:
    """What the `known` calls of some operations lack and the shortest sequences for it; and what was not found.

    States follow from the machine; where a state depends on an answer it is unknown, and nothing is found.
    """
    search = _MachineSearch(pool_of(contract, cases, codebook), codebook)
    for operator, calls in known.items():
        evaluator = Evaluator(codebook[operator].contract)
        search.evaluators[operator] = evaluator
        lacking = missing_calls(codebook[operator].contract, evaluator, calls)
        # Without a handle the state has no value, so that no other guard can be judged.
        of_handle = f"guard {OPEN_HANDLE}"
        search.missing[operator] = [
            one for one in lacking if one.part != of_handle or not one.name.startswith("before-")
        ]
    drawn = islice(programs(search.pool, f"{contract.operator}\0suggest"), _PROGRAMS)
    for program in chain(opening(search.pool), degenerate(search.pool), drawn):
        if not any(search.missing.values()):
            break
        search.take(program)
    left = [(operator, one) for operator, some in search.missing.items() for one in dict.fromkeys(some)]
    return tuple(search.found), tuple(left)


class _MachineSearch:
    """The calls that each operation still lacks, and the programs found for them."""

    def __init__(self, pool: Pool, codebook: Codebook) -> None:
        self.pool, self.codebook = pool, codebook
        self.evaluators: dict[str, Evaluator] = {}
        self.missing: dict[str, list[MissingCall]] = {}
        self.found: list[SuggestedProgram] = []

    def take(self, program: Program) -> None:
        """Note every call of a program that is missing, each in the shortest program that leads to it."""
        for k, call in enumerate(self.calls(program)):
            if call is None or not self.missing.get(call.operator):
                continue
            shows = self.missing_in(call)
            if not shows:
                continue
            short = self.shortest(program[: k + 1], shows)
            self.found.append(SuggestedProgram(short, call.operator, tuple(shows)))
            for one in shows:
                self.missing[call.operator].remove(one)

    def missing_in(self, call: FrozenCall) -> list[MissingCall]:
        """The missing kinds of call that this call is an example of."""
        evaluator = self.evaluators[call.operator].forgetful()
        contract = self.codebook[call.operator].contract
        try:
            inside = evaluator.refusal(contract.requires, call) or all(
                evaluator.holds(one.text, call) for one in contract.domain
            )
            distinct = dict.fromkeys(self.missing[call.operator])
            return [one for one in distinct if inside and one.meets(evaluator, call)]
        except Unjudgeable:
            return []

    def calls(self, program: Program) -> Iterator[FrozenCall | None]:
        """Every turn as a call in its state; None if a guard depends on state that is not known."""
        live: dict[int, State] = {}
        for k, turn in enumerate(program):
            contract, method = self.codebook[turn.operator].contract, method_of(self.codebook, turn.operator)
            state = live.get(-1 if turn.handle is None else turn.handle)
            inputs = dict(turn.native) if state is None else {**turn.native, "state": state}
            known = state is not None or not method.takes or turn.handle is not None
            judged = known and contract.foresees(inputs)
            yield FrozenCall(_NO_CASE, str(k), turn.operator, inputs) if judged else None
            reached = self.pool.model.reach(move_of(turn), state)
            if reached.side != SUCCEEDS:
                continue
            if method.opens:
                live[k] = reached.after or {}
            elif turn.handle in live and turn.handle is not None:
                live.pop(turn.handle)
                if reached.after is not None:
                    live[turn.handle] = reached.after

    def shortest(self, program: Program, shows: Sequence[MissingCall]) -> Program:
        """The program without every turn that its last call does not need."""
        for k in range(len(program) - 2, -1, -1):
            shorter = without_turns(program, [k])
            if not shorter or shorter[-1].operator != program[-1].operator:
                continue
            *_, last = self.calls(shorter)
            if last is not None and set(shows) <= set(self.missing_in(last)):
                program = shorter
        return program
