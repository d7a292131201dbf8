"""The record of a run is the same bytes, whatever the order, the workers, the hash seed, the answers' own order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.report.record import encode_record, read_record, record_of
from conformance.tests import small_house
from conformance.tests.halving import BOTH, CASES, TWIN, backend, library, tried, twin_of
from conformance.tests.processes import python
from conformance.tests.small_corpus import case, halved, step
from conformance.trial.check import RunResult, Verdict
from conformance.vectors.case import CallStep

MANY = [*CASES, *(twin_of(halved(whole)) for whole in range(0, 60, 2))]
VARIANT: dict[str, Any] = {"jobs": 3, "shuffle": "x"}  # more workers and another order at once


def record(run: RunResult) -> bytes:
    return encode_record(record_of(run, library()))


# Whatever is wrong, most answers are right; the order of the answers is tried with an accepted odd number as well.
@pytest.mark.parametrize("sin", ["wrong_on_six", "leaves_on_six", "ill_typed"])
def test_order_and_workers_reach_neither_record_nor_results(sin: str) -> None:
    text = backend(sin, operators=BOTH)
    first, second = tried(text, MANY), tried(text, MANY, **VARIANT)
    assert record(second) == record(first)
    # A script that calls run_trial sees the results themselves.
    assert second.results == first.results == tuple(sorted(first.results, key=lambda result: result.check.id))


def test_laws_behaviour_and_their_losses_do_not_reach_it_either() -> None:
    text = backend("leaves_on_six", operators=BOTH)
    options: dict[str, Any] = {"profile": "standard", "select": ("::", "!")}
    first = record(tried(text, MANY, **options))
    assert first == record(tried(text, MANY, jobs=2, shuffle="x", **options))


@pytest.mark.parametrize("sin", ["wrong_on_six", "accepts_odd"])
def test_the_order_of_the_answers_does_not_reach_the_record(sin: str) -> None:
    options: dict[str, Any] = {"profile": "standard", "select": ("::", "!")}
    orderly = tried(backend(sin, operators=BOTH), MANY, **options)
    backwards = tried(backend(sin, operators=BOTH, backwards=True), MANY, **options)
    assert backwards.backend != orderly.backend
    assert record(replace(backwards, backend=orderly.backend)) == record(orderly)


@pytest.mark.parametrize("sin", ["wrong_on_six", "leaves_on_six"])
def test_a_stand_in_s_answers_do_not_bring_the_order_or_the_workers_into_the_record(sin: str) -> None:
    cases = [
        case(f"mixed-{whole}", step("own", {"whole": str(whole)}, {"half": str(whole // 2)}), foreign(whole))
        for whole in range(0, 40, 2)
    ]
    options: dict[str, Any] = {"reference": backend("right", operators=BOTH)}
    first = record(tried(backend(sin), cases, **options))
    assert record(tried(backend(sin), cases, **options, **VARIANT)) == first


def foreign(whole: int) -> CallStep:
    """A step of the operator that a backend for one of the two does not declare."""
    return replace(step("other", {"whole": str(whole)}, {"half": str(whole // 2)}), operator=TWIN)


def test_another_verdict_does_reach_the_record() -> None:
    right = tried(backend("right"))
    assert record(right) != record(replace(tried(backend("wrong_on_six")), backend=right.backend))


def test_a_standard_run_with_every_kind_of_check_is_the_same_under_every_hash_seed(
    measured: Path, tmp_path: Path
) -> None:
    """Vectors, laws, behaviour, fuzzing with its shrinking, and the diagnosis of a mistake."""
    first = small_house.record(measured)
    given = ("-P", "-m", "conformance.tests.small_house", str(measured), str(tmp_path / "second"), "2", "x")
    done = python(*given, PYTHONHASHSEED="random")  # this process has another one
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "second").read_bytes() == first
    read = read_record(first)
    assert {entry["kind"] for entry in read.entries} == {"vector", "law", "behaviour", "fuzz"}
    assert {entry["verdict"] for entry in read.entries} == {Verdict.PASS, Verdict.FAIL}
    assert read["diagnosis"]["mutants"] == [small_house.BAD.removeprefix("mutant:")]
