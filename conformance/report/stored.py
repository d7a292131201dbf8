"""Records, observations, run manifests and run traces from untrusted files."""

from __future__ import annotations

import json
import math
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final

from conformance.report.record import (
    BrokenRecord,
    Record,
    digest_of_record,
    encode_record,
    read_record,
    record_with_verdict,
)
from conformance.report.writer import OBSERVATIONS, Observations
from conformance.trial.check import Verdict
from conformance.vectors.jsontext import strict_json

PREVIEW: Final = 1 << 20  # bytes at the start of a file that show whether it is a run trace
_PARQUET: Final = b"PAR1"
_KEY, _END_KEY = b"tallystick", b"tallystick_end"
_LONGEST: Final = 1 << 20  # bytes of a line
_END: Final = "run_end"
_NO_ROW: Final = "(no row)"
_ABSENT: Final = "(absent)"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """A column in which runs differ: the number of rows, the first row (from 1), and the value of each run there."""

    column: str
    rows: int
    first: int
    values: tuple[str, ...]


def is_trace(begin: bytes) -> bool:
    """Whether a file with this beginning is a run trace."""
    return begin.startswith(_PARQUET) or b'"run_trace"' in begin.partition(b"\n")[0]


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as source:
        return source.read(len(_PARQUET)) == _PARQUET


def read_header(file: Path) -> dict[str, Any]:
    """The header of a run trace, which is a run manifest; raises BrokenRecord."""
    if _is_parquet(file):
        with _opened(file) as parquet:
            text = (parquet.schema_arrow.metadata or {}).get(_KEY)
        if text is None:
            raise BrokenRecord(
                str(file), "it has no header of a run trace", "docs/telemetry.md shows how one is written"
            )
        return _object(file, 0, text)
    with file.open("rb") as source:
        return _object(file, 1, source.readline(_LONGEST))


def _rows(file: Path) -> Iterator[Row]:
    """The rows in order, then the end row if there is one."""
    return _parquet_rows(file) if _is_parquet(file) else _lines(file)


def _lines(file: Path) -> Iterator[Row]:
    with file.open("rb") as source:
        source.readline(_LONGEST)
        number = 1
        while line := source.readline(_LONGEST):
            number += 1
            if not line.endswith(b"\n") and not source.read(1):
                return  # the run was killed while it wrote this line
            yield _object(file, number, line)


def _parquet_rows(file: Path) -> Iterator[Row]:
    with _opened(file) as parquet:
        for batch in parquet.iter_batches():
            for row in batch.to_pylist():
                yield {name: _as_json(value) for name, value in row.items()}
        end = (parquet.metadata.metadata or {}).get(_END_KEY)
    if end is not None:
        yield _object(file, 0, end)


def _as_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _opened(file: Path) -> Any:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise BrokenRecord(str(file), "a Parquet file needs PyArrow", "pip install 'tallystick[telemetry]'") from None
    try:
        return ParquetFile(file)
    except (ArrowException, OSError, ValueError) as error:
        raise BrokenRecord(str(file), f"it is no Parquet file ({str(error)[:160]})", "write the trace again") from None


def _object(file: Path, line: int, data: bytes) -> dict[str, Any]:
    place = f"{file}:{line}" if line else str(file)
    if len(data) == _LONGEST:
        raise BrokenRecord(place, f"a line is longer than {_LONGEST >> 20} MiB", "write arrays by their digests")
    try:
        value = strict_json(data)
    except ValueError as error:
        raise BrokenRecord(place, f"it is not JSON ({error})", "docs/telemetry.md shows a run trace") from None
    if not isinstance(value, dict):
        raise BrokenRecord(place, "it is no JSON object", "docs/telemetry.md shows a run trace")
    return value


