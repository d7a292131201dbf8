"""A database in memory, column by column, as the fronts and the wire hand it over."""

from collections.abc import Sequence
from dataclasses import dataclass

from impl.vectorized.batch import records
from impl.vectorized.batch.arrays import AnyArray, Flags, Indices, array_of, tensor_of
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
    """Hold one table."""

    name: str
    row_count: int
    columns: tuple[Column, ...]
    foreign_keys: tuple[ForeignKey, ...]
    time_column: str | None = None

    def place(self, column: str) -> int:
        """Return the place of a column in the declared order; ValueError where there is none."""
        return [held.name for held in self.columns].index(column)

    def ordered_keys(self) -> list["ForeignKey"]:
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
