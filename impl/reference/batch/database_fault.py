"""What makes a database unusable, and in which order that is judged."""

from collections.abc import Iterator
from itertools import pairwise
from math import isfinite

from impl.reference.batch.database import DTYPES, Column, Database, Table
from impl.reference.batch.numbers import is_finite_score
from impl.reference.batch.tensors import elements

MAX_UINT32 = 2**32 - 1


def database_fault(database: Database) -> str | None:
    """Return the code of the first fault of a database, None where there is none.

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
