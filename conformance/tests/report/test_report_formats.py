"""Every format fits its public schema or is read by its public parser, whatever a backend said."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest
from junitparser.xunit2 import JUnitXml
from markdown_it import MarkdownIt

from conformance.report.record import Record, digest_of_record, encode_record, read_record, record_with_verdict
from conformance.report.writer import FORMATS, page
from conformance.tests.runs import BATCH, MAP, ORDER, check, failed, lost, passed, record
from conformance.trial.check import Difference, Kind, KnownFailure, Result, Verdict
from conformance.vectors.jsontext import document_text

SCHEMAS = Path(__file__).parents[1] / "schemas"
HOSTILE = "<script>alert(1)</script> `a` ```b``` | [x](http://e.vil) ]]> & \x00\x1b[2J\x9b\u202e\ud800\r\n# CONFORMANT"
BOOM = f"{MAP}::tail-blocks::boom"
WRITTEN = "2026-03-01T10:00:02+00:00"
OBSERVED = {"seconds": 2.5, "written": WRITTEN, "stderr": {BOOM: HOSTILE}, "durations": {BOOM: 1.25}}
EXCUSE = KnownFailure(f"{MAP}::tail-blocks::late*", "the tail is not done yet", "https://example.org/1")
ABSENT = Result(check(ORDER, "absent"), Verdict.NOT_APPLICABLE)
# The service's own rules for the endpoint badge (https://shields.io/badges/endpoint-badge): other members are refused.
BADGE = {
    "type": "object",
    "required": ["schemaVersion", "label", "message"],
    "additionalProperties": False,
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"enum": ["brightgreen", "green", "yellowgreen", "yellow", "orange", "red", "blue", "lightgrey"]},
        "isError": {"type": "boolean"},
    },
}


def red(**changes: Any) -> Record:
    hostile = failed(BATCH, "odd", difference=Difference(HOSTILE, HOSTILE, {"text": HOSTILE}), message=HOSTILE)
    clause = failed(MAP, "clause", broken=("in-range",))
    good = (passed(BATCH, "one"), passed(BATCH, "p", Kind.LAW))
    results = (hostile, clause, failed(MAP, "late"), lost(MAP, "boom"), *good, ABSENT)
    made = record(*results, backend=HOSTILE, expected_failures=(EXCUSE,), unattributed=(HOSTILE,), **changes)
    clauses = {f"{MAP}/in-range": {"text": HOSTILE, "place": "spec/data/Map_v1.yaml:40:5"}}
    return read_record(
        encode_record(record_with_verdict({**made.members, "prose": {**made["prose"], "clauses": clauses}}))
    )


GREEN = record(passed(MAP, "a"), passed(BATCH, "b"), ABSENT)
RED = red()
EMPTY = record(ABSENT)
RECORDS = {
    "green": GREEN,
    "red": RED,
    "empty": EMPTY,
    "obstacle": record(passed(MAP, "a"), obstacles=(HOSTILE,)),
    "missing": record(passed(MAP, "a"), missing=(ORDER,)),
    "names": record(
        passed("Op\ud800\x00<b>", "x"), failed(MAP, "a`<b>`\ud800|"), passed(MAP, "\x9b\u202e\x7f\U000e0001")
    ),
    "excused": record(failed(MAP, "late"), expected_failures=(EXCUSE,)),
    "unexpected": record(passed(MAP, "late"), unexpected_passes=(f"{MAP}::tail-blocks::late",)),
    "unmatched": record(passed(MAP, "a"), unmatched_expectations=("no-such*",)),
}
EVERY = pytest.mark.parametrize("name", sorted(RECORDS))


def text(format_: str, one: Record, observed: Mapping[str, Any] = OBSERVED) -> str:
    return page(format_, [one], [observed]).decode("utf-8")


def ctrf(one: Record, observed: Mapping[str, Any] = OBSERVED) -> Any:
    return json.loads(text("ctrf", one, observed))


def sarif(*records: Record) -> Any:
    return json.loads(page("sarif", records, [OBSERVED] * len(records)))


def schema(name: str) -> jsonschema.protocols.Validator:
    document = json.loads((SCHEMAS / name).read_text("utf-8"))
    return jsonschema.validators.validator_for(document)(document, format_checker=jsonschema.FormatChecker())


@EVERY
def test_ctrf_fits_the_public_schema(name: str) -> None:
    schema("ctrf.schema.json").validate(ctrf(RECORDS[name]))
    schema("ctrf.schema.json").validate(ctrf(RECORDS[name], {}))


@EVERY
def test_sarif_fits_the_public_schema(name: str) -> None:
    schema("sarif-2.1.0.schema.json").validate(sarif(RECORDS[name]))
    schema("sarif-2.1.0.schema.json").validate(sarif(RECORDS[name], GREEN))


@EVERY
def test_junit_is_read_by_junitparser_with_the_same_counts(name: str) -> None:
    suites: Any = JUnitXml.fromstring(page("junit", [RECORDS[name]], [OBSERVED]))
    said = (suites.tests, suites.failures, suites.errors, suites.skipped)
    suites.update_statistics()
    assert (suites.tests, suites.failures, suites.errors, suites.skipped) == said
    results = [result for suite in suites for case in suite for result in case.result]
    assert all(isinstance(one, junitparser.Failure | junitparser.Error | junitparser.Skipped) for one in results)


@EVERY
def test_a_badge_fits_the_rules_of_the_service(name: str) -> None:
    jsonschema.validate(json.loads(text("badge", RECORDS[name])), BADGE)


@EVERY
def test_json_is_the_record_byte_for_byte(name: str) -> None:
    assert page("json", [RECORDS[name]], [OBSERVED]) == encode_record(RECORDS[name])


class Tags(HTMLParser):
    """Counts the elements and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.found[tag] += 1