def column_differences(traces: Sequence[Path]) -> tuple[list[int], list[ColumnDifference]]:
    """The number of rows of each run trace, and the columns in which they differ, by their first row.

    Raises BrokenRecord.
    """
    counts = [0] * len(traces)
    found: dict[str, ColumnDifference] = {}
    ends: list[Mapping[str, Any]] = [{}] * len(traces)
    for number, rows in enumerate(zip_longest(*map(_rows, traces)), 1):
        for k, row in enumerate(rows):
            if row is not None and _END in row:
                ends[k] = row
            elif row is not None:
                counts[k] += 1
        shown = [None if row is None or _END in row else row for row in rows]
        if any(row is not None for row in shown):
            _part(number, shown, found)
    apart = sorted(found.values(), key=lambda one: (one.first, one.column))
    said = tuple(text_of(end[_END]) if _END in end else "it has no end" for end in ends)
    return counts, apart + ([ColumnDifference(_END, 1, max(counts), said)] if len(set(said)) > 1 else [])


def _part(number: int, rows: list[Row | None], found: dict[str, ColumnDifference]) -> None:
    if len({text_of(row) for row in rows}) == 1:  # texts, because 1, 1.0 and true are equal values
        return
    for column in dict.fromkeys(chain.from_iterable(row for row in rows if row is not None)):
        values = tuple(_NO_ROW if row is None else text_of(row.get(column, _ABSENT)) for row in rows)
        if len(set(values)) > 1 and _NO_ROW not in values:
            before = found.get(column)
            found[column] = (
                ColumnDifference(column, 1, number, values)
                if before is None
                else ColumnDifference(column, before.rows + 1, before.first, before.values)
            )


