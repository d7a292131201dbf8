"""SQLite files."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Any

from impl.failure import ContractFailure
from impl.vectorized.batch.front.schema import (
    Asked,
    Exact,
    Field,
    FileLimits,
    Key,
    Link,
    Schema,
    chunks,
    exact,
    quote,
    refuse,
    same,
    select,
    too_much,
)
from impl.vectorized.batch.front.target_query import bad_query

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


LEFT_OUT = {"view": "view", "virtual": "virtual table", "shadow": "table of a virtual table"}
TOO_MUCH = {"SQLITE_TOOBIG", "SQLITE_INTERRUPT"}
KEYS_AT_ONCE = 2_000
STEPS = 100_000  # of SQLite's machine between two looks at the clock


class SqliteFile:
    """An open SQLite file."""

    def __init__(self, connection: sqlite3.Connection, limits: FileLimits) -> None:
        self._connection, self._limits = connection, limits
        listed = connection.execute("PRAGMA main.table_list").fetchall()
        names = [(row[1], row[2], row[4], row[5]) for row in listed if row[0] == "main"]
        own = [name for name in names if not same(name[0]).startswith(b"sqlite_")]
        self.schemas = [_schema(connection, name, *how) for name, kind, *how in own if kind == "table"]
        self.others = sorted((name, LEFT_OUT[kind]) for name, kind, *_ in own if kind != "table")

    def rows(self, schema: Schema, looked: Sequence[bool]) -> Iterator[list[Any]]:
        """Return the rows of a table, many at a time."""
        try:
            yield from chunks(self._connection.execute(select(schema, looked)))
        except (sqlite3.Error, UnicodeError) as reason:
            raise _refusal(f"table {schema.name}", reason, self._limits) from reason

    def pairs(self, child: Schema, parent: Schema, link: Link) -> dict[Exact, Exact]:
        """Return what each value of a key refers to: by the affinity and the collation of what it refers to."""
        referred = [quote(parent.fields[place].name) for place in link.referred]
        keys = [quote(child.fields[place].name) for place in link.places]
        # The column on the left decides; IN would take the affinity of both.
        on = " AND ".join(f"p.{name} = (+k.{key})" for name, key in zip(referred, keys, strict=True))
        columns = ", ".join([f"k.{key}" for key in keys] + [f"p.{name}" for name in referred])
        sql = f"SELECT {columns} FROM {quote(child.name)} k INNER JOIN {quote(parent.name)} p ON {on}"  # noqa: S608
        found: dict[Exact, Exact] = {}
        for rows in chunks(self._connection.execute(sql)):
            for row in rows:
                found.setdefault(exact(row[: len(keys)]), exact(row[len(keys) :]))
        return found

    def found(self, keys: Sequence[tuple[Any, ...]], parent: Schema, link: Link) -> dict[Exact, Exact]:
        """Return what each of these keys refers to: by the affinity and the collation of what it refers to."""
        width = len(link.referred)
        names = [quote(parent.fields[place].name) for place in link.referred]
        on = " AND ".join(f"p.{name} = (+k.column{number})" for number, name in enumerate(names, 1))
        columns = ", ".join([f"k.column{number + 1}" for number in range(width)] + [f"p.{name}" for name in names])
        found: dict[Exact, Exact] = {}
        for start in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[start : start + KEYS_AT_ONCE]
            listed = ", ".join([f"({', '.join('?' * width)})"] * len(some))
            sql = f"SELECT {columns} FROM (VALUES {listed}) k INNER JOIN {quote(parent.name)} p ON {on}"  # noqa: S608
            for row in self._connection.execute(sql, [value for key in some for value in key]):
                found.setdefault(exact(row[:width]), exact(row[width:]))
        return found

    def asked(self, name: str, query: str) -> AbstractContextManager[Asked]:
        """Give what one query gives that only reads."""
        return asked(self._connection, name, query, self._limits)

    def repeats(self, parent: Schema, link: Link) -> bool:
        """Return whether two rows have a value that the key refers to."""
        names = [quote(parent.fields[place].name) for place in link.referred]
        whole = " AND ".join(f"{name} NOTNULL" for name in names)
        inner = f"SELECT count(*) AS n FROM {quote(parent.name)} WHERE {whole} GROUP BY {', '.join(names)}"  # noqa: S608
        return bool(self._connection.execute(f"SELECT ifnull(max(n), 0) > 1 FROM ({inner})").fetchone()[0])  # noqa: S608


@contextmanager
def opened(file: Path, limits: FileLimits) -> Iterator[SqliteFile]:
    """Give an open file, which is only read and whose schema is not trusted."""
    try:
        with closing(_connected(file.resolve())) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.value_bytes)
            # A function, no collation: the schema of a file cannot use it (trusted_schema).
            connection.create_function("utf8", 1, lambda value: value.encode() if isinstance(value, str) else value)
            until = monotonic() + limits.seconds
            connection.set_progress_handler(lambda: monotonic() > until, STEPS)
            _judge_length(connection, file.resolve())
            yield SqliteFile(connection, limits)
    except MemoryError:
        raise refuse("LIMIT_EXCEEDED", f"{file.name} must fit into memory: got a value that does not") from None
    except (sqlite3.Error, UnicodeError) as reason:  # a damaged schema may hold names that are no texts
        raise _refusal(f"file {file.name!r}", reason, limits) from reason


# What SQLite says of a file with changes beside it that it cannot read here: what that is, and what to do.
UNREAD = {
    "SQLITE_CANTOPEN": (
        "changes in {}-wal, which SQLite reads only in a folder that it can write to",
        "copy both files to such a folder, or run `PRAGMA wal_checkpoint(TRUNCATE)` where the file can be written",
    ),
    "SQLITE_READONLY_ROLLBACK": (
        "half a change, and {}-journal beside it: the program that wrote was stopped",
        "run `sqlite3 FILE 'PRAGMA schema_version'` where both files can be written: SQLite takes the change back",
    ),
}


def _connected(file: Path) -> sqlite3.Connection:
    """Return a connection that reads; ContractFailure where changes beside the file cannot be read."""
    connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.Error as reason:
        connection.close()
        said = reason.sqlite_errorname
        if said == "SQLITE_CANTOPEN" and not _logged(file):
            # In WAL mode SQLite wants to make a log, and cannot in this folder; what nothing changes needs none.
            return sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)
        if said not in UNREAD:
            raise
        got, hint = UNREAD[said]
        what = f"file {file.name!r} must be whole: got {got.format(file.name)}; {hint}"
        raise refuse("CONTRACT_VIOLATION", what) from reason
    return connection


def _judge_length(connection: sqlite3.Connection, file: Path) -> None:
    """Refuse a file that lacks a part of its last page, which SQLite reads as zeros."""
    pages, size = (connection.execute(f"PRAGMA {word}").fetchone()[0] for word in ("page_count", "page_size"))
    got = _bytes(file)
    if got < pages * size and not _logged(file):  # with a log, a page may be there and not yet in the file
        said = f"file {file.name!r} must have its {pages} pages of {size} bytes: got {got} bytes"
        raise refuse("CONTRACT_VIOLATION", f"{said}; it was cut off; copy it again, or restore another copy")


def _logged(file: Path) -> bool:
    """Return whether the write-ahead log of a file has anything in it."""
    return _bytes(file.parent / f"{file.name}-wal") > 0


def _bytes(file: Path) -> int:
    """Return how many bytes a file has; none where it does not exist, or cannot for its long name."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _refusal(what: str, reason: Exception, limits: FileLimits) -> ContractFailure:
    if getattr(reason, "sqlite_errorname", None) in TOO_MUCH:
        return too_much(what, reason, limits)
    return refuse("CONTRACT_VIOLATION", f"{what} must be one that SQLite can read: got {reason}")


