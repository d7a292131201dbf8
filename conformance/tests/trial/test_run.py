"""One backend on trial: what is counted, what is red, and what a lost process may cost."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from conformance.backend import driver as drive
from conformance.codec.codebook import codebook_of
from conformance.tests.halving import BOTH, CASES, TWIN, backend, corpus, library, result_of, tried, twin_of, verdicts
from conformance.tests.shipped import shipped_library
from conformance.tests.small_corpus import OPERATOR, case, halved, step
from conformance.trial import runner
from conformance.trial.check import Counts, Kind, KnownFailure, RunResult, Verdict
from conformance.trial.options import NoProgress, RunOptions, Selection
from conformance.trial.run import driver_of_run, reference, run_trial
from conformance.vectors.case import Accumulation, Case, RestartStep
from conformance.vectors.frozen.corpus import load_corpus

ERROR, FAIL = Verdict.ERROR, Verdict.FAIL
ISSUE = "https://example.org/1"


def few(*patterns: str, **options: Any) -> RunOptions:
    return RunOptions(**{"timeout": 10.0, "select": patterns, "profile": "quick", **options})


@pytest.mark.parametrize("challenge", [True, False])
def test_python_writes_no_compiled_modules_in_a_certification_alone(challenge: bool) -> None:
    options = RunOptions(backend("right"), reference=backend("right"), challenge=challenge)
    driver = driver_of_run(options, codebook_of(library()))
    with patch("conformance.trial.run.Driver") as made:
        reference(options, codebook_of(library()))
    assert driver.stand_in is not None
    commands = driver.command, driver.stand_in.command, made.call_args.args[0]
    assert [one.environment.get("PYTHONDONTWRITEBYTECODE") == "1" for one in commands] == [challenge] * 3


# -- what is counted


def test_every_stage_of_a_run_is_counted() -> None:
    run = tried(backend("right"), select=("whole=1",))
    assert run.counts == Counts(loaded=40, selected=11, not_applicable=0, expected_to_fail=0, run=11)
    assert corpus().index.root == run.vectors
    assert library().contracts.keys() == run.contracts.keys()
    assert run.conformant
    assert not run.empty


def test_what_a_backend_does_not_declare_is_not_applicable_and_never_asked() -> None:
    run = tried(backend("leaves_when_called", operators=("Other_v1",)), profile="standard")
    assert run.counts == Counts(loaded=44, selected=44, not_applicable=44, expected_to_fail=0, run=0)
    assert {result.verdict for result in run.results} == {Verdict.NOT_APPLICABLE}
    assert {result.check.kind for result in run.results} == {Kind.VECTOR, Kind.BEHAVIOUR, Kind.FUZZ}
    assert run.empty
    assert not run.conformant


def test_the_calls_of_a_case_follow_each_other_although_other_cases_are_in_flight() -> None:
    def twice(whole: int) -> Case:
        steps = [step(name, {"whole": str(whole)}, {"half": str(whole // 2)}) for name in ("call", "again")]
        return case(f"twice={whole}", *steps)

    traces = [twice(whole) for whole in range(100, 110, 2)]
    mixed = [one for k, trace in enumerate(traces) for one in (*CASES[6 * k : 6 * k + 6], trace)]
    assert tried(backend("right"), mixed).conformant
    run = tried(backend("wrong_on_the_last_again"), mixed)
    assert verdicts(run) == {f"twice={whole}": FAIL for whole in range(100, 110, 2)}


def test_the_stderr_of_a_backend_that_fuzzing_loses_is_kept() -> None:
    check = f"{OPERATOR}?fuzz"
    run = tried(backend("leaves_on_six"), profile="standard", select=(check,), reference=backend("right"))
    assert [result.outcome for result in run.results] == ["crash"]
    assert run.observations["stderr"] == {check: "I leave\n"}


@pytest.mark.parametrize(
    ("broken", "check", "note"),
    [
        ("fuzz.Fuzzing.fuzz", f"{OPERATOR}?fuzz", "in the check"),
        ("cases.CaseRunner._is_expected", f"{OPERATOR}::small-numbers::whole=2", "in the conversation"),
        ("runner.conversation_verdicts", f"{OPERATOR}::small-numbers::whole=2", "in the check"),
    ],
)
def test_an_internal_error_names_its_check(broken: str, check: str, note: str) -> None:
    defect = patch(f"conformance.trial.{broken}", side_effect=ZeroDivisionError)
    with defect, pytest.raises(ZeroDivisionError) as raised:
        tried(backend("right"), profile="standard", select=(check,), reference=backend("right"))
    assert f"{note} {check}" in raised.value.__notes__


def kept(profile: str) -> Case:
    return replace(halved(2), id=f"{OPERATOR}::kept-for::{profile}", profile=profile)


@pytest.mark.parametrize(
    ("profile", "vectors"),
    [("quick", {"quick"}), ("standard", {"quick", "standard"}), ("golden", {"quick", "standard", "golden"})],
)
def test_a_profile_holds_the_cases_of_the_smaller_ones(profile: str, vectors: set[str]) -> None:
    cases = [kept(name) for name in ("quick", "standard", "golden")]
    run = tried(backend("right"), cases, profile=profile, select=("kept-for",))
    assert {result.check.id.split("::")[-1] for result in run.results} == vectors


def test_only_the_quick_profile_leaves_laws_behaviour_and_fuzzing_out() -> None:
    shipped = shipped_library()
    frozen = load_corpus(shipped.suite)
    kinds = {}
    for profile in ("quick", "standard"):
        # -k leaves the corpus alone here: what counts is what would run.
        options = few("no such check", profile=profile)
        run = run_trial(shipped, frozen, options)
        kinds[profile] = run.counts.loaded
    assert kinds["quick"] == sum(one.profile == "quick" for one in frozen)
    assert kinds["standard"] > kinds["quick"] + 400


# -- what is red


@pytest.mark.parametrize("sin", ["zeros", "refuses", "wrong"])
def test_a_backend_without_thought_is_red(sin: str) -> None:
    run = tried(backend(sin))
    assert not run.conformant
    assert run.count(FAIL) >= 19
    assert run.count(ERROR) == 0


def test_a_backend_that_reports_success_for_everything_fails_every_refusal() -> None:
    wrong = verdicts(tried(backend("accepts_odd")))
    assert wrong == {f"whole={whole}": FAIL for whole in range(1, 40, 2)}


# -- what a lost process costs


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_crash_on_one_input_leaves_every_other_verdict(jobs: int) -> None:
    run = tried(backend("leaves_on_six"), jobs=jobs)
    assert verdicts(run) == {"whole=6": ERROR}
    found = result_of(run, "whole=6")
    assert (found.outcome, found.message) == ("crash", "a crash: it exited with status 9")
    assert run.unattributed == ()
    assert run.count(Verdict.PASS) == 39


def test_a_loss_that_no_case_repeats_makes_the_run_red_though_every_case_passes() -> None:
    cases = [halved(whole) for whole in range(80)]
    run = tried(backend("leaves_on_the_fortieth"), cases)
    assert verdicts(run) == {}
    assert set(run.unattributed) == {"a crash: it exited with status 9"}
    assert not run.conformant


def test_a_backend_that_crashes_in_one_operator_is_judged_in_the_other() -> None:
    cases = [*CASES, *(twin_of(halved(whole)) for whole in range(0, 120, 2))]
    text = backend("leaves_when_called", operators=BOTH, only=OPERATOR)
    run = tried(text, cases)
    assert {one.verdict for one in run.results if one.check.operator == TWIN} == {Verdict.PASS}
    lost = [one for one in run.results if one.check.operator == OPERATOR]
    assert {one.verdict for one in lost} == {ERROR}
    assert sum(one.outcome == "crash" for one in lost) == runner.PROBE
    said = "a protocol error: not asked: the backend was lost in each of 20 checks of this operator"
    assert {one.message for one in lost if one.outcome != "crash"} == {said}
    assert tried(text, cases, jobs=2, shuffle="x") == run


def test_a_backend_that_is_silent_in_one_operator_is_judged_in_the_other() -> None:
    silent = [replace(halved(6), id=f"{OPERATOR}::silent::{k}") for k in range(20)]
    cases = [*silent, *(twin_of(halved(whole)) for whole in range(0, 120, 2))]
    run = tried(backend("sleeps_on_six", operators=BOTH, only=OPERATOR), cases, timeout=0.2)
    assert {one.verdict for one in run.results if one.check.operator == TWIN} == {Verdict.PASS}
    assert {one.verdict for one in run.results if one.check.operator == OPERATOR} == {ERROR}


def test_a_backend_that_crashes_often_is_asked_everything_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """More crashes in a row than elsewhere are enough to give a backend up."""
    monkeypatch.setattr(drive, "GIVE_UP_AFTER", 5)
    cases = [replace(halved(6), id=f"{OPERATOR}::a-crash::{k}") for k in range(40)]
    run = tried(backend("leaves_on_six"), [*CASES, *cases])
    assert sum(one.outcome == "crash" for one in run.results) == 41
    assert run.count(Verdict.PASS) == 39


def test_a_backend_that_crashes_in_every_call_is_given_up_on_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PROBE", 6)
    run = tried(backend("leaves_when_called"))
    assert run.count(ERROR) == 40
    assert sum(result.outcome == "crash" for result in run.results) == 6


def test_a_backend_that_is_silent_in_every_call_costs_a_few_timeouts() -> None:
    run = tried(
        backend("sleeps_on_six"), [replace(halved(6), id=f"{OPERATOR}::silent::{k}") for k in range(60)], timeout=0.1
    )
    assert run.count(ERROR) == 60
    assert sum(result.outcome == "timeout" for result in run.results) <= 8
    assert run.observations["seconds"] < 20


def test_what_is_given_up_on_does_not_hang_on_the_order_of_the_checks() -> None:
    silent = [replace(halved(6), id=f"{OPERATOR}::silent::{k}") for k in range(12)]
    cases = [*CASES, *silent, *(twin_of(halved(whole)) for whole in range(0, 60, 2))]
    text = backend("sleeps_on_six", operators=BOTH)
    run = tried(text, cases, timeout=0.2)
    said = "a protocol error: not asked: the backend was silent until the timeout in 5 checks of this operator"
    given_up = {one.message for one in run.results if one.outcome == "protocol_error"}
    assert given_up == {said}
    # The twin is silent once, which is no reason to give it up.
    assert verdicts(run)["whole=6"] == ERROR
    assert sum(one.verdict is Verdict.PASS for one in run.results if one.check.operator == TWIN) == 29
    assert tried(text, cases, timeout=0.2, jobs=3, shuffle="y").results == run.results


def test_silence_costs_no_more_than_the_run_says_and_it_says_what_costs_less() -> None:
    """A backend that is silent in one call out of three, wherever it is asked."""
    notes: list[str] = []

    class Heard(NoProgress):
        def note(self, text: str) -> None:
            notes.append(text)

    silent = [replace(halved(6), id=f"{OPERATOR}::silent::{k}") for k in range(40)]
    options = RunOptions(backend=backend("sleeps_on_six"), profile="quick", timeout=0.2)
    run = run_trial(library(), corpus([*CASES, *silent]), options, Heard())
    (note,) = notes
    said, sooner = note.rsplit("; ", 1)
    assert said == "no answer within 0.2 s; a silent backend is given up on after 26 timeouts, 5.2 s in all"
    assert sooner == "a smaller --timeout or `tally run -x` ends the run sooner"
    assert not run.conformant
    assert run.observations["seconds"] < 20


def test_a_backend_that_is_silent_in_every_operator_costs_no_more() -> None:
    cases = [*CASES, *(twin_of(halved(whole)) for whole in range(0, 60, 2))]
    run = tried(backend("sleeps_when_called", operators=BOTH), cases, timeout=0.1)
    assert run.count(ERROR) == len(cases)
    assert sum(result.outcome == "timeout" for result in run.results) <= 6


# -- expected failures


def excused(*entries: str, sin: str = "wrong_on_six", **options: Any) -> RunResult:
    listed = tuple(KnownFailure(entry, "six is not done yet", ISSUE) for entry in entries)
    return tried(backend(sin), expected_failures=listed, **options)


def test_an_expected_failure_excuses_a_pattern_and_nothing_beside_it() -> None:
    assert excused("*::whole=6").conformant
    assert not excused("*::whole=6", sin="wrong").conformant


def test_an_expected_failure_that_is_not_selected_or_of_a_larger_profile_is_fine() -> None:
    run = excused("*::whole=6", f"{OPERATOR}!pure", select=("whole=2",))
    assert run.unmatched_expectations == ()
    assert run.conformant


def test_an_expected_failure_excuses_no_loss_that_nobody_repeats() -> None:
    cases = [halved(whole) for whole in range(80)]
    listed = (KnownFailure("*", "everything is not done yet", ISSUE),)
    run = tried(backend("leaves_on_the_fortieth"), cases, expected_failures=listed)
    assert run.unattributed
    assert not run.conformant


# -- what a case may ask for


def restarted(name: str, whole: int, restarts: int = 2) -> Case:
    """A case that asks the half of a number in so many processes and one more."""
    asked = step("call", {"whole": str(whole)}, {"half": str(whole // 2)})
    steps: list[Any] = [replace(asked, name="call-0")]
    for number in range(1, restarts + 1):
        steps += [RestartStep(), replace(asked, name=f"call-{number}")]
    return case(name, *steps)


def test_cases_that_restart_the_process_do_so_together(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    cases = [restarted(f"restarted-{k}", 2 * k, restarts=3) for k in range(12)]
    run = tried(backend("counts", count=str(counted)), cases)
    assert run.conformant
    # Four processes for the first few cases, four for all the others.
    assert len(counted.read_bytes()) == 8


def test_a_restart_is_a_new_process(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    run = tried(backend("differs_by_process", count=str(counted)), [restarted("restarted", 4, restarts=1)])
    found = result_of(run, "restarted")
    assert (found.verdict, found.step) == (FAIL, "call-1")
    assert counted.read_bytes() == b".."


@pytest.mark.parametrize(("sin", "timeout"), [("leaves_on_six", 10.0), ("sleeps_on_six", 0.3)])
def test_a_loss_among_cases_that_restart_together_stays_with_its_case(sin: str, timeout: float) -> None:
    restarting = [restarted(f"restarted-{k}", 2 * k) for k in range(8)]
    run = tried(backend(sin), [*CASES, *restarting], timeout=timeout)
    assert verdicts(run) == {"whole=6": ERROR, "restarted-3": ERROR}
    assert run.unattributed == ()
    assert tried(backend(sin), [*CASES, *restarting], timeout=timeout, jobs=2, shuffle="x") == run


def test_a_loss_among_them_that_none_repeats_makes_the_run_red() -> None:
    restarting = [restarted(f"restarted-{k}", 2 * k, restarts=1) for k in range(43)]
    run = tried(backend("leaves_on_the_fortieth"), restarting)
    assert verdicts(run) == {}
    assert set(run.unattributed) == {"a crash: it exited with status 9"}


def summed(count: int, *checkpoints: tuple[int, str]) -> Case:
    """A case of `count` calls behind a running hash, with these checkpoints."""
    whole = {"whole": "0", "salt": "00" * 16}
    sweep = {"whole": {"start": "0", "step": "2"}}
    return replace(
        case("summed"), accumulation=Accumulation(OPERATOR, whole, "half", "sweep", sweep, "", count, checkpoints)
    )


def test_an_accumulated_case_that_ends_early_is_no_pass() -> None:
    run = tried(backend("right"), [summed(4, (4, "00"))])
    assert verdicts(run) == {"summed": FAIL}


def test_wrong_sums_say_between_which_calls_the_first_wrong_answer_lies() -> None:
    checkpoints = (1, hashlib.sha256(bytes(8)).hexdigest()), (3, "00" * 32)
    (result,) = tried(backend("right"), [summed(3, *checkpoints)]).results
    assert result.details == {"calls": {"agreed": 1, "differs": 3, "count": 3}}


def test_the_time_of_every_check_is_observed() -> None:
    one, other = tried(backend("right")), tried(backend("right"), jobs=2)
    for run in (one, other):
        durations = run.observations["durations"]
        assert set(durations) == {result.check.id for result in run.results}
        assert all(spent >= 0 for spent in durations.values())
        assert sum(durations.values()) > 0
    assert sum(one.observations["durations"].values()) <= one.observations["seconds"]


def test_the_id_of_a_check_selects_that_check_alone() -> None:
    known = frozenset({"A::sizes::eight", "A::sizes::eight-carry", "B?fuzz"})
    assert [id_ for id_ in sorted(known) if id_ in Selection(("A::sizes::eight",), known)] == ["A::sizes::eight"]
    assert sum(id_ in Selection(("sizes::eight",), known) for id_ in known) == 2
    assert sum(id_ in Selection(("B*",), known) for id_ in known) == 1
    assert all(id_ in Selection((), known) for id_ in known)
