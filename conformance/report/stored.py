"""Records, observations, run manifests and run traces from files that anybody may have written."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from conformance.report import run_trace
from conformance.report.record import BrokenRecord, Record, digest_of_record, encode_record, judged, read_record
from conformance.report.run_trace import PREVIEW, RunTrace
from conformance.report.writer import OBSERVATIONS, Observations
from conformance.vectors.jsontext import strict_json

LARGEST: Final = 128 << 20  # bytes of a file; the record of a run of 10,000 checks has 3 MB
RECORD_SCHEMA: Final = "record.schema.json"
MANIFEST_SCHEMA: Final = "run-manifest.schema.json"


@dataclass(frozen=True, slots=True)
class Stored:
    """A record with its file, and what was observed in its run where the folder of the file says it."""

    file: Path
    record: Record
    observations: Observations = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The members of a run manifest, and which requirement makes a member decide whether runs are comparable.

    `trace` is the run trace whose header it is, if it is one.
    """

    file: Path
    members: Mapping[str, Any]
    deciding: Mapping[str, str]
    trace: RunTrace | None = None


def load(file: Path, schemas: Path) -> Stored | Manifest:
    """The content of a file; a run trace is a manifest with rows. `schemas` is the folder of the schemas.

    Raises BrokenRecord.
    """
    begin = _content(file, PREVIEW)
    if run_trace.is_trace(begin):
        return _manifest(file, run_trace.read_header(file), schemas / MANIFEST_SCHEMA, RunTrace(file))
    data = _content(file, LARGEST + 1)
    if len(data) > LARGEST:
        raise BrokenRecord(f"{file}: it is larger than {LARGEST >> 20} MiB; select fewer checks for each record")
    if b'"whole"' not in data and b'"run_manifest"' in data:
        return _manifest(file, _json(file, data), schemas / MANIFEST_SCHEMA)
    record = read_record(data, str(file))
    _require_fit(dict(record.members), schemas / RECORD_SCHEMA, file, left_out=("sections", "whole"))
    _require_consistent(record, data, file)
    return Stored(file, record, _observations(file.with_name(OBSERVATIONS), record))


def _content(file: Path, most: int) -> bytes:
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would be waited for
            raise BrokenRecord(f"{file}: it is no regular file; name a record.json")
        with file.open("rb") as source:
            return source.read(most)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BrokenRecord(f"{file}: it cannot be read ({reason}); name a record.json") from None


def _json(file: Path, data: bytes) -> Any:
    try:
        return strict_json(data)
    except ValueError as error:
        raise BrokenRecord(f"{file}: it is not JSON ({error}); docs/reports.md shows a run manifest") from None


def _manifest(file: Path, members: Any, schema: Path, trace: RunTrace | None = None) -> Manifest:
    _require_fit(members, schema, file)
    properties = _schema(schema)["properties"]
    deciding = {name: body["decides"] for name, body in properties.items() if "decides" in body}
    return Manifest(file, members, deciding, trace)


def _require_fit(members: Any, schema: Path, file: Path, left_out: tuple[str, ...] = ()) -> None:
    import fastjsonschema  # jsonschema needs 4 s for a record of 10,000 checks, this 0.2 s

    document = _schema(schema)
    document["required"] = [name for name in document["required"] if name not in left_out]
    try:
        fastjsonschema.compile(document)(members)
    except fastjsonschema.JsonSchemaValueException as error:
        said = error.message.removeprefix("data").removeprefix(".")
        raise BrokenRecord(f"{file}: {said:.200}; expected what spec/schema/{schema.name} says") from None
    except RecursionError:
        raise BrokenRecord(f"{file}: it nests too deep; a value has at most 300 levels") from None


def _schema(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = strict_json(file.read_bytes())
    return document


def _require_consistent(record: Record, data: bytes, file: Path) -> None:
    """Raise BrokenRecord where the verdict is not that of the results, or the bytes are not those that tally writes."""
    ids = [entry["id"] for entry in record.entries]
    if twice := [id_ for id_, times in Counter(ids).items() if times > 1]:
        raise BrokenRecord(f"{file}: the check {twice[0]!r:.200} is there twice; run the trial again")
    again = judged(record.members)
    for name in ("verdict", "verdicts"):
        if again[name] != record[name]:
            said = f"its {name} is {record[name]!r:.200}, but its results give {again[name]!r}"
            raise BrokenRecord(f"{file}: {said}; run the trial again")
    try:
        canonical = encode_record(record)
    except RecursionError:
        raise BrokenRecord(f"{file}: it nests too deep; a value has at most 300 levels") from None
    if canonical != data:
        raise BrokenRecord(f"{file}: it is not in the form in which tally writes a record; run the trial again")


def _observations(file: Path, record: Record) -> Observations:
    """What was observed in the run of this record; nothing where the file beside it belongs to another run."""
    if not file.is_file():
        return {}
    try:
        found = strict_json(_content(file, LARGEST))
    except ValueError as error:
        raise BrokenRecord(f"{file}: it is not JSON ({error}); remove it, or run the trial again") from None
    if not isinstance(found, dict) or found.get("record") != digest_of_record(record):
        return {}
    if not _well_typed(found):
        raise BrokenRecord(f"{file}: a time or a text is of the wrong type; remove it, or run the trial again")
    return found


def _well_typed(found: Mapping[str, Any]) -> bool:
    seconds, written, stderr = found.get("seconds", 0), found.get("written"), found.get("stderr", {})
    try:
        moment = None if written is None else datetime.fromisoformat(written)
    except (TypeError, ValueError):
        return False
    timed = moment is None or (moment.tzinfo is not None and 1970 <= moment.year < 9999)
    spent = found.get("durations", {})
    timed = timed and isinstance(spent, dict) and all(map(_is_seconds, spent.values()))
    told = isinstance(stderr, dict) and all(isinstance(said, str) for said in stderr.values())
    counted = _is_seconds(found.get("calls", 0)) and isinstance(found.get("crash_states", {}), dict)
    return timed and told and counted and _is_seconds(seconds)


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**9
