"""DuckDB files, where the optional package is installed."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from impl.vectorized.batch.front.schema import Cursor, Field, Key, Schema, quote, refuse

# Type -> class and the SQL around the column.
CLASSES = (
    (r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)", "integer", "{}"),
    (r"(FLOAT|DOUBLE|DECIMAL.*)", "real", "{}::DOUBLE"),
    (r"BOOLEAN", "boolean", "{}::INTEGER"),
    (r"(DATE|TIMESTAMP.*)", "microseconds", "epoch_us({})"),
    (r"VARCHAR", "text", "{}"),
    (r"ENUM\(.*", "enum", "{}::VARCHAR"),
    (r"BLOB", "any", "{}"),
    (r".*", "any", "{}::VARCHAR"),
)
HERE = "database_name = current_database() AND schema_name = 'main'"


@contextmanager
def opened(file: Path) -> Iterator[tuple[list[Schema], Callable[[str], Cursor]]]:
    """Give the schemas of a file and a function that runs a query."""
    try:
        duckdb: Any = import_module("duckdb")
    except ImportError as reason:
        said = "file must be one that can be opened: got a DuckDB file; pip install 'tallystick[duckdb]'"
        raise refuse("CONTRACT_VIOLATION", said) from reason
    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            names = connection.execute(f"SELECT table_name FROM duckdb_tables() WHERE {HERE} AND NOT internal")  # noqa: S608
            yield [_schema(connection, name) for (name,) in names.fetchall()], connection.execute
    except duckdb.Error as reason:
        said = f"file must be a DuckDB file that can be read: got {file.name!r}, {reason}"
        raise refuse("CONTRACT_VIOLATION", said) from reason


def _schema(connection: Any, name: str) -> Schema:
    columns = connection.execute(
        f"SELECT column_name, data_type FROM duckdb_columns() WHERE {HERE} AND table_name = ? ORDER BY column_index",  # noqa: S608
        [name],
    ).fetchall()
    constraints = connection.execute(
        "SELECT constraint_type, constraint_column_names, referenced_table, referenced_column_names "  # noqa: S608
        f"FROM duckdb_constraints() WHERE {HERE} AND table_name = ? ORDER BY constraint_index",
        [name],
    ).fetchall()
    primary: list[str] = next((row[1] for row in constraints if row[0] == "PRIMARY KEY"), [])
    keys = [Key(row[1], row[2], row[3]) for row in constraints if row[0] == "FOREIGN KEY"]
    order = ", ".join([*(_binary(column, dict(columns)[column]) for column in primary), "rowid"])
    return Schema(name, [_field(*column) for column in columns], primary, keys, f"ORDER BY {order}")


def _field(name: str, declared: str) -> Field:
    for form, kind, around in CLASSES:
        if re.fullmatch(form, declared):
            return Field(name, kind, around.format(quote(name)))
    raise AssertionError(declared)


def _binary(name: str, declared: str) -> str:
    """Return the SQL that orders a key column: texts bytewise, times and booleans as the numbers that are read."""
    read = _field(name, declared)
    return f"encode({read.sql})" if read.declared in ("text", "enum") else read.sql