# What a query may do; everything else, from INSERT to ATTACH and PRAGMA, is no reading.
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
ACTIONS = {
    getattr(sqlite3, f"SQLITE_{word}"): word
    for word in ("INSERT", "UPDATE", "DELETE", "PRAGMA", "ATTACH", "DETACH", "TRANSACTION", "SAVEPOINT", "ANALYZE")
}


@contextmanager
def asked(connection: sqlite3.Connection, name: str, query: str, limits: FileLimits) -> Iterator[Asked]:
    """Give what one query gives; CONTRACT_VIOLATION for what writes or is none, LIMIT_EXCEEDED for too much."""
    denied: list[str] = []

    def judge(action: int, table: str | None, *_: object) -> int:
        if action in READING:
            return sqlite3.SQLITE_OK
        schema = (table or "").startswith("sqlite_") or action not in ACTIONS
        denied.append("a virtual table, or a change of the schema" if schema else ACTIONS[action])
        return sqlite3.SQLITE_DENY

    def refusal(reason: Exception) -> ContractFailure:
        if getattr(reason, "sqlite_errorname", None) in TOO_MUCH:
            return _refusal(f"targets {name!r}", reason, limits)
        return bad_query(name, f"{denied[0]}, which is no reading" if denied else reason)

    connection.set_authorizer(judge)
    try:
        try:
            cursor = connection.execute(query)
        except (sqlite3.Warning, UnicodeError, ValueError) as reason:  # several statements, or letters that SQL has not
            raise refusal(reason) from reason
        columns = [row[0] for row in cursor.description or ()]
        yield Asked([Field(column, "any", quote(column)) for column in columns], chunks(cursor))
    except sqlite3.Error as reason:
        raise refusal(reason) from reason
    finally:
        connection.set_authorizer(None)


