"""The two forms of a run trace on the disk: JSON lines, and Parquet with the header in its metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Scalar = bool | int | float | str

HEADER_KEY: Final = b"tallystick"
_END_KEY: Final = b"tallystick_end"
_GROUP: Final = 4096  # rows that are in memory until they are written


@dataclass(frozen=True, slots=True)
class Column:
    """Hold what a column holds: its type, and for integers the least and the largest one."""

    kind: type[bool] | type[int] | type[float] | type[str]
    least: int = 0
    most: int = 0

    def holds(self, value: Scalar) -> bool:
        """Tell whether a value fits; a column of floats takes integers."""
        if self.kind is int:
            return type(value) is int and self.least <= value <= self.most
        return type(value) is self.kind or (self.kind is float and type(value) is int)

    @property
    def said(self) -> str:
        """The type in words."""
        return f"an integer from {self.least} to {self.most}" if self.kind is int else f"a {self.kind.__name__}"


def column_of(first: Scalar, is_metric: bool) -> Column:
    """Return the column of a first value: of integers with a sign where it is a metric or below zero."""
    if type(first) is not int:
        return Column(type(first))
    return Column(int, -(2**63), 2**63 - 1) if is_metric or first < 0 else Column(int, 0, 2**64 - 1)


class JsonLines:
    """A line of JSON for the header, for each row and for the end; each is in the file when its call returns."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("x", encoding="utf-8", newline="\n")

    def begin(self, header: Mapping[str, Any], columns: Mapping[str, Column]) -> None:
        """Write the header."""
        self._line(header)

    def write(self, row: Mapping[str, Scalar]) -> None:
        """Write a row; NaN and the infinities are texts."""
        self._line({name: _sayable(value) for name, value in row.items()})

    def close(self, end: Mapping[str, Any]) -> None:
        """Write the end and close the file."""
        self._line(end)
        self._file.close()

    def abandon(self) -> None:
        """Close the file without an end."""
        self._file.close()

    def _line(self, value: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()


def _sayable(value: Scalar) -> Scalar:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


class ParquetFile:
    """One Parquet file; header and end are JSON in its metadata. Rows are written in groups, and a kill loses all."""

    def __init__(self, file: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ModuleNotFoundError as missing:
            said = "a .parquet file needs PyArrow: pip install 'tallystick[telemetry]', or name a .jsonl file"
            raise ModuleNotFoundError(said, name=missing.name) from missing
        self._arrow = pyarrow
        self._file = file.open("xb")
        self._rows: list[Mapping[str, Scalar]] = []
        self._writer: Any = None
        self._schema: Any = None

    def begin(self, header: Mapping[str, Any], columns: Mapping[str, Column]) -> None:
        """Set the columns."""
        types = [(name, self._type_of(column)) for name, column in columns.items()]
        self._schema = self._arrow.schema(types, metadata={HEADER_KEY: json.dumps(header)})
        self._writer = self._arrow.parquet.ParquetWriter(self._file, self._schema)

    def write(self, row: Mapping[str, Scalar]) -> None:
        """Keep a row, and write a group of them."""
        self._rows.append(dict(row))
        if len(self._rows) == _GROUP:
            self._flush()

    def close(self, end: Mapping[str, Any]) -> None:
        """Write what is left, and the end."""
        self._flush()
        self._writer.add_key_value_metadata({_END_KEY: json.dumps(end)})
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Write what is left, without an end."""
        if self._writer is not None:
            self._flush()
            self._writer.close()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
            self._rows = []

    def _type_of(self, column: Column) -> Any:
        arrow = self._arrow
        if column.kind is int:
            return arrow.int64() if column.least else arrow.uint64()
        return {bool: arrow.bool_(), float: arrow.float64(), str: arrow.string()}[column.kind]
