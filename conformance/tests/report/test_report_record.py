"""The record is the same bytes for the same run, and says where it is broken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from conformance.report.record import BrokenRecord, encode_record, entry_of, prose_of, read_record, record_of
from conformance.tests.runs import BATCH, MAP, ORDER, check, failed, library, lost, passed, record, run_of
from conformance.tests.shipped import shipped_library
from conformance.trial.check import Diagnosis, FailedCall, Kind, KnownFailure, Result, RunResult, Verdict

SCHEMA = Path(__file__).parents[3] / "spec" / "schema" / "record.schema.json"


def full_run() -> RunResult:
    return run_of(
        failed(BATCH, "wrong"),
        lost(MAP, "boom"),
        passed(MAP, "one"),
        passed(BATCH, "pure", Kind.BEHAVIOUR),
        Result(check(ORDER, "absent"), Verdict.NOT_APPLICABLE),
        unattributed=("a crash: it exited with status 1",),
        diagnosis=Diagnosis(True, False, ("big-endian",), "reads the seed words big-endian", ("N10",), ("NA02",)),
        expected_failures=(KnownFailure(f"{MAP}*", "the tail is not done yet", "https://example.org/1"),),
        unexpected_passes=(f"{MAP}::tail-blocks::one",),
        fuzz={BATCH: {"examples": 100, "succeeded": 71, "guards": {}}},
    )


def encoded(run: RunResult) -> bytes:
    return encode_record(record_of(run, library()))


def test_the_order_of_results_and_the_observations_do_not_reach_the_record() -> None:
    run = full_run()
    backwards = replace(run, results=tuple(reversed(run.results)), observations={"seconds": 3.2, "jobs": 2})
    assert encoded(backwards) == encoded(run)


def test_a_record_reads_back_as_it_was_written() -> None:
    data = encoded(full_run())
    assert encode_record(read_record(data)) == data


def test_a_record_fits_its_schema() -> None:
    document = json.loads(encoded(full_run()))
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(document)


def test_a_record_that_was_cut_off_is_named_with_its_last_line() -> None:
    data = encoded(full_run())
    cut = data[: data.index(b'"selection"')]
    with pytest.raises(BrokenRecord, match=rf"record.json:{cut.count(chr(10).encode()) + 1}: .*cut off"):
        read_record(cut)


def test_an_edited_verdict_is_found_in_the_operator_whose_results_it_changes() -> None:
    data = encoded(full_run()).replace(b'"verdict": "fail"', b'"verdict": "pass"')
    line = data[: data.index(b'\n  "results"')].count(b"\n") + 2
    with pytest.raises(BrokenRecord, match=rf"record.json:{line}: altered in results/{BATCH};"):
        read_record(data)


def test_a_broken_line_is_named_with_line_and_column() -> None:
    data = encoded(full_run()).replace(b'"profile": ', b'"profile" ')
    with pytest.raises(BrokenRecord, match=r"record.json:\d+:\d+: not JSON here"):
        read_record(data)


def test_an_altered_layout_is_noticed_although_every_member_is_the_same() -> None:
    data = encoded(full_run()).replace(b'"profile": ', b'"profile":  ')
    with pytest.raises(BrokenRecord, match="the layout was altered"):
        read_record(data)


def test_the_text_of_named_requirements_travels_with_the_record() -> None:
    prose = record(failed(BATCH, "wrong"))["prose"]
    assert prose["requirements"]["N12"]["text"].startswith("only full blocks")
    assert prose["rulings"]["NA18"]["place"] == "spec/data/requirements.yaml:12:3"


def test_the_guards_that_compete_travel_with_their_places() -> None:
    guard = {"id": "stage-known", "code": "INVALID_STAGE_TYPE", "that": "", "requirements": [], "rulings": []}
    result = failed(BATCH, "wrong", call=FailedCall(BATCH, {}), details={"guards": {"answered": [guard]}})
    shipped = shipped_library()
    (clause,) = prose_of([entry_of(result)], shipped)["clauses"].values()
    file, line, _ = clause["place"].split(":")
    assert "{id: stage-known, " in (shipped.suite.root / file).read_text("utf-8").splitlines()[int(line) - 1]
