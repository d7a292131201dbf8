"""A backend that does not try earns next to nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from conformance.tests.mutant_results import DECODE, EMIT, ORDER, cases_of, codebook, quick_cases
from conformance.tests.shipped import shipped_library
from conformance.trial.check import Verdict
from conformance.trial.client import Attempt, attempt
from conformance.trial.committed_reports import FLOOR_FILE, UnreadableReport
from conformance.trial.mutants.floor import (
    ALL,
    LIMIT,
    Floor,
    PassRate,
    floor_problems,
    floor_text,
    measure_floor,
    read_floor,
)
from conformance.trial.mutants.trivial import TRIVIAL
from conformance.vectors.case import Case

NAMES = {"null", "echo", "constant", "zero", "always_fail"}


def committed() -> Floor:
    return read_floor(shipped_library().suite.reports / FLOOR_FILE)


def few() -> tuple[Case, ...]:
    return (*cases_of(DECODE), *cases_of(EMIT), *cases_of(ORDER))


@cache
def trivially(name: str) -> Attempt:
    """What a trivial backend makes of a few operators; asked once, because each start takes 2.4 s."""
    return attempt(f"python:conformance.trial.mutants.trivial:{name}", few(), codebook())


def test_the_committed_floor_is_below_the_limit() -> None:
    assert set(committed().scores) == NAMES
    assert all(scores[ALL].share < Fraction(5, 100) for scores in committed().scores.values())
    assert list(floor_problems(committed())) == []


def test_the_committed_floor_counts_today_s_cases() -> None:
    for scores in committed().scores.values():
        assert scores[ALL].cases == len(quick_cases()), "run `tally mutants --write` and review the difference"


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_trivial_backend_answers_every_case_and_earns_what_is_committed(name: str) -> None:
    tried = trivially(name)
    assert tried.refusal == ""
    assert set(tried.results) == {case.id for case in few()}
    assert {result.verdict for result in tried.results.values()} <= {Verdict.PASS, Verdict.FAIL}
    for operator in (DECODE, EMIT, ORDER):
        asked = {case.id for case in cases_of(operator)}
        earned = PassRate(len(asked - tried.wrong), len(asked))
        assert earned == committed().scores[name][operator], operator


def test_measuring_finds_the_committed_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two backends of the five, whose answers another test asks for too."""
    few_backends = tuple(backend for backend in TRIVIAL if backend.name in ("zero", "always_fail"))
    monkeypatch.setattr("conformance.trial.mutants.floor.TRIVIAL", few_backends)
    monkeypatch.setattr("conformance.trial.mutants.floor.attempt", remembered)
    floor = measure_floor(shipped_library(), few())
    assert set(floor.scores) == {"zero", "always_fail"}
    for name, groups in floor.groups.items():
        assert sum(rate.passed for rate in groups.values()) == floor.scores[name][ALL].passed
        assert sum(rate.cases for rate in groups.values()) == len(few())
    for name, scores in floor.scores.items():
        assert scores == {one: committed().scores[name][one] for one in (DECODE, EMIT, ORDER)} | {ALL: scores[ALL]}
        assert scores[ALL].cases == len(few())


def remembered(backend: str, cases: Sequence[Case], *_: object, stateless: bool) -> Attempt:
    assert {case.id for case in cases} == {case.id for case in few()}
    return trivially(backend.removeprefix("python:conformance.trial.mutants.trivial:"))


def test_the_committed_text_is_what_is_written() -> None:
    assert floor_text(committed()) == (shipped_library().suite.reports / FLOOR_FILE).read_text("utf-8")


def test_a_backend_that_passes_the_limit_is_red() -> None:
    floor = Floor({"null": {ALL: PassRate(5, 100)}, "echo": {ALL: PassRate(4, 100)}})
    assert list(floor_problems(floor)) == ["the trivial backend null passes 5 of 100 (5.00%) cases; the limit is 5%"]
    assert PassRate(5, 100).share == LIMIT


def test_what_is_red_names_the_groups_that_it_passes_most_of_and_what_to_do() -> None:
    rates = {f"Kv.Put_v1::{name}": PassRate(n, 20) for n, name in enumerate(["none", "few", "some", "many", "most"])}
    floor = Floor({"always_fail": {ALL: PassRate(10, 100)}}, {"always_fail": rates})
    (said,) = floor_problems(floor)
    first, hint = said.split("\n")
    named = "Kv.Put_v1::most (4 of 20), Kv.Put_v1::many (3 of 20), Kv.Put_v1::some (2 of 20)"
    assert first.endswith(f"the limit is 5%; most of them of {named}")
    assert hint.startswith("    hint: put calls with other answers beside these, answering ones beside refusals")
    assert floor == read_floor_text(floor_text(floor))


def read_floor_text(text: str) -> Floor:
    """The floor as a file has it: without groups, and equal all the same."""
    scores = json.loads(text)["scores"]
    rate = {name: {ALL: PassRate(one[ALL]["passed"], one[ALL]["cases"])} for name, one in scores.items()}
    return Floor(rate)


def test_an_empty_corpus_is_red() -> None:
    assert len(list(floor_problems(Floor({"null": {ALL: PassRate(0, 0)}})))) == 1


def test_reporting_success_for_everything_fails_every_refusal() -> None:
    refusals = {case.id for case in cases_of(DECODE) if "::not-" in case.id}
    assert refusals
    assert refusals <= trivially("zero").wrong


def test_failing_always_earns_nothing_where_a_refusal_stands_beside_an_answer() -> None:
    assert {case.id for case in cases_of(DECODE)} <= trivially("always_fail").wrong


def test_what_is_always_answered_is_well_typed() -> None:
    for name in ("constant", "zero", "always_fail"):
        results = trivially(name).results.values()
        notes = {result.difference.note for result in results if result.difference is not None}
        assert notes, name
        assert "ill-typed" not in notes, name


def test_every_trivial_backend_has_the_name_it_is_served_under() -> None:
    assert {backend.name for backend in TRIVIAL} == NAMES


def test_a_missing_or_foreign_floor_is_named_with_the_next_step(tmp_path: Path) -> None:
    file = tmp_path / "floor.json"
    for text in (None, "[]", '{"format": 7}', '{"format": 1, "scores": {"null": {"all": {}}}}'):
        if text is not None:
            file.write_text(text)
        with pytest.raises(UnreadableReport, match=r"floor\.json: .*\n    hint: run `tally mutants --write`"):
            read_floor(file)
