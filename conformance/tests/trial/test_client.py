"""Questions in lock-step: every call has its answer, and a loss is the answer of the call that repeats it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backend.driver import Call
from conformance.backend.outcome import Crash, Observed, ObservedFailure, ObservedResult, ProtocolError, Timeout
from conformance.tests.halving import CASES, backend, client, codebook
from conformance.tests.small_corpus import OPERATOR, SALT
from conformance.trial.client import attempt

FEW = range(20)


def calls(numbers: range) -> list[Call]:
    return [Call(OPERATOR, {"whole": str(whole), "salt": SALT}) for whole in numbers]


def right(numbers: range, *missing: int) -> dict[int, str]:
    return {whole: str(whole // 2) if whole % 2 == 0 else "refused" for whole in numbers if whole not in missing}


def said(observed: Observed) -> str:
    assert isinstance(observed, ObservedResult | ObservedFailure)
    return str(observed.fields["half"]) if isinstance(observed, ObservedResult) else "refused"


@pytest.mark.parametrize("backwards", [False, True])
def test_answers_come_in_the_order_of_the_calls(backwards: bool) -> None:
    with client("right", backwards=backwards) as by:
        for numbers in (FEW, range(30, 31), range(7, 3, -1)):
            answers = dict(zip(numbers, map(said, by.ask(calls(numbers))), strict=True))
            assert answers == right(numbers)
    assert by.unattributed == []


def test_nothing_asked_is_nothing_answered() -> None:
    with client("right") as by:
        assert list(by.ask([])) == []


@pytest.mark.parametrize(
    ("sin", "timeout", "loss"),
    [("leaves_on_six", 10.0, Crash("it exited with status 9")), ("sleeps_on_six", 0.3, Timeout(0.3))],
)
def test_a_loss_is_the_answer_of_the_call_that_repeats_it(sin: str, timeout: float, loss: object) -> None:
    with client(sin, timeout) as by:
        answers = dict(zip(FEW, by.ask(calls(FEW)), strict=True))
        assert answers.pop(6) == loss
        assert {whole: said(answer) for whole, answer in answers.items()} == right(FEW, 6)
        assert [said(one) for one in by.ask(calls(range(2, 3)))] == ["1"]
    assert by.unattributed == []


def test_what_is_shown_of_stderr_is_that_of_the_last_loss() -> None:
    with client("leaves_on_six_and_eight") as by:
        list(by.ask(calls(range(6, 7))))
        assert by.stderr == "I leave\n"
        list(by.ask(calls(range(8, 9))))
        assert by.stderr == ""


def test_calls_after_a_loss_wait_for_their_turn() -> None:
    """A backend that is silent in every call would else cost a timeout each."""
    with client("sleeps_on_six", 0.2) as by:
        assert next(iter(by.ask(calls(range(6, 7)) * 50))) == Timeout(0.2)


def test_a_loss_that_no_call_repeats_is_kept_and_every_call_answered() -> None:
    numbers = range(60)
    with client("leaves_on_the_fortieth") as by:
        assert dict(zip(numbers, map(said, by.ask(calls(numbers))), strict=True)) == right(numbers)
    assert by.unattributed == [Crash("it exited with status 9")]


def test_a_second_answer_is_never_overlooked() -> None:
    """It is the loss of the call that gets it, or of nobody where it comes too late for that."""
    with client("right", twice=True) as by:
        answers = dict(zip(FEW, by.ask(calls(FEW)), strict=True))
    losses = [answer for answer in [answers.pop(6), *by.unattributed] if isinstance(answer, ProtocolError)]
    assert len(losses) == 1
    assert "a second answer" in losses[0].reason
    assert {whole: said(answer) for whole, answer in answers.items()} == right(FEW, 6)


def test_a_backend_that_starts_no_more_is_lost_in_every_call_after_the_first_loss(tmp_path: Path) -> None:
    """Three starts that fail say why; the backend is not started again for the other calls."""
    with client("leaves_on_six", count=str(tmp_path / "count"), starts=1) as by:
        answers = list(by.ask(calls(FEW)))
    lost = [answer for answer in answers if isinstance(answer, Crash | ProtocolError)]
    assert answers[6:] == lost[-14:]
    said = [answer.detail for answer in lost if isinstance(answer, Crash)]
    after = [answer for answer in lost if isinstance(answer, ProtocolError)]
    assert said
    assert all("before it answered tally.hello" in detail for detail in said)
    assert after
    assert set(after) == {ProtocolError("not asked: 3 processes in a row said no valid hello")}


def test_asking_may_end_with_the_first_wrong_case() -> None:
    found = attempt(backend("wrong"), CASES, codebook(), until_wrong=True)
    assert len(found.wrong) == 1
    assert len(found.results) < len(CASES)
