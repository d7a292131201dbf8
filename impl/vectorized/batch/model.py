"""What the batch operators refuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from impl.vectorized.batch import records
from impl.vectorized.batch.arrays import AnyArray, Flags, Indices, array_of, scores, tensor_of
from impl.vectorized.batch.records import SemanticType


@dataclass(frozen=True, slots=True)
class Column:
    """Hold one column as arrays of shape (rows,)."""

    name: str
    semantic_type: SemanticType
    values: AnyArray
    is_null: Flags
    mean: float | None = None
    deviation: float | None = None
    cat_emb_start: int | None = None
    categories: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Hold the row of another table for each row, -1 for NULL."""

    column: str
    table: str
    rows: Indices


@dataclass(frozen=True, slots=True)
class Table:
    """Hold one table; `target_column` is that of the values where its rows are targets, which only seeds reach."""

    name: str
    row_count: int
    columns: tuple[Column, ...]
    foreign_keys: tuple[ForeignKey, ...]
    time_column: str | None = None
    target_column: str | None = None

    def place(self, column: str) -> int:
        """Return the place of a column in the declared order; ValueError if there is none."""
        return [held.name for held in self.columns].index(column)

    def ordered_keys(self) -> list[ForeignKey]:
        """Return the keys by the place of their column (ruling BA02)."""
        return sorted(self.foreign_keys, key=lambda key: self.place(key.column))


@dataclass(frozen=True, slots=True)
class Database:
    """Hold the tables and the text embeddings, float16 of shape (texts, D_t), perhaps memory-mapped."""

    tables: tuple[Table, ...]
    text_embeddings: AnyArray


def from_records(database: records.Database) -> Database:
    """Return a database of the wire as arrays."""
    return Database(
        tuple(
            Table(
                table.name,
                table.row_count,
                tuple(
                    Column(
                        column.name, column.semantic_type, array_of(column.values), array_of(column.is_null),
                        column.mean, column.deviation, column.cat_emb_start, column.categories,
                    )
                    for column in table.columns
                ),
                tuple(ForeignKey(key.column, key.table, array_of(key.rows)) for key in table.foreign_keys),
                table.time_column,
            )
            for table in database.tables
        ),
        array_of(database.text_embeddings),
    )  # fmt: skip


def to_records(database: Database) -> records.Database:
    """Return a database as the wire wants it."""
    return records.Database(
        tables=[
            records.Table(
                name=table.name,
                row_count=table.row_count,
                time_column=table.time_column,
                columns=[
                    records.Column(
                        name=column.name,
                        semantic_type=column.semantic_type,
                        values=tensor_of(column.values),
                        is_null=tensor_of(column.is_null),
                        mean=column.mean,
                        deviation=column.deviation,
                        cat_emb_start=column.cat_emb_start,
                        categories=None if column.categories is None else list(column.categories),
                    )
                    for column in table.columns
                ],
                foreign_keys=[
                    records.ForeignKey(column=key.column, table=key.table, rows=tensor_of(key.rows))
                    for key in table.foreign_keys
                ],
            )
            for table in database.tables
        ],
        text_embeddings=tensor_of(database.text_embeddings),
    )


MOST = 1 << 16  # what a uint16 can number
WORDS = 1 << 32
DTYPES = {
    "identifier": "int64", "numerical": "float64", "timestamp": "int64", "boolean": "bool", "categorical": "uint32",
    "text": "uint32", "ignored": "uint8",
}  # fmt: skip


