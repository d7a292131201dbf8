"""SQLite files."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from impl.vectorized.batch.front.schema import Cursor, Field, Key, Schema, quote, refuse, same

# The rules of affinity in their order, and two names that numeric columns go by.
CLASSES = (
    ("integer", "INT"),
    ("text", "CHAR|CLOB|TEXT"),
    ("any", "BLOB|^$"),
    ("real", "REAL|FLOA|DOUB"),
    ("boolean", "BOOL"),
    ("temporal", "DATE|TIME"),
    ("numeric", ""),
)


@contextmanager
def opened(file: Path) -> Iterator[tuple[list[Schema], Callable[[str], Cursor]]]:
    """Give the schemas of a file and a function that runs a query."""
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            listed = connection.execute("PRAGMA main.table_list").fetchall()
            names = [(row[1], row[4], row[5]) for row in listed if row[0] == "main" and row[2] == "table"]
            own = [name for name in names if not same(name[0]).startswith(b"sqlite_")]
            yield [_schema(connection, *name) for name in own], connection.execute
    except sqlite3.Error as reason:
        said = f"file must be a SQLite file that can be read: got {file.name!r}, {reason}"
        raise refuse("CONTRACT_VIOLATION", said) from reason


def _schema(connection: sqlite3.Connection, name: str, without_rowid: int, strict: int) -> Schema:
    info = [row for row in connection.execute(f"PRAGMA main.table_xinfo({quote(name)})") if row[6] != 1]
    fields = [Field(row[1], _class(row[2], bool(strict)), quote(row[1])) for row in info]
    primary = [column for _, column in sorted((row[5], row[1]) for row in info if row[5])]
    order = [f"{quote(column)} COLLATE BINARY" for column in primary]
    if not without_rowid:
        free = [alias for alias in ("rowid", "_rowid_", "oid") if alias not in {row[1].lower() for row in info}]
        if not free:
            said = f"{name} must leave a name for the row number: got columns named rowid, _rowid_ and oid"
            raise refuse("CONTRACT_VIOLATION", said)
        order.append(free[0])
    return Schema(name, fields, primary, _keys(connection, name), f"ORDER BY {', '.join(order)}")


def _keys(connection: sqlite3.Connection, name: str) -> list[Key]:
    listed: list[Any] = connection.execute(f"PRAGMA main.foreign_key_list({quote(name)})").fetchall()
    listed.sort(key=lambda row: (-row[0], row[1]))
    keys = []
    for _, group in groupby(listed, key=lambda row: row[0]):
        parts = list(group)
        keys.append(Key([row[3] for row in parts], parts[0][2], [row[4] for row in parts if row[4] is not None]))
    return keys


def _class(declared: str, strict: bool) -> str:
    if strict and declared.upper() == "ANY":
        return "any"
    return next(name for name, words in CLASSES if re.search(words, declared.upper()))
