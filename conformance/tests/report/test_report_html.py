"""What the HTML page is made of: values that are right, one file that needs nothing else, the same bytes each time."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.contract.library import load_library
from conformance.report.failure import group_alike
from conformance.report.html import MOST_GROUPS, html_file, html_page
from conformance.report.html_failures import failure_view, marked, parting_of
from conformance.report.html_tables import (
    checks_json,
    crash_rows,
    expected_failures,
    matrix_of,
    proof_of,
    sequence_difference_rows,
    time_rows,
    unasked_operators,
    undeclared,
)
from conformance.report.record import Entry
from conformance.report.stored import sound
from conformance.tests.runs import BATCH, EXCUSE, MAP, ORDER, check, failed, lost, passed, record
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import suite_at
from conformance.trial.check import Difference, FailedCall, Kind, KnownFailure, Result, Verdict
from conformance.trial.committed_reports import FLOOR_FILE, MATRIX_FILE, UnreadableReport
from conformance.vectors.frozen.lock import contract_digests


def entry(*results: Result) -> Entry:
    return record(*results).entries[0]


def sequence(index: int, count: int, path: str = "batch_sample_indices") -> Result:
    answer = {"result": {"batch_sample_indices": [str(k * k) for k in range(count)]}}
    where = Difference(f"{path}[{index}]", "243", str(index * index))
    return failed(BATCH, "one", difference=where, call=FailedCall(BATCH, {"t": "1"}, answer))


def summed(agreed: int, differs: int, count: int) -> Result:
    calls = {"agreed": agreed, "differs": differs, "count": count}
    return failed(BATCH, "sum", difference=Difference("sum", "aa", "bb"), call=None, details={"calls": calls})


# -- the whole page


def test_more_distinct_failures_than_are_told_are_counted() -> None:
    many = [failed(f"Operator{k}", "one") for k in range(MOST_GROUPS + 3)]
    page = html_page([record(*many)], [None], None)
    assert page.count('<details class="failure"') == MOST_GROUPS
    assert "3 more distinct failures" in page


# -- one failure


def test_a_long_value_is_shown_around_the_first_difference() -> None:
    shown = marked("a" * 500 + "X" + "b" * 500, 500)
    assert (shown.before, shown.mark) == ("(440 characters) ..." + "a" * 60, "X")
    assert shown.after == "b" * 140 + "... (360 characters)"
    assert marked("abc", 3).mark == ""


def test_a_sequence_parts_at_the_index_of_its_path() -> None:
    found = parting_of(entry(sequence(33, 40)))
    assert found is not None
    assert (found.unit, found.agreed, found.until, found.count, found.expected) == ("element", 33, 34, 40, "243")
    assert found.around == tuple((k, str(k * k)) for k in range(29, 38))
    assert found.share == pytest.approx(33 / 40)


@pytest.mark.parametrize(
    "result",
    [
        failed(BATCH, "no-answer", call=None),
        failed(BATCH, "no-index", difference=Difference("original_index", "1", "2")),
        sequence(0, 1),
        sequence(50, 40),
        sequence(3, 40, path="elsewhere.list"),
        lost(MAP, "boom"),
        summed(0, 1, 1),
        summed(9, 8, 10),
        summed(0, 11, 10),
        sequence(10**18, 40),
    ],
)
def test_where_no_sequence_is_known_none_is_drawn(result: Result) -> None:
    assert parting_of(entry(result)) is None


def test_accumulated_calls_part_between_two_checkpoints() -> None:
    found = parting_of(entry(summed(64, 128, 1000)))
    assert found is not None
    assert (found.unit, found.agreed, found.until, found.count) == ("call", 64, 128, 1000)
    said = " ".join(html_page([record(summed(64, 128, 1000))], [None], None).split())
    assert "The first 64 of 1000 calls agree. The first call that differs is one of 65 to 128." in said


def test_a_value_of_a_declared_sequence_is_drawn_at_its_place_in_the_whole() -> None:
    place = {"unit": "sample", "begins": 960, "position": 999, "length": 1000}
    told = replace(sequence(39, 40), details={"sequence": place})
    said = " ".join(html_page([record(told)], [None], None).split())
    assert 'x="614.4" y="6" width="25.0"' in said
    assert "Sample 999 of 1000 differs. The call gives the samples from 960 on; those before it agree." in said
    assert '<th scope="row">sample</th>' in said


def test_a_failure_has_its_facts_its_call_its_commands_and_those_alike() -> None:
    judged = record(*(failed(BATCH, f"case-{k:02}", k) for k in range(30)))
    (alike,) = group_alike(judged.entries, judged["prose"])
    stderr = {"stderr": {f"{BATCH}::tail-blocks::case-00": "early\n" + "late\n" * 900}}
    view = failure_view(alike, "failure-1-1", judged, stderr)
    facts = {label: texts for label, texts, _ in view["facts"]}
    assert facts["why"] == ["A short final block has its own modulus."]
    assert facts["requirement"] == ["N12 (§ 5,6.8): only full blocks are permuted, the short tail stays last"]
    assert facts["ruling"] == ["NA18: min(block_size, cardinality - block_start)"]
    assert json.loads(view["call"]) == {"block_id": "3", "local_pos": "5"}
    assert json.loads(view["answer"]) == {"result": {"original_index": "244"}}
    assert view["stderr"].endswith("late\nlate")
    assert len(view["stderr"]) <= 4000
    assert set(view["commands"]) == {"repeat", "explain"}
    assert (view["size"], len(view["others"]), view["more"]) == (30, 20, 9)


# -- tables


def test_the_matrix_has_every_operator_and_kind_of_any_backend() -> None:
    one = record(failed(BATCH, "a"), passed(BATCH, "b"), passed(MAP, "law", Kind.LAW))
    other = record(passed(ORDER, "c"), Result(check(MAP, "d"), Verdict.NOT_APPLICABLE))
    matrix = matrix_of([one, other])
    assert matrix["kinds"] == [("vector", "vectors"), ("law", "laws")]
    table = {operator: [[one.word for one in scores] for scores in both] for operator, _, both, _ in matrix["rows"]}
    assert table == {
        BATCH: [["FAIL", "not run"], ["not run", "not run"]],
        ORDER: [["not run", "not run"], ["pass", "not run"]],
        MAP: [["not run", "pass"], ["n/a", "not run"]],
    }
    assert [version for _, version, _, _ in matrix["rows"]] == ["2.0.0", "", "1.0.0"]


def test_crash_levels_are_rungs_and_states_are_those_observed() -> None:
    levels = {
        "W%a": {"asked": "posix", "reached": "kill", "sampled": True},
        "W%b": {"asked": "ext4", "reached": "", "sampled": False},
    }
    counts = {"posix": {"total": 9, "tried": 7, "bad": 2}, "kill": {"total": 3, "tried": 3, "bad": 0}}
    seen = {"crash_states": {"W%a": counts}}
    first, second = crash_rows(record(passed(MAP, "a"), crash=levels), seen)
    assert (first["level"], first["wanted"], first["states"]) == (1, 3, [("kill", 3, 3, 0), ("posix", 9, 7, 2)])
    assert (second["level"], second["wanted"], second["states"]) == (0, 2, [])
    assert crash_rows(record(passed(MAP, "a")), seen) == ()


def test_the_time_of_an_operator_is_that_of_its_checks() -> None:
    spent = {f"{MAP}::tail-blocks::a": 0.5, f"{MAP}::tail-blocks::b": 1.0, f"{BATCH}::tail-blocks::a": 3.0, "gone": 9.0}
    judged = record(passed(MAP, "a"), passed(MAP, "b"), passed(BATCH, "a"))
    slow, fast = time_rows(judged, {"durations": spent})
    assert (slow["operator"], slow["checks"], slow["seconds"], slow["share"]) == (BATCH, 1, 3.0, 1.0)
    assert (fast["operator"], fast["checks"], fast["seconds"], fast["share"]) == (MAP, 2, 1.5, 0.5)
    assert time_rows(record(passed(MAP, "a")), {}) == []


ODD: list[dict[str, Any]] = [
    {"seconds": "soon"},
    {"calls": True},
    {"durations": {f"{MAP}::tail-blocks::boom": "long"}},
    {"durations": [1]},
    {"stderr": {f"{MAP}::tail-blocks::boom": 1}},
    {"crash_states": {"W": {"kill": {"total": 1}}}},
    {"seconds": float("nan")},
]


def test_observations_of_another_form_are_left_out() -> None:
    assert [odd for odd in ODD if sound({**odd, "host": "x"}) != {}] == []
    judged = record(lost(MAP, "boom"))
    assert html_page([judged], [ODD[0]], None) == html_page([judged], [None], None)


def test_the_histogram_counts_where_sequences_part() -> None:
    (row,) = sequence_difference_rows(record(sequence(39, 40), summed(0, 1, 64), failed(MAP, "number", call=None)))
    assert (row["operator"], row["sequences"]) == (BATCH, 2)
    assert [k for k, count in enumerate(row["bins"]) if count] == [0, 19]


def test_what_was_not_tried_is_named() -> None:
    absent = [Result(check(ORDER, name), Verdict.NOT_APPLICABLE) for name in "ab"]
    judged = record(*absent, passed(MAP, "c"))
    assert undeclared(judged) == [(ORDER, 2)]
    assert unasked_operators(judged) == [BATCH]
    page = html_page([judged], [None], None)
    assert "The backend does not declare these operators" in page
    assert "tally run --crash" in page


def test_an_issue_is_a_link_only_where_it_is_a_web_address() -> None:
    bad = KnownFailure(f"{MAP}*", "it is late", "javascript:alert(1)")
    judged = record(failed(ORDER, "excused"), failed(MAP, "late"), expected_failures=(EXCUSE, bad))
    assert [one["linked"] for one in expected_failures(judged)] == [True, False]
    links = re.findall(r'href="([^"]*)"', html_page([judged], [None], None))
    assert EXCUSE.issue in links
    assert not any("javascript" in link for link in links)


# -- the list of checks


def test_the_list_of_checks_has_the_verdicts_of_every_backend() -> None:
    one = record(failed(BATCH, "a"), failed(ORDER, "excused"), lost(MAP, "b"), expected_failures=(EXCUSE,))
    other = record(passed(BATCH, "a"), Result(check(MAP, "b"), Verdict.NOT_APPLICABLE))
    data = json.loads(checks_json([one, other], [{f"{BATCH}::tail-blocks::a": "failure-1-1"}, {}]))
    rows = {row[0]: row[1:] for row in data["checks"]}
    assert {id_: row[4] for id_, row in rows.items()} == {
        f"{BATCH}::tail-blocks::a": "fp",
        f"{MAP}::tail-blocks::b": "en",
        f"{ORDER}::tail-blocks::excused": "x-",
    }
    operator, kind, why, cites, _, notes = rows[f"{BATCH}::tail-blocks::a"]
    assert (data["operators"][operator], data["kinds"][kind], cites) == (BATCH, "vector", "N12 NA18")
    assert data["whys"][why] == "A short final block has its own modulus."
    assert notes == [[0, "batch_sample_indices[3]: expected '243', found '244'", "failure-1-1"]]


# -- the proof


def test_a_file_has_the_proof_only_where_the_contracts_are_those_installed() -> None:
    own = record(passed(MAP, "a"), contracts=contract_digests(shipped_library()))
    assert 'id="proof"' in html_file([own, own], [{}, {}])
    assert 'id="proof"' not in html_file([own, record(passed(MAP, "a"))], [{}, {}])


def test_a_page_has_the_proof_of_the_suite_that_the_run_used(measured: Path, tmp_path: Path) -> None:
    house = tmp_path / "house"
    shutil.copytree(measured, house)
    scores = {"lazy": {"all": {"cases": 74, "passed": 3}}}
    (house / "reports" / FLOOR_FILE).write_text(json.dumps({"format": 1, "scores": scores}))
    suite = suite_at(house)
    judged = record(passed(MAP, "a"), contracts=contract_digests(load_library(suite)))
    assert "lazy" in html_file([judged], [{}], suite)
    assert 'id="proof"' not in html_file([judged], [{}])
    # A run with the bundled contracts that is shown in the folder of another suite.
    other = record(passed(MAP, "a"), contracts=contract_digests(shipped_library()))
    page = html_file([other], [{}], suite)
    assert 'id="proof"' in page
    assert "lazy" not in page


def test_a_suite_without_reports_has_no_proof(tmp_path: Path) -> None:
    assert proof_of(tmp_path, {}) is None


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 2, "summary": {"mutants": "x"}}'])
def test_a_broken_report_is_no_proof(tmp_path: Path, text: str) -> None:
    (tmp_path / MATRIX_FILE).write_text(text, "utf-8")
    (tmp_path / FLOOR_FILE).write_text("{}", "utf-8")
    with pytest.raises(UnreadableReport, match=re.escape(MATRIX_FILE)):
        proof_of(tmp_path, {})
