"""One operator fuzzed: calls are drawn from its contract, the reference says what is right, answers are compared."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from conformance.backend.driver import Call
from conformance.backend.outcome import BadAnswer, Lost, Observed, ObservedFailure, ObservedResult, describe
from conformance.codec.codebook import Codebook, OperatorForms
from conformance.contract.model import Contract
from conformance.trial.cases import guard_details
from conformance.trial.check import (
    Check,
    FailedCall,
    Kind,
    Result,
    Verdict,
    answer_of,
    lost,
    outcome_name,
    unjudged,
)
from conformance.trial.client import Client, asked_of_both
from conformance.trial.fuzz.draw import DRAWN, GROWN, DrawnCall, drawn_calls
from conformance.trial.fuzz.seed import ACCEPTED, InputLimits, seeds_of
from conformance.trial.fuzz.shrink import RecordedChoices, in_steps, simpler, smallest_example
from conformance.trial.fuzz.task import FuzzTask
from conformance.trial.generator import Native
from conformance.vectors.case import Case, Expected, ExpectedFailure, ExpectedResult, QuestionCall
from conformance.vectors.conversation.difference import difference
from conformance.vectors.conversation.exchange import AnyStep, Transcript

LEAST_SUCCEEDED: Final = 0.6  # share of calls
SEEN_ONCE: Final = "the backend and the reference differed once, but not when the call was repeated alone"
SPEECHLESS: Final = "the reference gave no valid answer"
DEFAULT_EXAMPLES: Final = 200  # drawn calls per operator; listed calls are not counted
_TOGETHER: Final = 32  # calls that are asked at once


def fuzz_operator(task: FuzzTask) -> tuple[Result, Mapping[str, Any]]:
    """Fuzz one operator, or one machine; the result and the figures for the record."""
    if task.contract.machine is not None:
        from conformance.trial.fuzz.machine import fuzz_machine

        return fuzz_machine(task, task.examples or DEFAULT_EXAMPLES)
    search = _Search(task)
    calls = task.drawn or calls_for(search.forms, task.cases, task.examples or 0, task.seed)
    for start in range(0, len(calls), _TOGETHER):
        if search.found is None:
            search.try_calls(calls[start : start + _TOGETHER])
    if task.trusted:
        search.shrink()
    return search.result(), search.figures.record()


def calls_for(forms: OperatorForms, cases: Sequence[Case], wanted: int = 0, seed: str = "") -> tuple[DrawnCall, ...]:
    """The calls that an operator is fuzzed with; they do not depend on any answer."""
    wanted = wanted or forms.contract.fuzz_examples or DEFAULT_EXAMPLES
    bounds = InputLimits(forms.contract).recall()
    calls = drawn_calls(forms, seeds_of(forms, cases, bounds), wanted, seed_number(forms, seed), bounds)
    bounds.keep()
    return calls


def seed_number(forms: OperatorForms, seed: str) -> int:
    """The number that an operator's calls are drawn from."""
    return int.from_bytes(hashlib.sha256(f"{forms.contract.operator}\0{seed}".encode()).digest()[:8], "big")


class _Search:
    """The state of one operator's fuzzing: what was reached, and the first wrong answer found."""

    def __init__(self, task: FuzzTask) -> None:
        self.task, self.contract = task, task.contract
        self.forms = task.codebook[task.operator]
        self.figures = FuzzCounts(task.contract)
        self.found: Result | None = None
        self.wrong: DrawnCall | None = None  # the call whose answer was wrong

    def try_calls(self, calls: Sequence[DrawnCall]) -> None:
        """Ask both, compare, and count; notes the first wrong answer."""
        first = self._first_wrong([call.native for call in calls])
        for call in calls if first is None else calls[: first + 1]:
            self.figures.add(call.side, listed=call.why != DRAWN)
        self.wrong = self.wrong if first is None else calls[first]

    def shrink(self) -> None:
        """Make the call with the wrong answer small; it stays on the same side of the guards.

        A call stays as it is if it loses the backend (each loss costs much), or if its size may be the mistake.
        """
        wrong = self.wrong
        if wrong is None or self.found is None or self.found.verdict is not Verdict.FAIL or wrong.why == GROWN:
            return
        bounds = InputLimits(self.contract)

        def is_wrong(native: Native) -> bool:
            return bounds.side(native) == wrong.side and self._first_wrong([native]) is not None

        made = wrong.choices
        ways: list[Callable[[Native], RecordedChoices]] = [] if made is None else [lambda _: made()]
        ways += in_steps(partial(simpler, self.contract.inputs))
        native = smallest_example(wrong.native, ways, is_wrong)
        if self._first_wrong([native]) is None:
            self.found = replace(self.found, message=SEEN_ONCE)

    def _first_wrong(self, natives: Sequence[Native]) -> int | None:
        """The index of the first input that is answered wrongly; sets `found` to the failure."""
        asked = [Call(self.contract.operator, self.forms.inputs.from_native(native)) for native in natives]
        answers = zip(asked, asked_of_both(asked, self.task.reference, self.task.backend), strict=True)
        for k, (call, (right, said)) in enumerate(answers):
            if (wrong := self._failure_of(call, right, said)) is not None:
                self.found = replace(wrong, steps=(QuestionCall("call", call.operator, call.inputs),))
                return k
        return None

    def _failure_of(self, call: Call, right: Observed, said: Observed) -> Result | None:
        found = "the smallest call found on which the backend and the reference differ"
        wrong = wrong_answer(self.task.check, self.contract, call, right, said, found)
        if wrong is None or wrong.verdict is not Verdict.FAIL or not isinstance(said, ObservedFailure):
            return wrong
        return replace(wrong, details=guard_details(self.contract, self.forms.inputs.to_native(call.inputs), said))

    def result(self) -> Result:
        """The verdict: the failure, an error if the calls reached too little, or a pass."""
        if self.found is not None:
            return self.found
        if shortfalls := list(self.figures.shortfalls()):
            return unjudged(self.task.check, "fuzzing reached too little: " + "; ".join(shortfalls))
        return Result(self.task.check, Verdict.PASS)