@EVERY
def test_markdown_renders_to_tables_and_code_and_nothing_of_a_backend_is_markup(name: str) -> None:
    source = text("markdown", RECORDS[name])
    tags = Tags()
    tags.feed(MarkdownIt("gfm-like", {"linkify": False}).render(source))
    plain = {"h2", "h3", "h4", "p", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
    assert set(tags.found) <= plain
    assert tags.found["h2"] == 1
    assert tags.found["table"] == 2
    assert all(line.isprintable() for line in source.split("\n"))


@EVERY
def test_no_format_has_a_character_that_steers_a_terminal(name: str) -> None:
    for format_ in sorted(FORMATS.keys() - {"json"}):  # the record keeps every character
        assert all(line.isprintable() for line in text(format_, RECORDS[name]).split("\n")), format_


@EVERY
@pytest.mark.parametrize("format_", sorted(FORMATS))
def test_the_same_record_gives_the_same_bytes_and_stays_as_it_was(format_: str, name: str) -> None:
    one, before = RECORDS[name], encode_record(RECORDS[name])
    other = read_record(before)
    assert page(format_, [one], [OBSERVED]) == page(format_, [other], [copy.deepcopy(OBSERVED)])
    assert encode_record(one) == before


@EVERY
def test_every_format_is_red_exactly_where_the_verdict_is(name: str) -> None:
    one = RECORDS[name]
    wanted = not one.verdict.startswith(("CONFORMANT", "PASSED"))
    suites = JUnitXml.fromstring(page("junit", [one], [OBSERVED]))
    assert bool(suites.failures + suites.errors) is wanted
    assert bool(ctrf(one)["results"]["summary"]["failed"]) is wanted
    results = sarif(one)["runs"][0]["results"]
    assert any(not result.get("suppressions") for result in results) is wanted
    assert json.loads(text("badge", one)).get("isError", False) is wanted
    assert f"## Tallystick: {one.verdict}\n" in text("markdown", one)
    assert text("text", one).rstrip().splitlines()[-1].startswith(one.verdict)


def test_ctrf_counts_and_times_are_those_of_the_record_and_its_observations() -> None:
    summary = ctrf(RED)["results"]["summary"]
    assert {name: summary[name] for name in ("tests", "passed", "failed", "skipped")} == {
        "tests": 8,  # seven checks and one loss of the backend
        "passed": 2,
        "failed": 4,
        "skipped": 2,
    }
    assert summary["stop"] == 1772359202000  # 2026-03-01T10:00:02Z
    assert summary["stop"] - summary["start"] == summary["duration"] == 2500
    assert "timestamp" not in ctrf(RED, {})
    assert ctrf(RED, {})["results"]["summary"]["stop"] == 0


def test_ctrf_names_each_check_by_its_id_and_an_excused_failure_by_its_reason() -> None:
    tests = {test["testId"]: test for test in ctrf(RED)["results"]["tests"]}
    late = tests[f"{MAP}::tail-blocks::late"]
    assert (late["status"], late["rawStatus"]) == ("skipped", "fail")
    assert late["message"] == "expected to fail: the tail is not done yet (https://example.org/1)"
    boom = tests[f"{MAP}::tail-blocks::boom"]
    assert (boom["status"], boom["rawStatus"]) == ("failed", "error")
    assert len(boom["stderr"]) == 2
    assert (boom["duration"], late["duration"]) == (1250, 0)
    cases = {case.name: case.time for suite in JUnitXml.fromstring(text("junit", RED)) for case in suite}
    assert (cases["tail-blocks::boom"], cases["tail-blocks::late"]) == (1.25, 0)
    assert boom["labels"] == {"requirements": ["N12"], "rulings": ["NA18"]}


def test_the_id_of_a_ctrf_report_depends_on_the_record_alone() -> None:
    assert ctrf(RED)["reportId"] == ctrf(RED, {})["reportId"] != ctrf(GREEN)["reportId"]


def result_of(name: str) -> Any:
    found = sarif(RED)["runs"][0]["results"]
    return next(one for one in found if one.get("partialFingerprints", {}).get("tallystickCheck/v1", "").endswith(name))


def place(result: Any) -> tuple[str, int, int]:
    physical = result["locations"][0]["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"], physical["region"]["startColumn"]


def test_a_sarif_result_is_at_the_clause_that_the_answer_breaks_else_at_the_requirement() -> None:
    assert place(result_of("clause")) == ("spec/data/Map_v1.yaml", 40, 5)
    assert result_of("clause")["ruleId"] == f"{MAP}/in-range"
    assert place(result_of("boom")) == ("spec/data/requirements.yaml", 12, 3)
    assert result_of("boom")["ruleId"] == "N12"
    run = sarif(RED)["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[one["ruleIndex"]] for one in run["results"]] == [one["ruleId"] for one in run["results"]]


def test_an_expected_failure_is_a_suppressed_sarif_result() -> None:
    (suppression,) = result_of("late")["suppressions"]
    assert suppression["kind"] == "external"
    assert "https://example.org/1" in suppression["justification"]
    assert "suppressions" not in result_of("boom")


def test_sarif_has_the_times_of_the_observations_and_a_run_for_each_backend() -> None:
    first, second = sarif(RED, GREEN)["runs"]
    assert first["invocations"][0]["startTimeUtc"] == "2026-03-01T09:59:59Z"
    assert first["invocations"][0]["endTimeUtc"] == "2026-03-01T10:00:02Z"
    assert second["results"] == []
    assert sarif(EMPTY)["runs"][0]["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize("hostile", ["../../etc/passwd:1:1", "a/../b:1:1", "http://e.vil/x:1:1", "x:0:1", "x:1", ""])
def test_a_place_that_leaves_the_project_is_left_out_of_sarif(hostile: str) -> None:
    prose = {**RED["prose"], "clauses": {f"{MAP}/in-range": {"text": "t", "place": hostile}}}
    one = replace(RED, members={**RED.members, "prose": prose})
    result = next(one for one in sarif(one)["runs"][0]["results"] if one["ruleId"] == f"{MAP}/in-range")
    assert "physicalLocation" not in result["locations"][0]
    schema("sarif-2.1.0.schema.json").validate(sarif(one))


def test_the_badge_says_what_was_tried() -> None:
    assert json.loads(text("badge", GREEN))["message"] == "conformant: 2/3 operators, standard"
    part = record(passed(MAP, "a"), selection="Map")
    assert json.loads(text("badge", part))["message"] == "conformant: part of 1/3 operators, standard"
    assert json.loads(text("badge", RECORDS["excused"]))["message"].startswith("passed with 1 expected failure: ")
    assert json.loads(text("badge", EMPTY))["message"] == "no judgement"


def test_the_first_distinct_failures_are_in_markdown_with_the_command_that_repeats_them() -> None:
    shown = text("markdown", RED)
    assert "#### Failure group 1 of 3 (1 check): " in shown
    assert f"repeat      tally run --backend '{HOSTILE[:7]}" in shown


def test_a_json_document_means_the_same_with_its_characters_escaped() -> None:
    odd = 'a\x7f\x9b\u202e\U000e0001\n"\\'
    assert json.loads(document_text({odd: odd})) == {odd: odd}
    assert document_text("\ud800") == '"\\\\ud800"\n'


def test_the_digest_that_names_a_record_is_that_of_its_footer() -> None:
    assert json.loads(encode_record(RED))["whole"] == digest_of_record(RED)


def test_the_table_of_formats_names_each_file_once() -> None:
    files = [asdict(one)["file"] for one in FORMATS.values()]
    assert len(set(files)) == len(files)
    assert sorted(FORMATS) == list(FORMATS)
