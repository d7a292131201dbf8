"""CTRF 1.0.0, the common JSON format for test results (https://ctrf.io): one test for each check."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from conformance.report.failure import (
    excuse_of,
    facts_of,
    headline,
    plain_lines,
    reproduction_in,
    seconds_in,
    stderr_in,
)
from conformance.report.record import Record, digest_of_record
from conformance.report.untrusted import printable
from conformance.report.verdict import run_problems
from conformance.report.writer import Observations, span
from conformance.vectors.jsontext import document_text

_STATUS: Final = {"pass": "passed", "fail": "failed", "error": "failed", "not_applicable": "skipped"}
_NAMES: Final = uuid.uuid5(uuid.NAMESPACE_URL, "https://tallystick.dev/ctrf")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RUN: Final = "tallystick"  # the suite of problems that belong to no operator
Test = dict[str, Any]


def ctrf(records: Sequence[Record], observed: Sequence[Observations]) -> str:
    """The report of one record.

    All times and durations come from the observations; they are 0 without observations.
    """
    (record,), (observations,) = records, observed
    tests = [*_tests(record, observations), *_troubles(record)]
    counts = Counter(test["status"] for test in tests)
    start, stop = _times(observations)
    backend = record["backend"]
    report = {
        "reportFormat": "CTRF",
        "specVersion": "1.0.0",
        "reportId": str(uuid.uuid5(_NAMES, digest_of_record(record))),
        "generatedBy": f"tallystick {record['harness']}",
        "results": {
            "tool": {"name": "tallystick", "version": record["harness"]},
            "summary": {
                "tests": len(tests),
                **{status: counts[status] for status in ("passed", "failed", "skipped", "pending", "other")},
                "suites": len({test["suite"][0] for test in tests}),
                "start": start,
                "stop": stop,
                "duration": stop - start,
            },
            "tests": tests,
            "environment": {
                "appName": printable(backend["name"]),
                "appVersion": printable(backend["version"]),
                "extra": {name: printable(backend[name]) for name in ("text", "wire", "sandbox", "language")},
            },
            "extra": {
                "verdict": record.verdict,
                "sentence": printable(record.sentence),
                "profile": record["profile"],
                "vectors": record["vectors"],
            },
        },
    }
    if written := observations.get("written"):
        report["timestamp"] = written
    return document_text(report)


def _times(observations: Observations) -> tuple[int, int]:
    """Start and end of a run in milliseconds since 1970; from 0 if the observations have no start."""
    if (found := span(observations)) is None:
        return 0, round(observations.get("seconds", 0) * 1000)
    start, stop = ((moment - _EPOCH) // timedelta(milliseconds=1) for moment in found)
    return start, stop


def _tests(record: Record, observations: Observations) -> Iterator[Test]:
    tried = reproduction_in(record)
    for entry in record.entries:
        verdict, excused = entry["verdict"], entry.get("excused", False)
        test = _test(entry["id"], [entry["operator"], entry["group"]], _STATUS[verdict])
        milliseconds = round(1000 * seconds_in(observations, entry))
        test |= {"rawStatus": verdict, "type": entry["kind"], "duration": milliseconds}
        if labels := {name: entry[name] for name in ("requirements", "rulings") if entry[name]}:
            test["labels"] = labels
        if verdict in ("fail", "error"):
            stderr = stderr_in(observations, entry)
            test["message"] = printable(excuse_of(record, entry) if excused else headline(entry))
            test["trace"] = plain_lines(facts_of(entry, record["prose"], tried, stderr))
            if stderr:
                test["stderr"] = [printable(line) for line in stderr.splitlines()]
        if verdict == "not_applicable":
            test["message"] = "the backend does not declare this operator"
        yield test | ({"status": "skipped"} if excused else {})


def _troubles(record: Record) -> Iterator[Test]:
    for trouble in run_problems(record.members):
        test = _test(trouble.name, [_RUN], "failed")
        yield test | {"message": printable(trouble.text), "rawStatus": "error" if trouble.lost else "fail"}


def _test(name: str, suite: Sequence[str], status: str) -> Test:
    id_ = printable(name) or "unnamed"
    return {"name": id_, "testId": id_, "suite": [printable(one) for one in suite], "status": status, "duration": 0}
