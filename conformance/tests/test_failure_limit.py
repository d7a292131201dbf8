"""A run that ends early asks little more than it reports, and reports the same failures whatever was quick."""

from __future__ import annotations

from conformance.tests.runs import EXCUSE, ORDER, check, failed, passed
from conformance.trial.check import Result, Verdict
from conformance.trial.options import FailureLimit, RunOptions


def limit(most: int) -> FailureLimit:
    return FailureLimit(RunOptions(most_failures=most, expected_failures=(EXCUSE,)))


def test_without_a_limit_everything_is_tried_at_once() -> None:
    assert [len(part) for part in limit(0).parts(range(1000))] == [1000]


def test_with_a_limit_parts_grow_until_it_is_reached() -> None:
    one, sizes = limit(1), []
    for part in one.parts(range(1000)):
        sizes.append(len(part))
        if len(sizes) == 3:
            list(one.taken([failed(ORDER, "wrong")]))
    assert sizes == [64, 128, 256]


def test_the_last_failure_that_is_allowed_is_the_last_result() -> None:
    results = [passed(ORDER, "a"), failed(ORDER, "b"), passed(ORDER, "c"), failed(ORDER, "d"), passed(ORDER, "e")]
    one = limit(2)
    assert list(one.taken(results)) == results[:4]
    assert one.reached
    assert list(one.taken(results)) == []


def test_an_expected_failure_does_not_count_and_its_pass_does() -> None:
    one = limit(1)
    listed = check(ORDER, "excused")
    assert [r.verdict for r in one.taken([Result(listed, Verdict.FAIL), Result(listed, Verdict.PASS)])] == [
        Verdict.FAIL,
        Verdict.PASS,
    ]
    assert one.found == 1
