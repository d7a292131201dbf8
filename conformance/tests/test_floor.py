"""A backend that does not try earns next to nothing."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from conformance.tests.mutant_results import DECODE, EMIT, ORDER, attempted, cases_of, codebook, quick_cases
from conformance.tests.shipped import shipped_library
from conformance.trial.attempt import attempt
from conformance.trial.check import Verdict
from conformance.trial.floor import (
    ALL,
    FILE,
    LIMIT,
    Floor,
    Score,
    UnreadableFloor,
    floor_problems,
    floor_text,
    measure_floor,
    read_floor,
)
from conformance.trial.trivial import TRIVIAL

NAMES = {"null", "echo", "constant", "zero", "always_fail"}


def committed() -> Floor:
    return read_floor(shipped_library().layout.reports / FILE)


def test_the_committed_floor_is_below_the_limit() -> None:
    assert set(committed().scores) == NAMES
    assert all(scores[ALL].share < Fraction(5, 100) for scores in committed().scores.values())
    assert list(floor_problems(committed())) == []


def test_the_committed_floor_counts_today_s_cases() -> None:
    for scores in committed().scores.values():
        assert scores[ALL].cases == len(quick_cases()), "run `tally mutants --write` and review the difference"


def test_measuring_finds_the_committed_scores() -> None:
    floor = measure_floor(shipped_library(), [*cases_of(DECODE), *cases_of(EMIT)])
    for name, scores in floor.scores.items():
        for operator in (DECODE, EMIT):
            assert scores[operator] == committed().scores[name][operator], (name, operator)


def test_the_committed_text_is_what_is_written() -> None:
    assert floor_text(committed()) == (shipped_library().layout.reports / FILE).read_text("utf-8")


def test_a_backend_that_passes_the_limit_is_red() -> None:
    floor = Floor({"null": {ALL: Score(5, 100)}, "echo": {ALL: Score(4, 100)}})
    assert list(floor_problems(floor)) == ["the trivial backend null passes 5 of 100 (5.00%) cases; the limit is 5%"]
    assert Score(5, 100).share == LIMIT


def test_an_empty_corpus_is_red() -> None:
    assert len(list(floor_problems(Floor({"null": {ALL: Score(0, 0)}})))) == 1


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_trivial_backend_answers_every_case_and_is_judged(name: str) -> None:
    tried = attempted(f"python:conformance.trial.trivial:{name}", ORDER)
    assert tried.refusal == ""
    assert len(tried.results) == len(cases_of(ORDER))
    assert {result.verdict for result in tried.results.values()} <= {Verdict.PASS, Verdict.FAIL}
    assert tried.wrong


def test_reporting_success_for_everything_fails_every_refusal() -> None:
    refusals = [case for case in cases_of(DECODE) if "::not-" in case.id]
    assert attempt("python:conformance.trial.trivial:zero", refusals, codebook()).wrong == {c.id for c in refusals}


def test_failing_always_earns_nothing_where_a_refusal_stands_beside_an_answer() -> None:
    tried = attempted("python:conformance.trial.trivial:always_fail", DECODE)
    assert tried.wrong == {case.id for case in cases_of(DECODE)}


def test_what_is_always_answered_is_well_typed() -> None:
    for name in ("constant", "zero", "always_fail"):
        results = attempted(f"python:conformance.trial.trivial:{name}", ORDER).results.values()
        notes = {result.difference.note for result in results if result.difference is not None}
        assert "ill-typed" not in notes, name


def test_every_trivial_backend_has_the_name_it_is_served_under() -> None:
    assert {backend.name for backend in TRIVIAL} == NAMES


def test_a_missing_or_foreign_floor_is_named_with_the_next_step(tmp_path: Path) -> None:
    file = tmp_path / "floor.json"
    for text in (None, "[]", '{"format": 7}', '{"format": 1, "scores": {"null": {"all": {}}}}'):
        if text is not None:
            file.write_text(text)
        with pytest.raises(UnreadableFloor, match=r"floor\.json: .*\n    hint: run `tally mutants --write`"):
            read_floor(file)