def text_of(value: Any) -> str:
    """A value on one line: a text unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


LARGEST: Final = 128 << 20  # bytes of a file; the record of a run of 10,000 checks has 3 MB
RECORD_SCHEMA: Final = "record.schema.json"
MANIFEST_SCHEMA: Final = "run-manifest.schema.json"


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record with its file, and the observations of its run if the folder of the file has them."""

    file: Path
    record: Record
    observations: Observations = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The members of a run manifest, and the requirement that makes a member decide whether runs are comparable."""

    file: Path
    members: Mapping[str, Any]
    deciding: Mapping[str, str]
    is_trace: bool = False  # whether it is the header of a run trace


def load(file: Path, schemas: Path) -> StoredRecord | Manifest:
    """The content of a file; a run trace is a manifest with rows. `schemas` is the folder of the schemas.

    Raises BrokenRecord.
    """
    begin = _content(file, PREVIEW)
    if is_trace(begin):
        return _manifest(file, read_header(file), schemas / MANIFEST_SCHEMA, True)
    data = _content(file, LARGEST + 1)
    if len(data) > LARGEST:
        raise BrokenRecord(str(file), f"it is larger than {LARGEST >> 20} MiB", "select fewer checks for each record")
    if b'"whole"' not in data and b'"run_manifest"' in data:
        return _manifest(file, _json(file, data), schemas / MANIFEST_SCHEMA)
    record = read_record(data, str(file))
    _require_fit(dict(record.members), schemas / RECORD_SCHEMA, file, left_out=("sections", "whole"))
    _require_consistent(record, data, file)
    return StoredRecord(file, record, _observations(file.with_name(OBSERVATIONS), record))


def _content(file: Path, most: int) -> bytes:
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # reading a pipe could wait for ever
            raise BrokenRecord(str(file), "it is no regular file", "name a record.json")
        with file.open("rb") as source:
            return source.read(most)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BrokenRecord(str(file), f"it cannot be read ({reason})", "name a record.json") from None


def _json(file: Path, data: bytes) -> Any:
    try:
        return strict_json(data)
    except ValueError as error:
        raise BrokenRecord(str(file), f"it is not JSON ({error})", "docs/reports.md shows a run manifest") from None


def _manifest(file: Path, members: Any, schema: Path, is_trace: bool = False) -> Manifest:
    _require_fit(members, schema, file)
    properties = _schema(schema)["properties"]
    deciding = {name: body["decides"] for name, body in properties.items() if "decides" in body}
    return Manifest(file, members, deciding, is_trace)


def _require_fit(members: Any, schema: Path, file: Path, left_out: tuple[str, ...] = ()) -> None:
    import fastjsonschema  # jsonschema needs 4 s for a record of 10,000 checks, this 0.2 s

    document = _schema(schema)
    document["required"] = [name for name in document["required"] if name not in left_out]
    try:
        fastjsonschema.compile(document)(members)
    except fastjsonschema.JsonSchemaValueException as error:
        said = error.message.removeprefix("data").removeprefix(".")
        raise BrokenRecord(str(file), f"{said:.200}", f"expected what spec/schema/{schema.name} says") from None
    except RecursionError:
        raise BrokenRecord(str(file), "it nests too deep", "a value has at most 300 levels") from None


def _schema(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = strict_json(file.read_bytes())
    return document


def _require_consistent(record: Record, data: bytes, file: Path) -> None:
    """Raise BrokenRecord if the counts or the verdict do not follow from the results, or tally would write other
    bytes."""
    ids = [entry["id"] for entry in record.entries]
    if twice := [id_ for id_, times in Counter(ids).items() if times > 1]:
        raise BrokenRecord(str(file), f"the check {twice[0]!r:.200} comes twice", "run `tally run` again")
    ran = [entry for entry in record.entries if entry["verdict"] != Verdict.NOT_APPLICABLE]
    counts = {**record["counts"], "run": len(ran), "not_applicable": len(ids) - len(ran)}
    if not record.members.get("stopped", 0):
        counts["selected"] = len(ids)
    scope = {**record["scope"], "operators": sorted({entry["operator"] for entry in ran})}
    again = record_with_verdict({**record.members, "counts": counts, "scope": scope})
    for name in ("counts", "scope", "verdict", "verdicts", "sentence"):
        if again[name] != record[name]:
            said = f"its {name} is {record[name]!r:.200}, but its results give {again[name]!r:.200}"
            raise BrokenRecord(str(file), said, "run `tally run` again")
    try:
        canonical = encode_record(record)
    except RecursionError:
        raise BrokenRecord(str(file), "it nests too deep", "a value has at most 300 levels") from None
    if canonical != data:
        raise BrokenRecord(str(file), "it is not in the form in which `tally` writes a record", "run `tally run` again")


def _observations(file: Path, record: Record) -> Observations:
    """The observations of the run of this record; empty if the file beside it belongs to another run."""
    if not file.is_file():
        return {}
    try:
        found = strict_json(_content(file, LARGEST))
    except ValueError as error:
        raise BrokenRecord(str(file), f"it is not JSON ({error})", "remove it, or run `tally run` again") from None
    if not isinstance(found, dict) or found.get("record") != digest_of_record(record):
        return {}
    if any(name not in sound(found) for name in _FORMS.keys() & found.keys()):
        raise BrokenRecord(str(file), "a time or a text is of the wrong type", "remove it, or run `tally run` again")
    return found


def sound(observations: Observations) -> Observations:
    """The observations that are well formed; nothing signs them, so others are left out."""
    return {name: value for name, value in observations.items() if name in _FORMS and _FORMS[name](value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15


def _is_map(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(fits, value.values()))


def _is_counted(value: Any) -> bool:
    return _is_map(value, _is_number) and all(name in value for name in STATES)


def _is_moment(value: Any) -> bool:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return moment.tzinfo is not None and 1970 <= moment.year < 9999


STATES: Final = ("total", "tried", "bad")  # counts of crash states
_FORMS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "seconds": _is_number,
    "calls": _is_number,
    "written": _is_moment,
    "durations": lambda value: _is_map(value, _is_number),
    "stderr": lambda value: _is_map(value, lambda text: isinstance(text, str)),
    "crash_states": lambda value: _is_map(value, lambda levels: _is_map(levels, _is_counted)),
}
