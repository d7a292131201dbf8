"""Lists of stored values as the arrays of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from math import fsum, sqrt
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags
from impl.vectorized.batch.front.schema import Field, refuse
from impl.vectorized.batch.front.stored import BYTES, INTEGER, LARGE, LEAST, MOST, REAL, TEXT, Stored
from impl.vectorized.batch.front.types import counted, microseconds
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


ALLOWED: Mapping[str, set[int]] = {
    "integer": {INTEGER, LARGE},
    "boolean": {INTEGER, LARGE},
    "microseconds": {INTEGER, LARGE},
    "real": {INTEGER, REAL, LARGE},
    "numeric": {INTEGER, REAL, LARGE},
    "text": {TEXT},
    "enum": {TEXT},
    "temporal": {INTEGER, REAL, TEXT, LARGE},
    "any": {INTEGER, REAL, TEXT, BYTES, LARGE},
}


@dataclass(frozen=True, slots=True)
class Numbering:
    """Number texts and categories over all tables."""

    texts: dict[str, int]
    categories: int


def column_of(
    place: str, field: Field, kind: SemanticType, unit: str | None, stored: Stored, numbering: Numbering
) -> Column:
    """Return a column of its stored values; CONTRACT_VIOLATION or NON_FINITE where they do not fit.

    `unit` is what integers of a time count; the numbering has every text of the column already.
    """
    nulls, held, numbers = stored.nulls, stored.held(), stored.numbers
    if kind == "ignored":
        return Column(field.name, kind, np.zeros(len(stored), np.uint8), nulls)
    if not held <= ALLOWED[field.declared]:
        raise refuse("CONTRACT_VIOLATION", f"{place} must hold {field.declared} values, as declared: got others")
    match kind:
        case "identifier":
            return Column(field.name, kind, _identifiers(stored, held), nulls)
        case "numerical" if held <= {INTEGER, REAL, LARGE}:
            reals = np.where(stored.classes == REAL, stored.reals, numbers.astype(np.float64))
            for row in np.flatnonzero(stored.classes == LARGE).tolist():
                reals[row] = float(stored.words[numbers[row]])
            return Column(field.name, kind, reals, nulls, *_moments(place, reals[~nulls]))
        case "timestamp":
            times = _times(place, field, unit, stored, held)
            return Column(field.name, kind, times, nulls, *_moments(place, times[~nulls].astype(np.float64)))
        case "boolean" if held <= {INTEGER} and np.isin(numbers, (0, 1)).all():
            return Column(field.name, kind, numbers == 1, nulls)
        case "categorical" if held <= {INTEGER, TEXT, LARGE}:
            indices, names = _categories(stored)
            return Column(field.name, kind, indices, nulls, cat_emb_start=numbering.categories, categories=names)
        case "text" if held <= {TEXT}:
            ids = _by_word(stored, lambda text: numbering.texts[text], np.uint32)
            return Column(field.name, kind, ids, nulls)
    raise refuse("CONTRACT_VIOLATION", f"{place} must hold {kind} values: got others; declare another type")


def number_texts(columns: Sequence[Stored], texts: dict[str, int]) -> None:
    """Number the texts of several columns, row by row, that have no number yet."""
    first: list[tuple[int, int, str]] = []
    for place, stored in enumerate(columns):
        rows = np.flatnonzero(stored.classes == TEXT)
        words, at = np.unique(stored.numbers[rows], return_index=True)
        first += [(row, place, stored.words[word]) for row, word in zip(rows[at].tolist(), words.tolist(), strict=True)]
    for _, _, text in sorted(first):
        if text not in texts:
            texts[text] = len(texts)


def _by_word(stored: Stored, value: Callable[[Any], int], dtype: type[np.generic]) -> AnyArray:
    """Return the value of each word, 0 elsewhere; every different word is asked once."""
    found = np.zeros(len(stored), dtype)
    at = np.flatnonzero(stored.classes >= TEXT)
    if len(at):
        words, back = np.unique(stored.numbers[at], return_inverse=True)
        found[at] = np.array([value(stored.words[word]) for word in words.tolist()], dtype)[back]
    return found


def _identifiers(stored: Stored, held: frozenset[int]) -> AnyArray:
    if held <= {INTEGER}:
        return np.where(stored.nulls, 0, stored.numbers)
    seen: dict[Any, int] = {}
    return np.array([0 if value is None else seen.setdefault(value, len(seen)) for value in stored.values()], np.int64)


def _categories(stored: Stored) -> tuple[AnyArray, list[str]]:
    integers = stored.classes == INTEGER
    numbers, back = np.unique(stored.numbers[integers], return_inverse=True)
    words = np.unique(stored.numbers[stored.classes >= TEXT]).tolist()
    digits = [*map(str, numbers.tolist())]
    names = sorted({*digits, *(str(stored.words[word]) for word in words)}, key=str.encode)
    number = {name: index for index, name in enumerate(names)}
    indices = _by_word(stored, lambda word: number[str(word)], np.uint32)
    indices[integers] = np.array([number[name] for name in digits], np.uint32)[back]
    return indices, names


def _times(place: str, field: Field, unit: str | None, stored: Stored, held: frozenset[int]) -> AnyArray:
    own = field.declared == "microseconds"
    if own and unit is not None:
        raise refuse("CONTRACT_VIOLATION", f"{place} must have no unit: got {unit}, and its declared type is a time")
    allowed = {TEXT} if unit is None and not own else {INTEGER}
    if not held <= allowed:
        what = "texts such as 2024-01-31 12:00:00, or have a unit" if unit is None else f"integers that count {unit}"
        raise refuse("CONTRACT_VIOLATION", f"{place} must hold {what}: got others; declare another type")

    def read(value: Any) -> int:
        time = microseconds(value) if isinstance(value, str) else counted(value, unit or "us")
        if time is None or not LEAST <= time <= MOST:
            said = f"{place} must hold times such as 2024-01-31 12:00:00: got {value!r}; declare another type"
            raise refuse("CONTRACT_VIOLATION", said)
        return time

    if held == {INTEGER}:
        rows = np.flatnonzero(~stored.nulls)
        numbers, back = np.unique(stored.numbers[rows], return_inverse=True)
        times = np.zeros(len(stored), np.int64)
        times[rows] = np.array([*map(read, numbers.tolist())], np.int64)[back]
        return times
    return _by_word(stored, read, np.int64)


def _moments(place: str, present: AnyArray) -> tuple[float, float]:
    """Return the mean and the deviation, from sums that are rounded once."""
    if not len(present):
        return 0.0, 0.0
    finite: Flags = np.isfinite(present)
    try:
        mean = fsum(_numbers(present)) / len(present) if finite.all() else float("nan")
        with np.errstate(over="ignore"):
            apart = present - mean
            squares = apart * apart
        deviation = sqrt(fsum(_numbers(squares)) / len(present))
    except OverflowError:
        deviation = mean = float("inf")
    if not np.isfinite([mean, deviation]).all():
        said = f"{place} must have a finite mean and deviation: got values too large, or infinite; declare it ignored"
        raise refuse("NON_FINITE", said)
    return mean, deviation


def _numbers(values: AnyArray) -> Iterator[float]:
    """Return the numbers, some at a time, so that they are not all in memory as objects."""
    for start in range(0, len(values), 1 << 16):
        yield from values[start : start + (1 << 16)].tolist()
