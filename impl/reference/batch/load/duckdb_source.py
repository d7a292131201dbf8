"""Tables of a DuckDB file, where the optional package is installed."""

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from impl.reference.batch.load.source import Kind, SourceColumn, SourceKey, SourceTable, order_key, refusal
from impl.reference.batch.load.sqlite_source import quoted

TABLES: Final = """
    SELECT table_name FROM duckdb_tables()
    WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
"""
COLUMNS: Final = """
    SELECT column_name, data_type FROM duckdb_columns()
    WHERE database_name = current_database() AND schema_name = 'main' AND table_name = ? ORDER BY column_index
"""
CONSTRAINTS: Final = """
    SELECT constraint_type, constraint_column_names, referenced_table, referenced_column_names
    FROM duckdb_constraints()
    WHERE database_name = current_database() AND schema_name = 'main' AND table_name = ? ORDER BY constraint_index
"""
INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


def read_duckdb(file: Path) -> list[SourceTable]:
    """Return the tables of a DuckDB file; CONTRACT_VIOLATION where DuckDB cannot read it or is not installed."""
    try:
        duckdb: Any = import_module("duckdb")
    except ImportError as reason:
        raise refusal("CONTRACT_VIOLATION", "a DuckDB file needs the package duckdb") from reason
    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            names = [name for (name,) in connection.execute(TABLES).fetchall()]
            return [read_table(connection, name) for name in names]
    except duckdb.Error as reason:
        raise refusal("CONTRACT_VIOLATION", f"{file.name}: {reason}") from reason


def read_table(connection: Any, name: str) -> SourceTable:
    """Return one table with its rows by primary key, else by rowid."""
    described = [(column, kind_of(declared), declared) for column, declared in
                 connection.execute(COLUMNS, [name]).fetchall()]  # fmt: skip
    primary_key: tuple[str, ...] = ()
    keys: list[SourceKey] = []
    for kind, columns, table, referred in connection.execute(CONSTRAINTS, [name]).fetchall():
        if kind == "PRIMARY KEY":
            primary_key = tuple(columns)
        if kind == "FOREIGN KEY":
            keys.append(SourceKey(tuple(columns), table, tuple(referred)))
    select = ", ".join(expression(column, kind, declared) for column, kind, declared in described)
    rows = connection.execute(f"SELECT rowid, {select} FROM {quoted(name)}").fetchall()  # noqa: S608
    places = [[column for column, _, _ in described].index(column) for column in primary_key]
    rows.sort(key=lambda row: order_key([*(row[1 + place] for place in places), row[0]]))
    return SourceTable(
        name=name,
        columns=tuple(SourceColumn(column, kind) for column, kind, _ in described),
        primary_key=primary_key,
        foreign_keys=tuple(keys),
        rows=tuple(row[1:] for row in rows),
    )


def kind_of(declared: str) -> Kind:
    """Return the kind of a DuckDB type."""
    base = declared.split("(")[0]
    if base.removeprefix("U") in INTEGERS:
        return "integer"
    if base in ("FLOAT", "DOUBLE", "DECIMAL"):
        return "real"
    if base == "BOOLEAN":
        return "boolean"
    if base == "DATE" or base.startswith("TIMESTAMP"):
        return "microseconds"
    if base == "VARCHAR":
        return "text"
    if base == "ENUM":
        return "enum"
    return "any"


def expression(column: str, kind: Kind, declared: str) -> str:
    """Return the SQL that gives a column's values as SQLite would hold them."""
    name = quoted(column)
    match kind:
        case "boolean":
            return f"CAST({name} AS INTEGER)"
        case "microseconds":
            return f"epoch_us({name})"
        case "real":
            return f"CAST({name} AS DOUBLE)"
        case "any" if declared != "BLOB":
            return f"CAST({name} AS VARCHAR)"
        case "enum":
            return f"CAST({name} AS VARCHAR)"
    return name
