"""Run traces: the rows that a training run wrote, from a JSONL or Parquet file, and where two runs part."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final

from conformance.report.record import BrokenRecord
from conformance.vectors.jsontext import strict_json

PREVIEW: Final = 1 << 20  # bytes at the beginning of a file that tell whether it is a run trace
_PARQUET: Final = b"PAR1"
_KEY, _END_KEY = b"tallystick", b"tallystick_end"
_LONGEST: Final = 1 << 20  # bytes of a line
_END: Final = "run_end"
_NO_ROW: Final = "(no row)"
_ABSENT: Final = "(absent)"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunTrace:
    """The rows of a run in a file."""

    file: Path

    def rows(self) -> Iterator[Row]:
        """The rows as they are read, and the end as a last one, where there is one. Raises BrokenRecord."""
        return _parquet_rows(self.file) if _is_parquet(self.file) else _lines(self.file)


@dataclass(frozen=True, slots=True)
class Parting:
    """A column in which runs differ: in how many rows, in which first (from 1), and what each run has there."""

    column: str
    rows: int
    first: int
    values: tuple[str, ...]


def is_trace(begin: bytes) -> bool:
    """Whether a file that begins so is a run trace."""
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
            raise BrokenRecord(f"{file}: it has no header of a run trace; docs/telemetry.md shows how one is written")
        return _object(file, 0, text)
    with file.open("rb") as source:
        return _object(file, 1, source.readline(_LONGEST))


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
                yield {name: _said(value) for name, value in row.items()}
        end = (parquet.metadata.metadata or {}).get(_END_KEY)
    if end is not None:
        yield _object(file, 0, end)


def _said(value: Any) -> Any:
    """A value as the JSON lines say it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _opened(file: Path) -> Any:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise BrokenRecord(f"{file}: a Parquet file needs PyArrow; pip install 'tallystick[telemetry]'") from None
    try:
        return ParquetFile(file)
    except (ArrowException, OSError, ValueError) as error:
        raise BrokenRecord(f"{file}: it is no Parquet file ({str(error)[:160]}); write the trace again") from None


def _object(file: Path, line: int, data: bytes) -> dict[str, Any]:
    place = f"{file}:{line}" if line else str(file)
    if len(data) == _LONGEST:
        raise BrokenRecord(f"{place}: a line is longer than {_LONGEST >> 20} MiB; write arrays by their digests")
    try:
        value = strict_json(data)
    except ValueError as error:
        raise BrokenRecord(f"{place}: it is not JSON ({error}); docs/telemetry.md shows a run trace") from None
    if not isinstance(value, dict):
        raise BrokenRecord(f"{place}: it is no JSON object; docs/telemetry.md shows a run trace")
    return value


def partings(traces: Sequence[RunTrace]) -> tuple[list[int], list[Parting]]:
    """The number of rows of each run, and the columns in which they differ, by their first row. Raises BrokenRecord."""
    counts = [0] * len(traces)
    found: dict[str, Parting] = {}
    ends: list[Mapping[str, Any]] = [{}] * len(traces)
    for number, rows in enumerate(zip_longest(*(one.rows() for one in traces)), 1):
        for k, row in enumerate(rows):
            if row is not None and _END in row:
                ends[k] = row
            elif row is not None:
                counts[k] += 1
        shown = [None if row is None or _END in row else row for row in rows]
        if any(row is not None for row in shown):
            _part(number, shown, found)
    apart = sorted(found.values(), key=lambda one: (one.first, one.column))
    said = tuple(_text(end[_END]) if _END in end else "it has no end" for end in ends)
    return counts, apart + ([Parting(_END, 1, max(counts), said)] if len(set(said)) > 1 else [])


def _part(number: int, rows: list[Row | None], found: dict[str, Parting]) -> None:
    if len({_text(row) for row in rows}) == 1:  # equal values would not do: 1, 1.0 and true are equal
        return
    for column in dict.fromkeys(chain.from_iterable(row for row in rows if row is not None)):
        values = tuple(_NO_ROW if row is None else _text(row.get(column, _ABSENT)) for row in rows)
        if len(set(values)) > 1 and _NO_ROW not in values:
            before = found.get(column)
            found[column] = (
                Parting(column, 1, number, values)
                if before is None
                else Parting(column, before.rows + 1, before.first, before.values)
            )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