def _schema(connection: sqlite3.Connection, name: str, without_rowid: int, strict: int) -> Schema:
    info = [row for row in connection.execute(f"PRAGMA main.table_xinfo({quote(name)})") if row[6] != 1]
    fields = [Field(row[1], _class(row[2], bool(strict)), quote(row[1]), row[2]) for row in info]
    primary = [column for _, column in sorted((row[5], row[1]) for row in info if row[5])]
    # BINARY compares texts by the bytes that the file has; where these are not UTF-8, they are made UTF-8 first.
    (encoding,) = connection.execute("PRAGMA main.encoding").fetchone()
    by = "{0} COLLATE BINARY" if encoding == "UTF-8" else "typeof({0}) = 'blob', utf8({0})"
    order = [by.format(quote(column)) for column in primary]
    if not without_rowid:
        free = [alias for alias in ("rowid", "_rowid_", "oid") if alias not in {row[1].lower() for row in info}]
        if not free:
            said = f"{name} must leave a name for the row number: got columns named rowid, _rowid_ and oid"
            raise refuse("CONTRACT_VIOLATION", said)
        order.append(free[0])
    # Of a damaged file, rows are those of the table, whether or not an index of it is damaged too.
    return Schema(name, fields, primary, _keys(connection, name), f"NOT INDEXED ORDER BY {', '.join(order)}")


def _keys(connection: sqlite3.Connection, name: str) -> list[Key]:
    listed: list[Any] = connection.execute(f"PRAGMA main.foreign_key_list({quote(name)})").fetchall()
    listed.sort(key=lambda row: (-row[0], row[1]))
    keys = []
    for _, group in groupby(listed, key=lambda row: row[0]):
        parts = list(group)
        keys.append(Key([row[3] for row in parts], parts[0][2], [row[4] for row in parts if row[4] is not None]))
    return keys


def _class(declared: str, strict: bool) -> str:
    told = declared.encode().upper().decode()  # as SQLite does: no letter outside ASCII becomes one of ASCII
    if strict and told == "ANY":
        return "any"
    return next(name for name, words in CLASSES if re.search(words, told))
