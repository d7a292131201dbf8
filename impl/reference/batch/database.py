"""A database with its numbering: ColumnIdx, RowIdx and the order of keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Final, Literal

from impl.reference.batch.tensors import elements, is_finite_score
from impl.types import Tensor, float64, uint32, uint64

SemanticType = Literal["identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored"]

# Requirement B42.
CODES: Final[Mapping[SemanticType, int]] = {
    "identifier": 0,
    "numerical": 1,
    "timestamp": 2,
    "boolean": 3,
    "categorical": 4,
    "text": 5,
    "ignored": 6,
}

# The dtype of a column's values.
DTYPES: Final[Mapping[SemanticType, str]] = {
    "identifier": "int64",
    "numerical": "float64",
    "timestamp": "int64",
    "boolean": "bool",
    "categorical": "uint32",
    "text": "uint32",
    "ignored": "uint8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Hold one column: values and is_null have shape (row_count,); a value at a NULL means nothing.

    A timestamp is in microseconds UTC, a categorical value is an index into `categories`, a text value is a row of the
    database's text_embeddings. Numerical and timestamp columns have mean and deviation; categorical ones have
    cat_emb_start and categories.
    """

    name: str
    semantic_type: SemanticType
    values: Tensor
    is_null: Tensor
    mean: float64 | None = None
    deviation: float64 | None = None
    cat_emb_start: uint32 | None = None
    categories: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """Say for every row of the table which row of the named table its column refers to; -1 represents NULL."""

    column: str
    table: str
    rows: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Hold one table; the time column, if it has one, dates its rows."""

    name: str
    row_count: uint64
    time_column: str | None = None
    columns: list[Column]
    foreign_keys: list[ForeignKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """Hold the tables, in any order, and the text embeddings, shape (texts, D_t)."""

    tables: list[Table]
    text_embeddings: Tensor


MAX_UINT32 = 2**32 - 1


def database_fault(database: Database) -> str | None:
    """Return the code of the first fault of a database, or None.

    Over all tables, first the names that must exist, then the shapes, dtypes and ranges, then the numbers that must be
    finite, then the keys.
    """
    if any(has_unknown_name(database, table) for table in database.tables):
        return "UNKNOWN_TABLE"
    if has_twins([table.name for table in database.tables]) or len(database.text_embeddings.shape) != 2:
        return "CONTRACT_VIOLATION"
    texts = database.text_embeddings.shape[0]
    if database.text_embeddings.dtype != "float16" or any(is_ill_formed(table, texts) for table in database.tables):
        return "CONTRACT_VIOLATION"
    if any(has_non_finite(column) for table in database.tables for column in table.columns):
        return "NON_FINITE"
    if any(has_dangling_key(database, table) for table in database.tables):
        return "DANGLING_KEY"
    return None


def has_unknown_name(database: Database, table: Table) -> bool:
    """Return whether the table names a column or another table that does not exist."""
    tables = {other.name for other in database.tables}
    columns = {column.name for column in table.columns}
    if table.time_column is not None and table.time_column not in columns:
        return True
    return any(key.column not in columns or key.table not in tables for key in table.foreign_keys)


def is_ill_formed(table: Table, texts: int) -> bool:
    """Return whether a shape, a dtype or a range of the table is not the declared one."""
    if has_twins([column.name for column in table.columns]):
        return True
    if any(key.rows.dtype != "int64" or key.rows.shape != (table.row_count,) for key in table.foreign_keys):
        return True
    if any(is_ill_formed_column(column, table.row_count, texts) for column in table.columns):
        return True
    times = [column for column in table.columns if column.name == table.time_column]
    return any(column.semantic_type != "timestamp" for column in times)


def is_ill_formed_column(column: Column, row_count: int, texts: int) -> bool:
    """Return whether a shape, a dtype or a range of the column is not the declared one."""
    if column.values.dtype != DTYPES[column.semantic_type] or column.values.shape != (row_count,):
        return True
    if column.is_null.dtype != "bool" or column.is_null.shape != (row_count,):
        return True
    match column.semantic_type:
        case "numerical" | "timestamp":
            return column.mean is None or column.deviation is None or column.deviation < 0
        case "categorical":
            if column.cat_emb_start is None or column.categories is None:
                return True
            size = len(column.categories)
            return column.cat_emb_start + size > MAX_UINT32 + 1 or any(value >= size for value in present(column))
        case "text":
            return any(value >= texts for value in present(column))
    return False


def has_non_finite(column: Column) -> bool:
    """Return whether the mean, the deviation, a value or a z-score of the column is not finite."""
    if column.mean is None or column.deviation is None:
        return False
    mean, deviation = column.mean, column.deviation
    if not (isfinite(mean) and isfinite(deviation)):
        return True
    values = list(present(column))
    return not all(isfinite(value) and is_finite_score(value, mean, deviation) for value in values)


def has_dangling_key(database: Database, table: Table) -> bool:
    """Return whether a key of the table refers to a row that does not exist."""
    row_counts = {other.name: other.row_count for other in database.tables}
    return any(not -1 <= row < row_counts[key.table] for key in table.foreign_keys for row in elements(key.rows))


def present(column: Column) -> Iterator[float]:
    """Return the values of a column that are not NULL."""
    pairs = zip(elements(column.values), elements(column.is_null), strict=True)
    return (value for value, null in pairs if not null)


def has_twins(names: list[str]) -> bool:
    """Return whether a name occurs twice."""
    return any(one == other for one, other in pairwise(sorted(names)))


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """Hold a column under its ColumnIdx."""

    name: str
    column_id: int
    semantic_type: SemanticType
    values: list[int] | list[float] | list[bool]
    is_null: list[bool]
    mean: float
    deviation: float
    cat_emb_start: int


@dataclass(frozen=True, slots=True)
class StoredTable:
    """Hold a table; row r of it has the RowIdx first_row + r.

    `parents` has one list per foreign key, in the order of its columns, of a RowIdx or None per row; `times` has the
    microseconds of each row, None where there is none.
    """

    name: str
    first_row: int
    row_count: int
    columns: list[StoredColumn]
    parents: list[list[int | None]]
    times: list[int | None]

    def cell_columns(self) -> list[StoredColumn]:
        """Return the columns that make cells, in their order (requirement B07)."""
        return [column for column in self.columns if column.semantic_type != "ignored"]


def stored_tables(database: Database) -> list[StoredTable]:
    """Return the tables in the order of their names in UTF-8 bytes, numbered.

    ColumnIdx counts every column in declared order, ignored ones included; RowIdx is the table's offset plus the row
    (numbering of the interface; requirement B09).
    """
    tables = sorted(database.tables, key=lambda table: table.name.encode("utf-8"))
    first_rows: dict[str, int] = {}
    row_idx = 0
    for table in tables:
        first_rows[table.name] = row_idx
        row_idx += table.row_count
    stored: list[StoredTable] = []
    column_idx = 0
    for table in tables:
        columns = [stored_column(column, column_idx + place) for place, column in enumerate(table.columns)]
        column_idx += len(table.columns)
        stored.append(
            StoredTable(
                name=table.name,
                first_row=first_rows[table.name],
                row_count=table.row_count,
                columns=columns,
                parents=parent_lists(table, first_rows),
                times=row_times(table, columns),
            )
        )
    return stored


def stored_column(column: Column, column_id: int) -> StoredColumn:
    """Return a column under its ColumnIdx."""
    return StoredColumn(
        name=column.name,
        column_id=column_id,
        semantic_type=column.semantic_type,
        values=elements(column.values),
        is_null=elements(column.is_null),
        mean=0.0 if column.mean is None else column.mean,
        deviation=column.deviation or 0.0,
        cat_emb_start=column.cat_emb_start or 0,
    )


def parent_lists(table: Table, first_rows: dict[str, int]) -> list[list[int | None]]:
    """Return for each foreign key, by the place of its column, the RowIdx that each row refers to (ruling BA02)."""
    places = {column.name: place for place, column in enumerate(table.columns)}
    keys = sorted(table.foreign_keys, key=lambda key: places[key.column])
    return [[None if row == -1 else first_rows[key.table] + row for row in elements(key.rows)] for key in keys]


def row_times(table: Table, columns: list[StoredColumn]) -> list[int | None]:
    """Return the exact microseconds of each row, None at a NULL or where the table has no time (ruling BA08)."""
    times: list[int | None] = [None] * table.row_count
    for column in columns:
        if column.name == table.time_column:
            pairs = zip(column.values, column.is_null, strict=True)
            times = [None if null else int(value) for value, null in pairs]
    return times
