"""An outcome is held to its contract's types: what is compared, frozen and reported afterwards is well typed."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.backend.outcome import (
    BadAnswer,
    Crash,
    Failure,
    ObservedFailure,
    ObservedResult,
    Outcome,
    ProtocolError,
    RawResult,
    Timeout,
    describe,
    observe,
)
from conformance.codec.framing import DIALECTS
from conformance.contract.types import Struct
from conformance.tests.backends import CODEBOOK
from conformance.vectors.case import ExpectedFailure
from conformance.vectors.conversation.difference import difference

RECORD = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": "Echo_v1"}


def deep(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


def seen(outcome: Any) -> Any:
    return observe(outcome, "Echo_v1", CODEBOOK, DIALECTS["json"])


def test_a_well_typed_outcome_is_observed() -> None:
    assert seen(RawResult({"n": "7"})) == ObservedResult({"n": "7"})
    assert seen(Failure(1801, "CONTRACT_VIOLATION", RECORD)) == ObservedFailure("CONTRACT_VIOLATION", RECORD)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (RawResult({"n": 7}), "n: expected uint64 as a decimal string, found 7"),
        (RawResult({"n": 10**4000}), "n: expected uint64 as a decimal string, found 1000"),
        (RawResult({"n": float("inf")}), "n: expected uint64 as a decimal string, found inf"),
        (RawResult({"n": deep(900)}), "n: expected uint64 as a decimal string, found [[[["),
        (RawResult(deep(900)), "result: expected an object, found [[[["),
        (RawResult(None), "result: expected an object, found null"),
        (RawResult({"n": "7", "a\x1b[31m": 1}), 'result["a\\u001b[31m"]: expected no such field, found 1'),
        (Failure(1801, "NO_SUCH_CODE", RECORD), "error.message: expected a registered failure code"),
        (Failure(-32601, "Method not found", None), "error.message: expected a registered failure code"),
        (Failure(1801, deep(900), RECORD), "error.message: expected a registered failure code"),
        (
            Failure(deep(900), "CONTRACT_VIOLATION", RECORD),
            "error.code: expected 1801, the number of CONTRACT_VIOLATION",
        ),
        (Failure(1801.0, "CONTRACT_VIOLATION", RECORD), "error.code: expected 1801"),
        (Failure("1801", "CONTRACT_VIOLATION", RECORD), "error.code: expected 1801"),
        (Failure(1801, "CONTRACT_VIOLATION", None), "error.data: expected an object, found null"),
        (Failure(1801, "CONTRACT_VIOLATION", {**RECORD, "t": "0"}), "error.data.t: expected no such field"),
    ],
)
def test_an_ill_typed_answer_is_refused_with_its_path(outcome: Any, said: str) -> None:
    bad = seen(outcome)
    assert isinstance(bad, BadAnswer)
    assert str(bad.error).startswith(said)
    assert len(str(bad.error)) < 400
    assert str(bad.error).isprintable()


def test_an_ill_typed_answer_is_shown_with_null_true_and_false_as_on_the_wire() -> None:
    bad = seen(RawResult({"n": {"a": [None, True, False, "None"]}}))
    assert isinstance(bad, BadAnswer)
    found = difference(ExpectedFailure("CONTRACT_VIOLATION", {}), bad, Struct(()), Struct(()))
    assert found is not None
    assert found.actual == "{'a': [null, true, false, 'None']}"
    assert str(bad.error).endswith(f", found {found.actual}")


@pytest.mark.parametrize("outcome", [Crash("it exited with status 1"), Timeout(2.0), ProtocolError("garbage")])
def test_a_loss_is_observed_as_it_is(outcome: Any) -> None:
    assert seen(outcome) == outcome


def test_every_outcome_can_be_described_however_deep_it_is() -> None:
    outcomes: list[Outcome] = [
        RawResult(deep(900)),
        Failure(deep(900), deep(900), deep(900)),
        Crash("x"),
        Timeout(0.5),
        ProtocolError("y"),
    ]
    beginnings = [
        "a result",
        "the failure [[[[",
        "a crash: x",
        "a timeout: no answer within 0.5 s",
        "a protocol error: y",
    ]
    for outcome, beginning in zip(outcomes, beginnings, strict=True):
        assert describe(outcome).startswith(beginning)
        assert len(describe(outcome)) < 300
