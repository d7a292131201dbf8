"""One fuzzed answer compared with that of the reference, and what fuzzing reached: every guard from both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from conformance.backend.driver import Call
from conformance.backend.outcome import BadAnswer, Observed, ObservedFailure, ObservedResult
from conformance.contract.model import Contract
from conformance.trial.check import (
    Check,
    FailedCall,
    Kind,
    Result,
    Verdict,
    answer_of,
    loss_sentence,
    outcome_name,
)
from conformance.trial.fuzz.seed import ACCEPTED
from conformance.vectors.case import Expected, ExpectedFailure, ExpectedResult
from conformance.vectors.difference import difference

LEAST_SUCCEEDED: Final = 0.6  # share of calls


class Figures:
    """The running count of one operator's fuzzed calls by the side they lie on, the listed ones apart."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.drawn: Counter[str] = Counter()
        self.listed: Counter[str] = Counter()  # not drawn: the smallest example of every side, degenerate values

    def add(self, side: str, listed: bool = False) -> None:
        """One more call on this side."""
        (self.listed if listed else self.drawn)[side] += 1

    def record(self) -> dict[str, Any]:
        """The figures in the form of the record; `passed` counts calls that a guard was asked about and let by.

        `examples` and `succeeded` are of the drawn calls; a listed one may well be refused.
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
        for id_, counts in self.record()["guards"].items():
            for side, count in counts.items():
                if not count:
                    yield f"no call was {side} by the guard {id_}"


SEEN_ONCE: Final = "the backend and the reference differed once, and not when the same was asked again by itself"
LOST: Final = "the reference was lost"
SPEECHLESS: Final = "the reference itself gave no proper answer"


def fuzz_check(contract: Contract) -> Check:
    """The check that fuzzing one operator, or one machine, is."""
    why = "Answers equal the reference's on inputs derived from the contract, on both sides of every guard."
    if contract.machine is not None:
        why = "Answers equal the reference's in sequences of calls derived from the contract, on several handles."
    return Check(f"{contract.operator}?fuzz", Kind.FUZZ, contract.operator, "fuzz", why, (), ())


def judged(check: Check, contract: Contract, call: Call, right: Observed, said: Observed, found: str) -> Result | None:
    """What is wrong with an answer, None where it is the reference's; `found` is the sentence for it."""
    asked = FailedCall(call.operator, call.inputs, answer_of(said))
    expected: Expected
    if isinstance(right, ObservedResult):
        expected = ExpectedResult(right.fields)
    elif isinstance(right, ObservedFailure):
        expected = ExpectedFailure(right.code, right.data)
    else:
        message = f"{SPEECHLESS}: {right}"
        return Result(check, Verdict.ERROR, outcome_name(right), message=message, call=asked, of_suite=True)
    if not isinstance(said, ObservedResult | ObservedFailure | BadAnswer):
        return Result(check, Verdict.ERROR, outcome_name(said), message=loss_sentence(said), call=asked)
    apart = difference(expected, said, contract.outputs, contract.failure)
    if apart is None:
        return None
    return Result(check, Verdict.FAIL, outcome_name(said), message=found, difference=apart, call=asked)
