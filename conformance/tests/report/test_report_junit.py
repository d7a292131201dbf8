"""JUnit XML as CI servers read it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from conformance.report.junit import junit, suites_of
from conformance.report.record import Record
from conformance.tests.runs import BATCH, MAP, ORDER, check, failed, lost, passed, record
from conformance.trial.check import Difference, KnownFailure, Result, Verdict


def cases(judged: Record) -> dict[str, ET.Element]:
    return {f"{c.get('classname')}::{c.get('name')}": c for c in suites_of(judged, {}).iter("testcase")}


def test_a_wrong_answer_is_a_failure_and_a_crash_an_error() -> None:
    found = cases(record(failed(MAP, "a"), lost(MAP, "b"), passed(MAP, "c")))
    assert [child.tag for child in found[f"{MAP}::tail-blocks::a"]] == ["failure"]
    assert [child.tag for child in found[f"{MAP}::tail-blocks::b"]] == ["error"]
    assert [child.tag for child in found[f"{MAP}::tail-blocks::c"]] == []


def test_every_suite_and_the_root_count_their_cases() -> None:
    absent = Result(check(ORDER, "absent"), Verdict.NOT_APPLICABLE)
    root = suites_of(record(failed(MAP, "a"), lost(MAP, "b"), passed(MAP, "c"), passed(BATCH, "d"), absent), {})
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    suite = next(suite for suite in root if suite.get("name") == MAP)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")


def test_the_text_of_a_failure_is_what_the_terminal_shows() -> None:
    failure = cases(record(failed(MAP, "a")))[f"{MAP}::tail-blocks::a"].find("failure")
    assert failure is not None
    assert failure.get("message") == "batch_sample_indices[3]: expected '243', found '244'"
    assert "repeat      tally run" in (failure.text or "")


def test_characters_that_xml_cannot_carry_are_escaped() -> None:
    odd = failed(MAP, "a", difference=Difference("text", "a", "\x00\x1b\ud800\ufffe"), message="bell \x07")
    failure = next(ET.fromstring(junit([record(odd)], [{}])).iter("failure"))
    assert failure.get("message") == "bell \\x07"
    assert "\\ufffe" in (failure.text or "")


def test_an_expected_failure_is_skipped_with_its_reason() -> None:
    entry = KnownFailure(f"{MAP}*", "the tail is not done yet", "https://example.org/1")
    skipped = cases(record(failed(MAP, "a"), expected_failures=(entry,)))[f"{MAP}::tail-blocks::a"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "expected to fail: the tail is not done yet (https://example.org/1)"


def test_what_belongs_to_no_operator_has_its_own_suite() -> None:
    judged = record(
        passed(MAP, "a"), unattributed=("a crash",), unexpected_passes=("x",), unmatched_expectations=("y",)
    )
    suite = next(suite for suite in suites_of(judged, {}) if suite.get("name") == "tallystick")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "1")


def test_the_verdict_its_line_and_the_crash_levels_are_properties_of_every_suite() -> None:
    judged = record(passed(MAP, "a"))
    properties = {one.get("name"): one.get("value") for one in suites_of(judged, {}).iter("property")}
    assert properties["verdict"] == "CONFORMANT"
    assert properties["verdict-line"] == judged.sentence
    assert properties["crash"] == "not tried"


def test_a_missing_declaration_and_an_obstacle_are_cases_of_the_run() -> None:
    found = cases(record(passed(MAP, "a"), missing=(ORDER,), obstacles=("the stand-in is lost",)))
    assert [child.tag for child in found[f"tallystick::required {ORDER}"]] == ["failure"]
    assert [child.tag for child in found["tallystick::no judgement 1"]] == ["error"]
