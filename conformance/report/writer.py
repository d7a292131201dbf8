"""The formats of a finished record; a writer is one function and one line in the table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any, Final

from conformance.contract.suite import Suite
from conformance.report.record import Record, encode_record, read_record
from conformance.report.verdict import CONFORMANT, NO_JUDGEMENT, NOT_CONFORMANT
from conformance.vectors.jsontext import document_text

Observations = Mapping[str, Any]
# Makes the text of a file from finished records and the observations of each (empty if unknown). It has no access
# to the run, so it cannot influence a verdict.
Writer = Callable[..., str | bytes]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: the name of its file in the folder of a run, and the writer as module:function."""

    file: str
    writer: str
    several: bool = False  # whether one file can show several records
    of_suite: bool = False  # whether it also shows the proof of the suite, so that it needs the suite


# A writer is imported only when it is needed.
FORMATS: Final[Mapping[str, Format]] = {
    "badge": Format("badge.json", "conformance.report.writer:badge"),
    "ctrf": Format("ctrf.json", "conformance.report.ctrf:ctrf"),
    "html": Format("report.html", "conformance.report.html:html_file", several=True, of_suite=True),
    "json": Format("record.json", "conformance.report.writer:canonical"),
    "junit": Format("junit.xml", "conformance.report.junit:junit"),
    "markdown": Format("report.md", "conformance.report.markdown:markdown", several=True),
    "sarif": Format("report.sarif", "conformance.report.sarif:sarif", several=True),
    "text": Format("report.txt", "conformance.report.terminal:text_page", several=True),
}
OBSERVATIONS: Final = "observations.json"  # beside the record of a run

# The files of the writers; a run first removes old ones, so that none is left if the run ends without a judgement.
FILES: Final = (OBSERVATIONS, *(format_.file for format_ in FORMATS.values()))


def page(
    name: str, records: Sequence[Record], observed: Sequence[Observations], suite: Suite | None = None
) -> bytes:
    """The file of a format; raises KeyError for an unknown format. Without a suite, the bundled one is used.

    The writer gets copies of the records, so that it cannot change other files or the verdict of the command.
    """
    module, _, function = FORMATS[name].writer.partition(":")
    writer: Writer = getattr(import_module(module), function)
    more = [suite] if FORMATS[name].of_suite else []
    made = writer([read_record(encode_record(record)) for record in records], observed, *more)
    return made.encode("utf-8") if isinstance(made, str) else made


def canonical(records: Sequence[Record], observed: Sequence[Observations]) -> bytes:
    """The record itself."""
    (record,) = records
    return encode_record(record)


def span(observations: Observations) -> tuple[datetime, datetime] | None:
    """The start and end of a run; None if they were not observed."""
    if "written" not in observations:
        return None
    end = datetime.fromisoformat(observations["written"]).astimezone(UTC)
    return end - timedelta(seconds=observations.get("seconds", 0)), end


def observations_text(observations: Observations) -> str:
    """The file beside a record with everything that depends on the clock or the host."""
    return json.dumps(observations, indent=2, sort_keys=True, default=str) + "\n"


_COLOURS: Final = {CONFORMANT: "brightgreen", NOT_CONFORMANT: "red", NO_JUDGEMENT: "lightgrey"}
_EXCUSED: Final = "yellow"


def badge(records: Sequence[Record], observed: Sequence[Observations]) -> str:
    """The badge of one record: the verdict, and the scope.

    A badge has room for a few words. It names the profile, and says "part" if only selected checks ran.
    """
    (record,) = records
    members: dict[str, Any] = {
        "schemaVersion": 1,
        "label": "tallystick",
        "message": _message(record),
        "color": _COLOURS.get(record.verdict, _EXCUSED),
    }
    if record.verdict in (NOT_CONFORMANT, NO_JUDGEMENT):
        members["isError"] = True  # so the page with the badge cannot choose another colour
    return document_text(members)


def _message(record: Record) -> str:
    verdict = record.verdict.lower()
    if record.verdict == NO_JUDGEMENT:
        return verdict
    scope = record["scope"]
    part = "part of " if record["selection"] else ""
    return f"{verdict}: {part}{len(scope['operators'])}/{scope['of']} operators, {record['profile']}"
