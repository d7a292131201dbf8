"""A mutant is asked only the cases that run a function it changes, and loses no kill by that."""

from __future__ import annotations

import pytest

from conformance.tests.mutant_results import EMIT, cases_of, codebook
from conformance.tests.shipped import shipped_library
from conformance.trial.client import attempt
from conformance.trial.mutants import Footprints, Reach, footprints, reach_of


def test_a_case_without_a_footprint_and_a_function_that_runs_once_count_as_run() -> None:
    taken = Footprints({"a": frozenset({"f:1"})}, frozenset({"g:1"}))
    assert taken.runs("a", frozenset({"f:1"}))
    assert not taken.runs("a", frozenset({"h:1"}))
    assert taken.runs("a", frozenset({"g:1"}))
    assert taken.runs("b", frozenset({"h:1"}))


def test_a_mutant_that_does_not_say_what_it_changes_is_asked_every_case_in_reach() -> None:
    cases = cases_of(EMIT)
    assert Reach(frozenset({EMIT}), functions=None).of(cases, Footprints({}, frozenset())) == list(cases)


@pytest.mark.parametrize("id_", ["emit-boolean-as-number", "emit-negative-number"])
def test_the_cases_that_are_left_out_are_answered_rightly(id_: str) -> None:
    book, cases = codebook(), cases_of(EMIT)
    reach = reach_of(shipped_library().mutants[id_].backend, book)
    near = reach.of(cases)
    asked = {case.id for case in reach.of(cases, footprints(cases, book))}
    assert reach.functions
    wrong = attempt(shipped_library().mutants[id_].backend, near, book).wrong
    assert wrong
    assert wrong <= asked
    assert len(asked) < len(near) / 2
