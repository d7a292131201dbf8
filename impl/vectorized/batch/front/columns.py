"""Lists of stored values as the arrays of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from math import fsum, sqrt
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import DTypeLike

from impl.vectorized.batch.arrays import AnyArray, Flags
from impl.vectorized.batch.front.schema import Field, refuse
from impl.vectorized.batch.front.spool import Growing, Room, grown, release, slices
from impl.vectorized.batch.front.stored import BYTES, INTEGER, LARGE, LEAST, MOST, REAL, TEXT, TIME, Stored
from impl.vectorized.batch.front.types import counted, microseconds
from impl.vectorized.batch.model import Column, Database
from impl.vectorized.batch.records import SemanticType

PREFIX: Final = b"tallystick.text_embedding_v1\0"
HALF: Final = np.dtype("<f2")
COLUMNS: Final = "column_embeddings.bin"
CATEGORIES: Final = "categorical_embeddings.bin"
TEXTS: Final = "text_embeddings.bin"
TEXTS_AT_ONCE: Final = 1 << 12


class Embedder(Protocol):
    """Turn texts into vectors; the same text must always give the same vector. Texts come some thousands at a time."""

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
    place: str,
    field: Field,
    kind: SemanticType,
    unit: str | None,
    stored: Stored,
    numbering: Numbering,
    room: Room | None = None,
) -> Column:
    """Return a column of its stored values; CONTRACT_VIOLATION or NON_FINITE where they do not fit.

    `unit` is what integers of a time count; the numbering has every text of the column already. A long column is worked
    on part by part, and lies on the disk where there is room.
    """
    held = stored.held()
    nulls = grown(np.bool_, room, (part.nulls for part in stored.parts()))
    if kind == "ignored":
        nothing = (np.zeros(len(part), np.uint8) for part in stored.parts())
        return Column(field.name, kind, grown(np.uint8, room, nothing), nulls)
    if not held <= ALLOWED[field.declared]:
        raise refuse("CONTRACT_VIOLATION", f"{place} must hold {field.declared} values, as declared: got others")

    def filled(dtype: DTypeLike, value: Callable[[Stored], AnyArray]) -> AnyArray:
        return grown(dtype, room, map(value, stored.parts()))

    match kind:
        case "identifier":
            return Column(field.name, kind, filled(np.int64, _identifiers(held)), nulls)
        case "numerical" if held <= {INTEGER, REAL, LARGE}:
            reals = filled(np.float64, _reals)
            return Column(field.name, kind, reals, nulls, *_moments(place, reals, nulls))
        case "timestamp":
            times = filled(np.int64, _times(place, field, unit, stored, held))
            return Column(field.name, kind, times, nulls, *_moments(place, times, nulls))
        case "boolean" if held <= {INTEGER} and all(np.isin(part.numbers, (0, 1)).all() for part in stored.parts()):
            return Column(field.name, kind, filled(np.bool_, lambda part: part.numbers == 1), nulls)
        case "categorical" if held <= {INTEGER, TEXT, LARGE}:
            number = _categories(stored)
            indices = filled(np.uint32, _indices(stored, number))
            return Column(field.name, kind, indices, nulls, cat_emb_start=numbering.categories, categories=[*number])
        case "text" if held <= {TEXT}:
            ids = filled(np.uint32, _by_word(stored, lambda text: numbering.texts[text], np.uint32))
            return Column(field.name, kind, ids, nulls)
    raise refuse("CONTRACT_VIOLATION", f"{place} must hold {kind} values: got others; declare another type")


def number_texts(columns: Sequence[Stored], texts: dict[str, int]) -> None:
    """Number the texts of several columns, row by row, that have no number yet."""
    rows, places, words = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for place, stored in enumerate(columns):
        first = np.full(len(stored.words), -1, np.int64)
        start = 0
        for part in stored.parts():
            held = np.flatnonzero(part.classes == TEXT)
            found, at = np.unique(part.numbers[held], return_index=True)
            new = first[found] < 0
            first[found[new]] = start + held[at[new]]
            start += len(part)
        words.append(np.flatnonzero(first >= 0))
        rows.append(first[words[-1]])
        places.append(np.full(len(words[-1]), place))
    order = np.lexsort((np.concatenate(places), np.concatenate(rows)))
    whose = np.concatenate(places)[order].tolist()
    for place, word in zip(whose, np.concatenate(words)[order].tolist(), strict=True):
        text = columns[place].words[word]
        if text not in texts:
            texts[text] = len(texts)


def embedded(
    embedder: Embedder, texts: Sequence[str], room: Room | None, progress: Callable[[str, int], None] | None
) -> AnyArray:
    """Return the embeddings of texts, embedded some at a time."""
    first = np.asarray(embedder.embed(texts[:TEXTS_AT_ONCE]))
    growing = Growing(first.dtype, room, first.shape[1:])
    growing.add(first)
    for start in range(TEXTS_AT_ONCE, len(texts), TEXTS_AT_ONCE):
        growing.add(np.asarray(embedder.embed(texts[start : start + TEXTS_AT_ONCE])))
        if progress is not None:
            progress("(texts)", min(start + TEXTS_AT_ONCE, len(texts)))
    return growing.array()


def _by_word(stored: Stored, value: Callable[[Any], int], dtype: type[np.generic]) -> Callable[[Stored], AnyArray]:
    """Return what gives the value of each word, 0 elsewhere; every word that there is is asked once."""
    values = np.zeros(len(stored.words) + 1, dtype)
    used = stored.used()
    values[used] = np.array([value(stored.words[word]) for word in used.tolist()], dtype)
    return lambda part: values[np.where(part.classes >= TEXT, part.numbers, len(stored.words))]


def _identifiers(held: frozenset[int]) -> Callable[[Stored], AnyArray]:
    if held <= {INTEGER}:
        return lambda part: np.where(part.nulls, 0, part.numbers)
    seen: dict[Any, int] = {}

    def numbered(part: Stored) -> AnyArray:
        numbers = (0 if value is None else seen.setdefault(value, len(seen)) for value in part.values())
        return np.fromiter(numbers, np.int64, len(part))

    return numbered


def _reals(part: Stored) -> AnyArray:
    reals = np.where(part.classes == REAL, part.reals, part.numbers.astype(np.float64))
    for row in np.flatnonzero(part.classes == LARGE).tolist():
        reals[row] = float(part.words[part.numbers[row]])
    return reals


def _categories(stored: Stored) -> dict[str, int]:
    """Return the number of each category."""
    numbers: set[int] = set()
    for part in stored.parts():
        numbers.update(np.unique(part.numbers[part.classes == INTEGER]).tolist())
    names = {*map(str, numbers), *(str(stored.words[word]) for word in stored.used().tolist())}
    return {name: index for index, name in enumerate(sorted(names, key=str.encode))}


def _indices(stored: Stored, number: Mapping[str, int]) -> Callable[[Stored], AnyArray]:
    of_words = _by_word(stored, lambda word: number[str(word)], np.uint32)

    def indices(part: Stored) -> AnyArray:
        found, integers = of_words(part), part.classes == INTEGER
        numbers, back = np.unique(part.numbers[integers], return_inverse=True)
        found[integers] = np.array([number[str(one)] for one in numbers.tolist()], np.uint32)[back]
        return found

    return indices


def _times(
    place: str, field: Field, unit: str | None, stored: Stored, held: frozenset[int]
) -> Callable[[Stored], AnyArray]:
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

    def of_integers(part: Stored) -> AnyArray:
        times = np.zeros(len(part), np.int64)
        numbers, back = np.unique(part.numbers[~part.nulls], return_inverse=True)
        times[~part.nulls] = np.array([*map(read, numbers.tolist())], np.int64)[back]
        return times

    if held == {INTEGER}:
        return of_integers
    of_words = _by_word(stored, read, np.int64)
    return lambda part: np.where(part.classes == TIME, part.numbers, of_words(part))


def _moments(place: str, values: AnyArray, nulls: Flags) -> tuple[float, float]:
    """Return the mean and the deviation of what is not NULL, from sums that are rounded once."""

    def parts() -> Iterator[AnyArray]:
        for at in slices(len(values)):
            yield values[at][~nulls[at]].astype(np.float64)
            release(values, nulls)

    def squares() -> Iterator[AnyArray]:
        for part in parts():
            with np.errstate(over="ignore"):
                apart = part - mean
                square = apart * apart
            yield square

    count = sum(map(len, parts()))
    if not count:
        return 0.0, 0.0
    try:
        mean = fsum(_numbers(parts())) / count if all(np.isfinite(part).all() for part in parts()) else float("nan")
        deviation = sqrt(fsum(_numbers(squares())) / count)
    except OverflowError:
        deviation = mean = float("inf")
    if not np.isfinite([mean, deviation]).all():
        said = f"{place} must have a finite mean and deviation: got values too large, or infinite; declare it ignored"
        raise refuse("NON_FINITE", said)
    return mean, deviation


def _numbers(parts: Iterable[AnyArray]) -> Iterator[float]:
    """Return the numbers of arrays as floats, never all of them at once."""
    for part in parts:
        yield from part.tolist()
