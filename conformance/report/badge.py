"""The JSON from which https://shields.io draws a badge (its "endpoint" badge)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.report.record import Record
from conformance.report.verdict import CONFORMANT, NO_JUDGEMENT, NOT_CONFORMANT
from conformance.report.writer import Observations
from conformance.vectors.jsontext import document_text

_COLOURS: Final = {CONFORMANT: "brightgreen", NOT_CONFORMANT: "red", NO_JUDGEMENT: "lightgrey"}
_EXCUSED: Final = "yellow"


def badge(records: Sequence[Record], observed: Sequence[Observations]) -> str:
    """The badge of one record: the verdict, and how much was tried.

    A badge has room for a few words. It names the profile, and says "part" where only selected checks ran.
    """
    (record,) = records
    members: dict[str, Any] = {
        "schemaVersion": 1,
        "label": "tallystick",
        "message": _message(record),
        "color": _COLOURS.get(record.verdict, _EXCUSED),
    }
    if record.verdict in (NOT_CONFORMANT, NO_JUDGEMENT):
        members["isError"] = True  # the page that shows the badge cannot choose another colour
    return document_text(members)


def _message(record: Record) -> str:
    verdict = record.verdict.lower()
    if record.verdict == NO_JUDGEMENT:
        return verdict
    scope = record["scope"]
    part = "part of " if record["selection"] else ""
    return f"{verdict}: {part}{len(scope['operators'])}/{scope['of']} operators, {record['profile']}"