class FuzzCounts:
    """Counts one operator's fuzzed calls by side, drawn and listed calls separately."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.drawn: Counter[str] = Counter()
        self.listed: Counter[str] = Counter()  # not drawn: the smallest example of every side, degenerate values

    def add(self, side: str, listed: bool = False) -> None:
        """Count one call on this side."""
        (self.listed if listed else self.drawn)[side] += 1

    def record(self) -> dict[str, Any]:
        """The figures in the form of the record; `passed` counts the calls that reached a guard and passed it.

        `examples` and `succeeded` count drawn calls only, because many listed calls are meant to be refused.
        """
        guards: dict[str, Any] = {}
        sides = self.drawn + self.listed
        left = sides.total()
        for guard in self.contract.requires:
            left -= sides[guard.id]
            guards[guard.id] = {"passed": left, "refused": sides[guard.id]}
        drawn = {"examples": self.drawn.total(), "succeeded": self.drawn[ACCEPTED]}
        return {**drawn, "listed": self.listed.total(), "guards": guards}

    def shortfalls(self) -> Iterator[str]:
        """What was not reached; fuzzing that misses a side of a guard must not look green."""
        succeeded, drawn = self.drawn[ACCEPTED], self.drawn.total()
        if succeeded < LEAST_SUCCEEDED * drawn or not drawn:
            yield f"only {succeeded} of {drawn} calls succeed; at least {LEAST_SUCCEEDED:.0%} must"
        yield from unreached_sides(self.record()["guards"])


def unreached_sides(guards: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """A sentence for each side of a guard on which no call lay."""
    for id_, counts in guards.items():
        sides = (side for side, count in counts.items() if not count)
        yield from (f"no call was {side} by the guard {id_} (add an example or a case of one)" for side in sides)


def fuzz_check(contract: Contract) -> Check:
    """The check for the fuzzing of one operator or one machine."""
    why = "Answers equal the reference's on inputs derived from the contract, on both sides of every guard."
    if contract.machine is not None:
        why = "Answers equal the reference's in sequences of calls derived from the contract, on several handles."
    return Check(f"{contract.operator}?fuzz", Kind.FUZZ, contract.operator, "fuzz", why, (), ())


def reference_lost(check: Check, loss: Lost) -> Result:
    """The error of a check in which the reference was lost."""
    advice = "it must answer, or a guard or a limit under `fuzz` must rule the call out"
    return unjudged(check, f"the reference was lost: {describe(loss)}; {advice}", loss)


def with_lost_call(result: Result, steps: Sequence[AnyStep], backend: Client, reference: Client) -> Result:
    """A result of these steps, with the call in which the backend or the reference was lost, if one was."""
    if result.verdict is not Verdict.ERROR or result.call is not None:
        return result
    return replace(result, call=(reference if result.of_suite else backend).last_call(steps))


def wrong_walk(
    check: Check, codebook: Codebook, right: Transcript, said: Transcript | Lost, found: str
) -> Result | None:
    """The failure at the first call that a walk answers wrongly, or the loss of the backend; None if all is right."""
    if said is right:  # a known walk
        return None
    if not isinstance(said, Transcript):
        return lost(check, said)
    for one, other in zip(right.exchanges, said.exchanges, strict=False):
        contract, call = codebook[one.operator].contract, Call(one.operator, one.inputs)
        if (wrong := wrong_answer(check, contract, call, one.observed, other.observed, found)) is not None:
            return replace(wrong, step=one.step)
    return None


def wrong_answer(
    check: Check, contract: Contract, call: Call, right: Observed, said: Observed, found: str
) -> Result | None:
    """The failure of a wrong answer, None if it equals the reference's; `found` is the message of the failure."""
    asked = FailedCall(call.operator, call.inputs, answer_of(said))
    expected: Expected
    if isinstance(right, ObservedResult):
        expected = ExpectedResult(right.fields)
    elif isinstance(right, ObservedFailure):
        expected = ExpectedFailure(right.code, right.data)
    else:
        return unjudged(check, f"{SPEECHLESS}: {right}", right, asked)
    if said is right:  # a known answer
        return None
    if not isinstance(said, ObservedResult | ObservedFailure | BadAnswer):
        return lost(check, said, call=asked)
    apart = difference(expected, said, contract.outputs, contract.failure)
    if apart is None:
        return None
    return Result(check, Verdict.FAIL, outcome_name(said), message=found, difference=apart, call=asked)