class Refused(Exception):
    """A call is refused with the code; the operator makes the failure of it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def judge_database(database: Database) -> None:
    """Raise Refused for the first of the kinds of fault: names, forms, numbers, keys."""
    sizes = {table.name: table.row_count for table in database.tables}
    for table in database.tables:
        names = {column.name for column in table.columns} | {None}
        keys_known = all(key.column in names and key.table in sizes for key in table.foreign_keys)
        if not {table.time_column, table.target_column} <= names or not keys_known:
            raise Refused("UNKNOWN_TABLE")
    embeddings = database.text_embeddings
    formed = embeddings.ndim == 2 and embeddings.dtype == np.float16 and len(sizes) == len(database.tables)
    if not formed or not all(_well_formed(table, len(embeddings)) for table in database.tables):
        raise Refused("CONTRACT_VIOLATION")
    if not all(_finite(column) for table in database.tables for column in table.columns):
        raise Refused("NON_FINITE")
    for table in database.tables:
        for key in table.foreign_keys:
            if len(key.rows) and not (key.rows.min() >= -1 and key.rows.max() < sizes[key.table]):
                raise Refused("DANGLING_KEY")


def _well_formed(table: Table, texts: int) -> bool:
    shape = (table.row_count,)
    return (
        len({column.name for column in table.columns}) == len(table.columns)
        and all(key.rows.dtype == np.int64 and key.rows.shape == shape for key in table.foreign_keys)
        and all(_well_formed_column(column, shape, texts) for column in table.columns)
        and (table.target_column is None or table.time_column not in (None, table.target_column))
        and (table.time_column is None or table.columns[table.place(table.time_column)].semantic_type == "timestamp")
    )


def _well_formed_column(column: Column, shape: tuple[int], texts: int) -> bool:
    for array, dtype in ((column.values, DTYPES[column.semantic_type]), (column.is_null, "bool")):
        if array.dtype.name != dtype or array.shape != shape:
            return False
    kind = column.semantic_type
    if kind in ("numerical", "timestamp"):
        return column.mean is not None and column.deviation is not None and not column.deviation < 0
    if kind == "categorical":
        if column.cat_emb_start is None or column.categories is None:
            return False
        return column.cat_emb_start + len(column.categories) <= WORDS and _below(column, len(column.categories))
    return kind != "text" or _below(column, texts)


def _below(column: Column, limit: int) -> bool:
    return not np.any(~column.is_null & (column.values >= limit))


def _finite(column: Column) -> bool:
    if column.mean is None or column.deviation is None:
        return True
    if not (np.isfinite(column.mean) and np.isfinite(column.deviation)):
        return False
    found = np.isfinite(scores(column.values, column.mean, column.deviation)) & np.isfinite(column.values)
    return bool(np.all(found | column.is_null))


def judge_length(sequence_length: int) -> None:
    """Raise Refused for a sequence length outside 1 to 65,536."""
    if not 0 < sequence_length <= MOST:
        raise Refused("LIMIT_EXCEEDED" if sequence_length else "CONTRACT_VIOLATION")


def judge_sequences(row_count: int, row_ids: Iterable[list[int]]) -> None:
    """Raise Refused for rows that do not exist, that come twice in a sequence, or that are too many."""
    sequences = list(row_ids)
    if any(max(ids, default=-1) >= row_count for ids in sequences):
        raise Refused("ROW_NOT_FOUND")
    if any(len(set(ids)) < len(ids) for ids in sequences):
        raise Refused("CONTRACT_VIOLATION")
    if any(len(ids) > MOST for ids in sequences):
        raise Refused("LIMIT_EXCEEDED")


def judge_shapes(cells: Iterable[AnyArray], rows: AnyArray, padding: AnyArray, fk_adj: AnyArray) -> None:
    """Raise Refused where the tensors of a batch do not fit together or are too long."""
    if padding.ndim != 2 or any(array.shape != padding.shape for array in cells):
        raise Refused("CONTRACT_VIOLATION")
    sequences, length = padding.shape
    if fk_adj.ndim != 3 or fk_adj.shape != (sequences, fk_adj.shape[1], fk_adj.shape[1]):
        raise Refused("CONTRACT_VIOLATION")
    if max(length, fk_adj.shape[1]) > MOST:
        raise Refused("LIMIT_EXCEEDED")
    if np.any(rows[~padding] >= fk_adj.shape[1]):
        raise Refused("CONTRACT_VIOLATION")
