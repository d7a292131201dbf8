"""Behaviour rules: a pure operator's answers hang on nothing but its inputs, and have the shape of the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.tests.halving import CASES, backend, result_of, tried
from conformance.trial.behaviour import SAMPLE
from conformance.trial.check import Result, Verdict

PASS, FAIL, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.ERROR


def held(sin: str, **how: Any) -> tuple[Result, Result]:
    """What the rules of purity and of shape say of a fake."""
    run = tried(backend(sin, **how), profile="standard", select=("!",))
    assert len(run.results) == 2
    return result_of(run, "!pure"), result_of(run, "!shape")


def test_the_sample_is_smaller_than_what_could_be_asked() -> None:
    assert len(CASES) > SAMPLE


@pytest.mark.parametrize("backwards", [False, True])
def test_an_honest_backend_keeps_the_rules_in_whatever_order_it_answers(backwards: bool) -> None:
    assert [result.verdict for result in held("right", backwards=backwards)] == [PASS, PASS]


@pytest.mark.parametrize("sin", ["tires", "remembers"])
def test_an_answer_that_hangs_on_earlier_calls_is_impure(sin: str) -> None:
    pure, shape = held(sin)
    assert (pure.verdict, shape.verdict) == (FAIL, PASS)
    assert "asked again in another order or a fresh process" in pure.message
    assert pure.difference is not None
    assert pure.difference.expected != pure.difference.actual
    assert pure.call is not None
    assert pure.call.answer == pure.difference.actual


def test_an_answer_that_hangs_on_the_process_is_impure(tmp_path: Path) -> None:
    pure, shape = held("differs_by_process", count=str(tmp_path / "count"))
    assert (pure.verdict, shape.verdict) == (FAIL, PASS)
    assert (tmp_path / "count").read_bytes() == b".."


@pytest.mark.parametrize(
    ("sin", "path", "said"),
    [
        ("ill_typed", "answer", "half"),
        ("adds_a_field", "answer", "rest"),
        ("unknown_code", "answer", "a registered failure code"),
        ("wrong_number", "answer", "1801, the number of CONTRACT_VIOLATION"),
        ("undeclared_code", "error.message", "a code that the contract does not declare"),
    ],
)
def test_an_answer_of_another_shape_is_seen(sin: str, path: str, said: str) -> None:
    pure, shape = held(sin)
    assert (pure.verdict, shape.verdict) == (PASS, FAIL)
    assert shape.difference is not None
    assert shape.difference.path == path
    assert said in shape.message


def test_an_undeclared_code_is_shown_beside_the_declared_ones() -> None:
    _, shape = held("undeclared_code")
    assert shape.difference is not None
    assert (shape.difference.expected, shape.difference.actual) == ("one of CONTRACT_VIOLATION", "TOO_ODD")
    assert shape.call is not None
    assert int(shape.call.inputs["whole"]) % 2 == 1


@pytest.mark.parametrize("sin", ["leaves_on_six", "sleeps_on_six"])
def test_a_backend_that_is_lost_keeps_no_rule(sin: str) -> None:
    run = tried(backend(sin), profile="standard", select=("!",), timeout=0.5)
    assert [result.verdict for result in run.results] == [ERROR, ERROR]
