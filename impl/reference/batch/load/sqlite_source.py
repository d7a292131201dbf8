"""Tables of a SQLite file, their keys read from the schema."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from impl.reference.batch.load.source import Kind, SourceColumn, SourceKey, SourceTable, fold, order_key, refusal

TABLES: Final = """
    SELECT name, wr, strict FROM pragma_table_list
    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
"""
# Hidden columns of virtual tables are 1; generated columns are 2 and 3.
COLUMNS: Final = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid"
# The key declared first has the highest id.
KEYS: Final = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq'


def read_sqlite(file: Path) -> list[SourceTable]:
    """Return the tables of a SQLite file; CONTRACT_VIOLATION where SQLite cannot read it."""
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            tables = connection.execute(TABLES).fetchall()
            return [read_table(connection, name, bool(wr), bool(strict)) for name, wr, strict in tables]
    except sqlite3.Error as reason:
        raise refusal("CONTRACT_VIOLATION", f"{file.name}: {reason}") from reason


def read_table(connection: sqlite3.Connection, name: str, without_rowid: bool, strict: bool) -> SourceTable:
    """Return one table with its rows by primary key, else by rowid."""
    described = connection.execute(COLUMNS, (name,)).fetchall()
    columns = tuple(SourceColumn(column, kind_of(declared, strict)) for column, declared, _ in described)
    in_key = sorted((place_in_key, place) for place, (_, _, place_in_key) in enumerate(described) if place_in_key)
    row_number = "NULL" if without_rowid else row_number_of(name, columns)
    select = ", ".join(quoted(column.name) for column in columns)
    rows = connection.execute(f"SELECT {row_number}, {select} FROM {quoted(name)}").fetchall()  # noqa: S608
    rows.sort(key=lambda row: order_key([*(row[1 + place] for _, place in in_key), row[0]]))
    return SourceTable(
        name=name,
        columns=columns,
        primary_key=tuple(columns[place].name for _, place in in_key),
        foreign_keys=read_keys(connection, name),
        rows=tuple(row[1:] for row in rows),
    )


def read_keys(connection: sqlite3.Connection, name: str) -> tuple[SourceKey, ...]:
    """Return the foreign keys of a table."""
    keys: dict[int, list[tuple[str, str, str | None]]] = {}
    for identity, table, column, referred in connection.execute(KEYS, (name,)):
        keys.setdefault(identity, []).append((table, column, referred))
    return tuple(
        SourceKey(
            columns=tuple(column for _, column, _ in parts),
            table=parts[0][0],
            referred=tuple(referred for _, _, referred in parts if referred is not None),
        )
        for parts in keys.values()
    )


def kind_of(declared: str, strict: bool) -> Kind:
    """Return the kind of a declared type, by SQLite's rules of affinity in their order."""
    words = declared.upper()
    if strict and words == "ANY":
        return "any"
    if "INT" in words:
        return "integer"
    if any(word in words for word in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if words == "" or "BLOB" in words:
        return "any"
    if any(word in words for word in ("REAL", "FLOA", "DOUB")):
        return "real"
    if "BOOL" in words:
        return "boolean"
    if "DATE" in words or "TIME" in words:
        return "temporal"
    return "numeric"


def row_number_of(table: str, columns: tuple[SourceColumn, ...]) -> str:
    """Return the name under which the row number can be read, which a column's own name may hide."""
    taken = {fold(column.name) for column in columns}
    for alias in ("rowid", "_rowid_", "oid"):
        if alias.encode() not in taken:
            return alias
    raise refusal("CONTRACT_VIOLATION", f"table {table}: its columns hide every name of the row number")


def quoted(name: str) -> str:
    """Return a name as an SQL identifier, whatever it is."""
    return '"' + name.replace('"', '""') + '"'
