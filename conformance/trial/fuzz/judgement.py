"""One fuzzed answer held to the reference's."""

from __future__ import annotations

from typing import Final

from conformance.backend.drive import Call
from conformance.backend.observed import BadAnswer, Observed, ObservedFailure, ObservedResult
from conformance.contract.model import Contract
from conformance.trial import check as checks
from conformance.trial.check import Check, Kind, Result, Verdict
from conformance.trial.judge import answer_of, difference, loss_sentence, outcome_name
from conformance.vectors.case import Expected, ExpectedFailure, ExpectedResult

SPEECHLESS: Final = "the reference itself gave no proper answer"


def fuzz_check(contract: Contract) -> Check:
    """The check that fuzzing one operator, or one machine, is."""
    why = "Answers equal the reference's on inputs derived from the contract, on both sides of every guard."
    if contract.machine is not None:
        why = "Answers equal the reference's in sequences of calls derived from the contract, on several handles."
    return Check(f"{contract.operator}?fuzz", Kind.FUZZ, contract.operator, "fuzz", why, (), ())


def judged(check: Check, contract: Contract, call: Call, right: Observed, said: Observed, found: str) -> Result | None:
    """What is wrong with an answer, None where it is the reference's; `found` is the sentence for it."""
    asked = checks.Call(call.operator, call.inputs, answer_of(said))
    expected: Expected
    if isinstance(right, ObservedResult):
        expected = ExpectedResult(right.fields)
    elif isinstance(right, ObservedFailure):
        expected = ExpectedFailure(right.code, right.data)
    else:
        message = f"{SPEECHLESS}: {right}"
        return Result(check, Verdict.ERROR, outcome_name(right), message=message, call=asked)
    if not isinstance(said, ObservedResult | ObservedFailure | BadAnswer):
        return Result(check, Verdict.ERROR, outcome_name(said), message=loss_sentence(said), call=asked)
    apart = difference(expected, said, contract.outputs, contract.failure)
    if apart is None:
        return None
    return Result(check, Verdict.FAIL, outcome_name(said), message=found, difference=apart, call=asked)
