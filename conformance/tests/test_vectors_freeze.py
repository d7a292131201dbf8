"""Two derivations agree before a value is frozen; each way in which they may not is red."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backend.resolve import BackendNotFound
from conformance.codec.codebook import codebook_of
from conformance.tests.vectors_walk import HEAD, OPERATOR, SMALL, backend, load
from conformance.vectors.case import CallStep, ExpectedFailure, ExpectedResult
from conformance.vectors.expand import expand
from conformance.vectors.freeze import Frozen, freeze

INTRO = "vectors:\n  - group: g\n    why: Because.\n    requirement: N01\n    base: start\n"
ACCUMULATE = "    accumulate: {output: visited, generator: chain, count: 100, feed: {place: after}"


def frozen(root: Path, vectors: str, confirmer: str = "", reference: str = "", head: str = HEAD) -> Frozen:
    codebook = codebook_of(load(root, vectors, *confirmer.split(), head=head))
    contract = codebook[OPERATOR].contract
    return freeze(expand(contract, codebook), codebook, reference=backend(root, *reference.split()))


def only_problem(found: Frozen) -> tuple[str, str]:
    (problem,) = found.problems
    return problem.code, problem.message


def test_what_two_derivations_agree_on_is_frozen(tmp_path: Path) -> None:
    # The confirmer strides only from 14 on, where none of these cases comes.
    found = frozen(tmp_path, INTRO + "    matrix: {width: [0, 2]}\n", "strides")
    assert found.problems == ()
    none, two = found.cases.values()
    assert isinstance(none.steps[0], CallStep)
    assert isinstance(none.steps[0].expected, ExpectedFailure)
    assert none.steps[0].expected.code == "CONTRACT_VIOLATION"
    assert isinstance(two.steps[0], CallStep)
    assert two.steps[0].expected == ExpectedResult({"visited": ["5", "6"], "after": {"lap": "0", "at": "7"}})
    assert set(found.confirmed_by.values()) == {(backend(tmp_path, "strides"),)}


def test_all_kinds_of_cases_are_frozen_alike_by_one_job_or_two(tmp_path: Path) -> None:
    codebook = codebook_of(load(tmp_path, SMALL, "honest"))
    questions = expand(codebook[OPERATOR].contract, codebook)
    one = freeze(questions, codebook, 1, reference=backend(tmp_path))
    two = freeze(questions, codebook, 2, reference=backend(tmp_path))
    assert one.problems == ()
    assert one == two
    assert [case.kind for case in one.cases.values()] == ["explicit", "explicit", "explicit", "trace", "accumulated"]


def test_a_volatile_output_is_neither_compared_nor_frozen(tmp_path: Path) -> None:
    timed = "outputs:\n  took: {type: uint64, volatile: true}\n"
    head = HEAD.replace("outputs:\n", timed)
    found = frozen(tmp_path, SMALL, "timed", "timed too", head=head)
    assert found.problems == ()
    assert "took" not in str(found.cases)


def test_a_second_derivation_that_disagrees_is_red(tmp_path: Path) -> None:
    found = frozen(tmp_path, INTRO + "    cases: [{id: a, set: {place.at: 14}}]\n", "strides")
    assert only_problem(found)[0] == "V001"
    assert f"{OPERATOR}::g::a" in only_problem(found)[1]
    assert "visited[1] is '15' against '16'" in only_problem(found)[1]


def test_a_second_derivation_that_refuses_is_red(tmp_path: Path) -> None:
    code, message = only_problem(frozen(tmp_path, INTRO + "    cases: [{id: a}]\n", "refuses"))
    assert code == "V001"
    assert "a result against CONTRACT_VIOLATION" in message


def test_a_second_derivation_that_crashes_is_red(tmp_path: Path) -> None:
    code, message = only_problem(frozen(tmp_path, INTRO + "    cases: [{id: a}]\n", "crashes"))
    assert code == "V001"
    assert "Crash" in message


def test_runs_that_disagree_name_the_calls_and_both_hashes(tmp_path: Path) -> None:
    code, message = only_problem(frozen(tmp_path, INTRO + ACCUMULATE + "}\n", "strides"))
    assert code == "V001"
    assert "the first difference lies in the calls 3..4" in message


def test_a_case_that_nobody_confirms_is_red(tmp_path: Path) -> None:
    code, message = only_problem(frozen(tmp_path, INTRO + "    cases: [{id: a}]\n", "idle"))
    assert code == "V003"
    assert "no second derivation" in message


def test_the_reference_does_not_confirm_itself(tmp_path: Path) -> None:
    found = frozen(tmp_path, INTRO + "    cases: [{id: a}]\n", "honest", "honest")
    assert only_problem(found)[0] == "V003"
    assert only_problem(frozen(tmp_path / "run", INTRO + ACCUMULATE + "}\n", "honest", "honest"))[0] == "V003"


def test_a_second_backend_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackendNotFound, match="no-such-program"):
        frozen(tmp_path, INTRO + "    cases: [{id: a}]\n", head=HEAD.replace("CONFIRMER", "no-such-program"))


def test_a_pin_of_the_whole_answer_is_a_second_derivation(tmp_path: Path) -> None:
    pins = "    cases: [{id: a, pin: {result: {visited: [5, 6, 7], after: {lap: 0, at: 8}}}}]\n"
    found = frozen(tmp_path, INTRO + pins, "idle")
    assert found.problems == ()
    (case,) = found.cases.values()
    assert case.pinned
    assert found.confirmed_by[case.id] == ("pin",)


def test_a_pin_of_a_part_is_none(tmp_path: Path) -> None:
    pins = "    cases: [{id: a, pin: {result: {visited: [5, 6, 7], after.lap: 0}}}]\n"
    assert only_problem(frozen(tmp_path, INTRO + pins, "idle"))[0] == "V003"


@pytest.mark.parametrize(
    ("pin", "said"),
    [
        ("{result: {visited: [5, 7, 7]}}", "visited at [1] is pinned as '7', the reference gives '6'"),
        ("{result: {visited.2: 9}}", "visited.2 is pinned as '9', the reference gives '7'"),
        ("{result: {visited.3: 9}}", "no such part"),
        ("{result: {visited: {count: 4}}}", "visited is pinned with count 4, the reference gives 3"),
        ("{failure: CONTRACT_VIOLATION}", "pinned CONTRACT_VIOLATION, the reference gives the result"),
    ],
)
def test_a_pin_that_does_not_match_is_red(tmp_path: Path, pin: str, said: str) -> None:
    code, message = only_problem(frozen(tmp_path, INTRO + f"    cases: [{{id: a, pin: {pin}}}]\n"))
    assert code == "V002"
    assert said in message


def test_a_result_pinned_where_the_reference_fails_is_red(tmp_path: Path) -> None:
    pins = "    cases: [{id: a, set: {width: 0}, pin: {result: {visited: []}}}]\n"
    code, message = only_problem(frozen(tmp_path, INTRO + pins))
    assert code == "V002"
    assert "the failure CONTRACT_VIOLATION" in message


def test_the_pinned_hash_and_length_of_a_run_are_held(tmp_path: Path) -> None:
    found = frozen(tmp_path, INTRO + ACCUMULATE + ", pin: {sha256: abcd, elements: 299}}\n")
    assert [problem.code for problem in found.problems] == ["V002", "V002"]
    assert any("abcd" in problem.message for problem in found.problems)
    assert any("pinned 299 elements, hashed were 300" in problem.message for problem in found.problems)


def test_a_broken_postcondition_is_red(tmp_path: Path) -> None:
    found = frozen(tmp_path, INTRO + "    cases: [{id: a}]\n", "overshoots", "overshoots alike")
    code, message = only_problem(found)
    assert code == "V004"
    assert "whole-width" in message


def test_a_failure_that_no_guard_predicts_is_red(tmp_path: Path) -> None:
    found = frozen(tmp_path, INTRO + "    cases: [{id: a}]\n", "refuses", "refuses alike")
    assert only_problem(found) == (
        "V005",
        f"{OPERATOR}::g::a, step call: every guard holds, but the reference fails with CONTRACT_VIOLATION",
    )


def test_a_result_where_a_guard_predicts_a_failure_is_red(tmp_path: Path) -> None:
    found = frozen(tmp_path, INTRO + "    cases: [{id: a, set: {width: 0}}]\n", "takes-zero", "takes-zero alike")
    code, message = only_problem(found)
    assert code == "V005"
    assert "some-width predicts CONTRACT_VIOLATION" in message


def test_an_input_outside_the_domain_is_red(tmp_path: Path) -> None:
    assert only_problem(frozen(tmp_path, INTRO + "    cases: [{id: a, set: {width: 4097}}]\n"))[0] == "V006"


def test_a_reference_that_gives_no_value_is_red(tmp_path: Path) -> None:
    code, message = only_problem(frozen(tmp_path, INTRO + "    cases: [{id: a}]\n", "", "crashes"))
    assert code == "V007"
    assert "Crash" in message


def test_a_trace_that_uses_the_answer_of_a_failed_step_is_red(tmp_path: Path) -> None:
    body = "    trace: [{step: a, set: {width: 0}}, {step: b, use: {place: a.after}}]\n"
    code, message = only_problem(frozen(tmp_path, INTRO + body))
    assert code == "V007"
    assert "step b uses what an earlier step did not answer" in message


WINDOWS = INTRO + ACCUMULATE + ", confirm: windows}\n"


def two_confirmers(root: Path, first: str, second: str) -> str:
    return HEAD.replace("CONFIRMER", f'"{backend(root, *first.split())}", "{backend(root, *second.split())}"')


def test_a_long_run_is_confirmed_by_two_fast_backends_and_windows_of_the_reference(tmp_path: Path) -> None:
    found = frozen(tmp_path, WINDOWS, head=two_confirmers(tmp_path, "fast", "faster"))
    assert found.problems == ()
    ((confirmed),) = found.confirmed_by.values()
    assert confirmed == (backend(tmp_path, "fast"), backend(tmp_path, "faster"))


def test_one_fast_backend_alone_does_not_confirm_a_long_run(tmp_path: Path) -> None:
    assert only_problem(frozen(tmp_path, WINDOWS, "fast"))[0] == "V003"


def test_a_window_that_the_reference_does_not_confirm_is_red(tmp_path: Path) -> None:
    head = two_confirmers(tmp_path, "strides", "strides too")
    found = frozen(tmp_path, WINDOWS, head=head)
    assert {problem.code for problem in found.problems} == {"V001"}
    assert any("does not confirm the call 100:" in problem.message for problem in found.problems)
