"""Whose doing a failure is: the backend's, or that of the stand-in which answers what the backend does not declare.

Before a backend is asked anything, whatever goes wrong is not its doing: the harness or its installation is broken, and
there is no judgement. Once it was asked, it may have left what the stand-in stumbles over, so that every difference and
every loss is its failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from conformance.backend.conversation import Finished
from conformance.backend.outcome import Lost, Side, describe
from conformance.trial.check import Check, Result, Verdict
from conformance.trial.judge import outcome_name

BAD: Final = (Verdict.FAIL, Verdict.ERROR)
STAND_IN: Final = "the stand-in (the suite's reference)"


@dataclass(frozen=True, slots=True)
class Blamed:
    """The verdicts on the checks of one conversation; `obstacle` says why nothing can be judged, if nothing can."""

    results: Sequence[Result]
    obstacle: str = ""


def blamed(
    checks: Sequence[Check], finished: Finished[Sequence[Result]], declared: frozenset[str] | None
) -> Blamed:
    """What a finished conversation says of a backend that declares these operators; None where it was not asked."""
    innocent = declared is not None and not finished.called & declared
    if finished.finding is not None:
        bad = [result for result in finished.finding if result.verdict in BAD]
        if not bad or not innocent:
            return Blamed(finished.finding)
        why = f"{bad[0].check.id}: {STAND_IN} is wrong before the backend is asked anything"
        return Blamed([_unjudged(result, why) for result in finished.finding], why)
    assert finished.lost is not None
    if finished.side is Side.BACKEND:
        return Blamed([lost(check, finished.lost) for check in checks])
    said = describe(finished.lost)
    if finished.side is Side.INSTALLATION:
        why = f"{checks[0].id}: {STAND_IN} cannot answer: {said}"
    elif innocent:
        why = f"{checks[0].id}: {STAND_IN} is lost before the backend is asked anything: {said}"
    else:
        message = f"{STAND_IN} is lost on what the backend left behind: {said}"
        return Blamed([Result(check, Verdict.FAIL, outcome_name(finished.lost), message=message) for check in checks])
    return Blamed([Result(check, Verdict.ERROR, outcome_name(finished.lost), message=why) for check in checks], why)


def forsaken(reason: Lost) -> str:
    """Why there is no judgement where the stand-in was lost and no check repeats it alone."""
    return f"{STAND_IN} is lost, and no check repeats it alone: {describe(reason)}"


def lost(check: Check, reason: Lost) -> Result:
    """The verdict on a check in which the backend was lost, alone."""
    return Result(check, Verdict.ERROR, outcome_name(reason), message=describe(reason))


def _unjudged(result: Result, why: str) -> Result:
    return replace(result, verdict=Verdict.ERROR, message=why) if result.verdict in BAD else result
