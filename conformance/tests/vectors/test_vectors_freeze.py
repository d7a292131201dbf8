"""Two derivations agree before a value is frozen; each way in which they may not is red."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backend.resolve import BackendNotFound
from conformance.codec.codebook import codebook_of
from conformance.tests.small_spec import derived_by
from conformance.tests.vectors_walk import HEAD, OPERATOR, SMALL, backend, load
from conformance.vectors.frozen.freeze import Frozen, freeze
from conformance.vectors.questions.expand import expand

INTRO = "vectors:\n  - group: g\n    why: Because.\n    requirement: N01\n    base: start\n"
ACCUMULATE = "    accumulate: {output: visited, generator: chain, count: 100, feed: {place: after}"


def frozen(root: Path, vectors: str, confirmer: str = "", reference: str = "", head: str = HEAD) -> Frozen:
    codebook = codebook_of(load(root, vectors, *confirmer.split(), head=head))
    contract = codebook[OPERATOR].contract
    return freeze(expand(contract, codebook), derived_by(backend(root, *reference.split()), codebook))


def test_all_kinds_of_cases_are_frozen_alike_by_one_job_or_two(tmp_path: Path) -> None:
    codebook = codebook_of(load(tmp_path, SMALL, "honest"))
    questions = expand(codebook[OPERATOR].contract, codebook)
    one = freeze(questions, derived_by(backend(tmp_path), codebook), 1)
    told: list[tuple[int, int]] = []
    two = freeze(questions, derived_by(backend(tmp_path), codebook), 2, lambda done, total: told.append((done, total)))
    assert told, "each derivation is told"
    assert told == [(k + 1, len(told)) for k in range(len(told))], "the backends work side by side, and one count runs"
    assert one.problems == ()
    assert one == two
    assert [case.kind for case in one.cases.values()] == ["explicit", "explicit", "explicit", "trace", "accumulated"]


def test_a_volatile_output_is_neither_compared_nor_frozen(tmp_path: Path) -> None:
    timed = "outputs:\n  took: {type: uint64, volatile: true}\n"
    head = HEAD.replace("outputs:\n", timed)
    found = frozen(tmp_path, SMALL, "timed", "timed too", head=head)
    assert found.problems == ()
    assert "took" not in str(found.cases)


ONE = "    cases: [{id: a}]\n"
NONE = "    cases: [{id: a, set: {width: 0}}]\n"
RUN = ACCUMULATE + "}\n"
WINDOWS = ACCUMULATE + ", confirm: windows}\n"


def pinned(pin: str, width: int = 3) -> str:
    return f"    cases: [{{id: a, set: {{width: {width}}}, pin: {pin}}}]\n"


# What is red: the group, the sins of the second derivation and of the reference, the code, and what is said.
RED = {
    "another-answer": (
        "    cases: [{id: a, set: {place.at: 14}}]\n",
        "strides",
        "",
        "V001",
        "visited[1] is '15' against '16'",
    ),
    "a-second-that-refuses": (ONE, "refuses", "", "V001", "outcome is 'a result' against 'failure CONTRACT_VIOLATION'"),
    "a-second-that-crashes": (ONE, "crashes", "", "V001", "a crash: it exited"),
    "runs-apart": (RUN, "strides", "", "V001", "the first difference lies in the calls 3..4"),
    "nobody-confirms": (ONE, "idle", "", "V003", "no second derivation"),
    "the-reference-alone": (ONE, "honest", "honest", "V003", ""),
    "a-run-of-the-reference-alone": (RUN, "honest", "honest", "V003", ""),
    "one-fast-backend-for-a-long-run": (WINDOWS, "fast", "", "V003", ""),
    "a-pin-of-a-part": (pinned("{result: {visited: [5, 6, 7], after.lap: 0}}"), "idle", "", "V003", ""),
    "another-pin": (
        pinned("{result: {visited: [5, 7, 7]}}"),
        "",
        "",
        "V002",
        "visited[1] is pinned as '7', the reference gives '6'",
    ),
    "another-element": (
        pinned("{result: {visited.2: 9}}"),
        "",
        "",
        "V002",
        "visited[2] is pinned as '9', the reference gives '7'",
    ),
    "a-pin-beyond": (pinned("{result: {visited.3: 9}}"), "", "", "V002", "no such part"),
    "another-count": (
        pinned("{result: {visited: {count: 4}}}"),
        "",
        "",
        "V002",
        "visited is pinned with count 4, the reference gives 3",
    ),
    "a-failure-pinned": (
        pinned("{failure: CONTRACT_VIOLATION}"),
        "",
        "",
        "V002",
        "pinned CONTRACT_VIOLATION, the reference gives the result",
    ),
    "a-result-pinned": (pinned("{result: {visited: []}}", 0), "", "", "V002", "the failure CONTRACT_VIOLATION"),
    "a-broken-postcondition": (ONE, "overshoots", "overshoots alike", "V004", "whole-width"),
    "a-failure-without-a-guard": (
        ONE,
        "refuses",
        "refuses alike",
        "V005",
        f"{OPERATOR}::g::a, step call: every guard is true, but the reference fails with CONTRACT_VIOLATION",
    ),
    "a-result-against-a-guard": (
        NONE,
        "takes-zero",
        "takes-zero alike",
        "V005",
        "some-width predicts CONTRACT_VIOLATION",
    ),
    "outside-the-domain": ("    cases: [{id: a, set: {width: 4097}}]\n", "", "", "V006", ""),
    "a-reference-without-a-value": (ONE, "", "crashes", "V007", "a crash: it exited with status"),
    "a-failed-step-used": (
        "    trace: [{step: a, set: {width: 0}}, {step: b, use: {place: a.after}}]\n",
        "",
        "",
        "V007",
        "step b uses what an earlier step did not answer",
    ),
}


@pytest.mark.parametrize(("body", "confirmer", "reference", "code", "said"), RED.values(), ids=RED)
def test_what_two_derivations_and_the_contract_do_not_share_is_red(
    tmp_path: Path, body: str, confirmer: str, reference: str, code: str, said: str
) -> None:
    (problem,) = frozen(tmp_path, INTRO + body, confirmer, reference).problems
    assert problem.code == code
    assert problem.message.startswith(f"{OPERATOR}::g::")
    assert said in problem.message


MISTYPED = "step call: an answer of another type: after.at: expected uint64 as a decimal string, found 6"
INVENTED = "step call: the failure 'WALL' (0): expected a registered failure code"


@pytest.mark.parametrize(
    ("reference", "said", "hint"),
    [
        ("crashes talks", "a crash: it exited with status 1", "its stderr ended with:\n    | no width 1 today"),
        ("mistypes", MISTYPED, "correct what the reference answers, or what the contract expects"),
        ("invents", INVENTED, "correct what the reference answers, or what the contract expects"),
    ],
)
def test_like_causes_of_a_missing_value_are_one_finding(tmp_path: Path, reference: str, said: str, hint: str) -> None:
    (problem,) = frozen(tmp_path, INTRO + "    matrix: {width: [1, 2, 3]}\n", "", reference).problems
    end = f"width=1: the reference gives no value: {said}; likewise in 2 other cases of {OPERATOR}"
    assert problem.message.endswith(end)
    assert problem.hint.endswith(hint)


def test_cases_that_a_lost_reference_is_not_asked_any_more_are_the_same_finding(tmp_path: Path) -> None:
    widths = ", ".join(map(str, range(1, 31)))
    (problem,) = frozen(tmp_path, INTRO + f"    matrix: {{width: [{widths}]}}\n", "", "crashes").problems
    assert problem.message.endswith(f"likewise in 29 other cases of {OPERATOR}")


def test_a_pinned_answer_that_is_none_is_one_finding(tmp_path: Path) -> None:
    (problem,) = frozen(tmp_path, INTRO + pinned("{result: {after.lap: 0}}"), "", "mistypes").problems
    assert problem.code == "V007"


def test_a_second_backend_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackendNotFound, match="no-such-program"):
        frozen(tmp_path, INTRO + ONE, head=HEAD.replace("CONFIRMER", "no-such-program"))


def test_a_pin_of_the_whole_answer_is_a_second_derivation(tmp_path: Path) -> None:
    pins = "    cases: [{id: a, pin: {result: {visited: [5, 6, 7], after: {lap: 0, at: 8}}}}]\n"
    found = frozen(tmp_path, INTRO + pins, "idle")
    assert found.problems == ()
    (case,) = found.cases.values()
    assert case.pinned
    assert found.confirmed_by[case.id] == ("pin",)


def test_the_pinned_hash_and_length_of_a_run_are_held(tmp_path: Path) -> None:
    found = frozen(tmp_path, INTRO + ACCUMULATE + ", pin: {sha256: abcd, elements: 299}}\n")
    assert [problem.code for problem in found.problems] == ["V002", "V002"]
    assert any("abcd" in problem.message for problem in found.problems)
    assert any("pinned 299 elements, hashed were 300" in problem.message for problem in found.problems)


def two_confirmers(root: Path, first: str, second: str) -> str:
    return HEAD.replace("CONFIRMER", f'"{backend(root, *first.split())}", "{backend(root, *second.split())}"')


def test_a_long_run_is_confirmed_by_two_fast_backends_and_windows_of_the_reference(tmp_path: Path) -> None:
    found = frozen(tmp_path, INTRO + WINDOWS, head=two_confirmers(tmp_path, "fast", "faster"))
    assert found.problems == ()
    ((confirmed),) = found.confirmed_by.values()
    assert confirmed == (backend(tmp_path, "fast"), backend(tmp_path, "faster"))


def test_a_window_that_the_reference_does_not_confirm_is_red(tmp_path: Path) -> None:
    head = two_confirmers(tmp_path, "strides", "strides too")
    found = frozen(tmp_path, INTRO + WINDOWS, head=head)
    assert {problem.code for problem in found.problems} == {"V001"}
    assert any("does not confirm the call 100:" in problem.message for problem in found.problems)
