"""Lists of stored values as the arrays of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from math import fsum, sqrt
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags
from impl.vectorized.batch.front.schema import Field, refuse
from impl.vectorized.batch.front.types import microseconds
from impl.vectorized.batch.model import Column, Database
from impl.vectorized.batch.records import SemanticType

PREFIX: Final = b"tallystick.text_embedding_v1\0"
HALF: Final = np.dtype("<f2")
COLUMNS: Final = "column_embeddings.bin"
CATEGORIES: Final = "categorical_embeddings.bin"
TEXTS: Final = "text_embeddings.bin"


class Embedder(Protocol):
    """Turn texts into vectors; the same text must always give the same vector."""

    @property
    def dimension(self) -> int:
        """Return the width of a vector."""

    def embed(self, texts: Sequence[str]) -> AnyArray:
        """Return float16 of shape (texts, dimension)."""


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """Embed a text by SHAKE-256: eleven bits for each number in [-1, 1), which float16 holds exactly."""

    dimension: int = 256

    def embed(self, texts: Sequence[str]) -> AnyArray:
        """Return float16 of shape (texts, dimension)."""
        size = 2 * self.dimension
        digests = b"".join(shake_256(PREFIX + text.encode()).digest(size) for text in texts)
        words = np.frombuffer(digests, "<u2").reshape(len(texts), self.dimension) >> 5
        return ((words.astype(np.float32) - 1024) / 1024).astype(np.float16)


@dataclass(frozen=True, slots=True)
class EmbeddingTables:
    """Hold the three tables, float16 of shape (columns, D), (categories, D) and (texts, D)."""

    columns: AnyArray
    categories: AnyArray
    texts: AnyArray


def write_tables(folder: Path, database: Database, embedder: Embedder) -> EmbeddingTables:
    """Write the embeddings of all columns, categories and texts, and return them memory-mapped.

    A file is the table's float16 numbers, little-endian, row by row, without a header (seed 004 §5a, §5b, §6). A
    column is embedded as "table column", a category as its name; the rows are under their global indices.
    """
    tables = sorted(database.tables, key=lambda table: table.name.encode())
    columns = [(table, column) for table in tables for column in table.columns]
    named = [f"{table.name} {column.name}" for table, column in columns]
    blocks = sorted((column.cat_emb_start, column.categories) for _, column in columns
                    if column.cat_emb_start is not None and column.categories is not None)  # fmt: skip
    categories = [name for _, names in blocks for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (
        (COLUMNS, embedder.embed(named)),
        (CATEGORIES, embedder.embed(categories)),
        (TEXTS, database.text_embeddings),
    ):
        with (folder / name).open("wb") as stream:
            stream.write(np.ascontiguousarray(rows, HALF).data)
    return open_tables(folder, embedder.dimension)


def open_tables(folder: Path, dimension: int) -> EmbeddingTables:
    """Return the tables of a folder, memory-mapped read-only; ValueError where a size does not fit the dimension."""
    return EmbeddingTables(*(_mapped(folder / name, dimension) for name in (COLUMNS, CATEGORIES, TEXTS)))


def _mapped(file: Path, dimension: int) -> AnyArray:
    rows, rest = divmod(file.stat().st_size, HALF.itemsize * dimension)
    if rest:
        raise ValueError(f"{file}: not a whole number of vectors of {dimension}")
    if rows == 0:  # an empty file cannot be mapped
        return np.zeros((0, dimension), np.float16)
    return np.memmap(file, HALF, "r", shape=(rows, dimension))


NONE = type(None)
ALLOWED: Mapping[str, set[type]] = {
    "integer": {int},
    "boolean": {int},
    "microseconds": {int},
    "real": {int, float},
    "numeric": {int, float},
    "text": {str},
    "enum": {str},
    "temporal": {int, float, str},
    "any": {int, float, str, bytes},
}


def column_of(
    place: str, field: Field, kind: SemanticType, values: Sequence[Any], texts: dict[str, int], categories: int
) -> Column:
    """Return a column of its stored values; CONTRACT_VIOLATION or NON_FINITE where they do not fit.

    `texts` numbers every text of the column; the column's categories begin at `categories`.
    """
    nulls = np.array([value is None for value in values], np.bool_)
    held = set(map(type, values)) - {NONE}
    if kind == "ignored":
        return Column(field.name, kind, np.zeros(len(values), np.uint8), nulls)
    if not held <= ALLOWED[field.declared]:
        raise refuse("CONTRACT_VIOLATION", f"{place} must hold {field.declared} values, as declared: got others")
    match kind:
        case "identifier":
            return Column(field.name, kind, _identifiers(values, held), nulls)
        case "numerical" if held <= {int, float}:
            numbers = np.array([0.0 if value is None else float(value) for value in values], np.float64)
            return Column(field.name, kind, numbers, nulls, *_moments(place, numbers[~nulls]))
        case "timestamp" if held <= {int, str}:
            times = _times(place, values)
            return Column(field.name, kind, times, nulls, *_moments(place, times[~nulls].astype(np.float64)))
        case "boolean" if {None, 0, 1}.issuperset(values) and held <= {int}:
            return Column(field.name, kind, np.array([value == 1 for value in values], np.bool_), nulls)
        case "categorical" if held <= {int, str}:
            named = [None if value is None else str(value) for value in values]
            names = sorted({name for name in named if name is not None}, key=str.encode)
            number: dict[str | None, int] = {name: i for i, name in enumerate(names)} | {None: 0}
            indices = np.array([number[name] for name in named], np.uint32)
            return Column(field.name, kind, indices, nulls, cat_emb_start=categories, categories=names)
        case "text" if held <= {str}:
            ids = np.array([0 if value is None else texts[value] for value in values], np.uint32)
            return Column(field.name, kind, ids, nulls)
    raise refuse("CONTRACT_VIOLATION", f"{place} must hold {kind} values: got others; declare another type")


def number_texts(columns: Sequence[Sequence[Any]], texts: dict[str, int]) -> None:
    """Number the texts of several columns, row by row, that have no number yet."""
    for row in zip(*columns, strict=True):
        for value in row:
            if type(value) is str and value not in texts:
                texts[value] = len(texts)


def _identifiers(values: Sequence[Any], held: set[type]) -> AnyArray:
    if held <= {int} and all(value is None or -(1 << 63) <= value < 1 << 63 for value in values):
        return np.array([value or 0 for value in values], np.int64)
    seen: dict[Any, int] = {}
    for value in values:
        if value is not None:
            seen.setdefault(value, len(seen))
    return np.array([0 if value is None else seen[value] for value in values], np.int64)


def _times(place: str, values: Sequence[Any]) -> AnyArray:
    read = {value: microseconds(value) if isinstance(value, str) else value for value in set(values) - {None}}
    for value, time in read.items():
        if time is None or not -(1 << 63) <= time < 1 << 63:
            said = f"{place} must hold times such as 2024-01-31 12:00:00: got {value!r}; declare another type"
            raise refuse("CONTRACT_VIOLATION", said)
    return np.array([0 if value is None else read[value] for value in values], np.int64)


def _moments(place: str, present: AnyArray) -> tuple[float, float]:
    """Return the mean and the deviation, from sums that are rounded once."""
    if not len(present):
        return 0.0, 0.0
    finite: Flags = np.isfinite(present)
    try:
        mean = fsum(present.tolist()) / len(present) if finite.all() else float("nan")
        with np.errstate(over="ignore"):
            apart = present - mean
            squares = apart * apart
        deviation = sqrt(fsum(squares.tolist()) / len(present))
    except OverflowError:
        deviation = mean = float("inf")
    if not np.isfinite([mean, deviation]).all():
        said = f"{place} must have a finite mean and deviation: got values too large, or infinite; declare it ignored"
        raise refuse("NON_FINITE", said)
    return mean, deviation
