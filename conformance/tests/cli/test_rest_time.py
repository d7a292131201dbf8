"""The time that is left runs down between two steps, and knows the stages to come."""

from __future__ import annotations

from itertools import pairwise

import pytest

from conformance.cli.progress import RestTime

CASES, FUZZING = "cases, laws and behaviour", "differential fuzzing"


def at(rest: RestTime, now: float) -> float:
    seconds = rest.seconds(now)
    assert seconds is not None
    return seconds


def test_what_is_left_is_what_one_step_takes_times_the_steps() -> None:
    rest = RestTime()
    rest.stage("rules", 10, 0.0)
    assert rest.seconds(0.0) is None
    rest.step(1, 2.0)
    assert at(rest, 2.0) == pytest.approx(18)
    for k in range(2, 9):
        rest.step(1, 2.0 * k)
    assert at(rest, 16.0) == pytest.approx(4)


def test_it_never_stands_still_between_steps() -> None:
    rest = RestTime()
    rest.stage("rules", 2, 0.0)
    rest.step(1, 5.0)
    told = [at(rest, 5.0 + k) for k in range(20)]
    assert told[:4] == pytest.approx([5, 4, 3, 2])
    assert all(one != other for one, other in pairwise(told))
    assert min(told) > 0


def test_a_stage_to_come_counts_and_is_as_slow_as_the_one_before() -> None:
    quick, slow = RestTime(), RestTime()
    for rest, pace in ((quick, 0.004), (slow, 0.04)):
        rest.plan({CASES: 1000, FUZZING: 30})
        rest.stage(CASES, 1000, 0.0)
        for k in range(1, 501):
            rest.step(1, pace * k)
    assert at(quick, 2.0) == pytest.approx(2 + 18, rel=0.1)
    assert at(slow, 20.0) > 3 * at(quick, 2.0)


def test_an_estimate_does_not_jump() -> None:
    rest = RestTime()
    rest.stage("rules", 100, 0.0)
    for k in range(1, 50):
        rest.step(1, float(k))
    before = at(rest, 49.0)
    rest.step(1, 59.0)  # one that takes ten times as long
    assert abs(at(rest, 59.0) - (before - 10)) < 5
