"""Tables of a SQLite file, their keys read from the schema."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from impl.reference.batch.load.source import (
    Exact,
    Kind,
    Link,
    SourceColumn,
    SourceKey,
    SourceTable,
    Stored,
    exact,
    fold,
    order_key,
    refusal,
)

TABLES: Final = """
    SELECT name, wr, strict FROM pragma_table_list
    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
"""
# Hidden columns of virtual tables are 1; generated columns are 2 and 3.
COLUMNS: Final = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid"
# The key declared first has the highest id.
KEYS: Final = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq'

# A generated column can ask for more than any machine has: SQLite computes no longer value, and not for longer.
LONGEST_VALUE: Final = 1 << 24  # bytes
SECONDS: Final = 600.0
STEPS: Final = 100_000  # of SQLite's machine between two looks at the clock
EXCEEDED: Final = ("SQLITE_TOOBIG", "SQLITE_INTERRUPT")


class SqliteSource:
    """An open SQLite file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        tables = connection.execute(TABLES).fetchall()
        self.tables: Sequence[SourceTable] = [read_schema(connection, name, bool(strict)) for name, _, strict in tables]
        self._without_rowid = {name for name, without, _ in tables if without}

    def rows(self, table: SourceTable, looked_at: Sequence[bool]) -> list[tuple[Stored, ...]]:
        """Return the rows of a table by its primary key, else by rowid."""
        in_key = [table.place(name) for name in table.primary_key]
        number = "NULL" if table.name in self._without_rowid else row_number_of(table.name, table.columns)
        select = ", ".join(
            quoted(column.name) if looked else f"CASE typeof({quoted(column.name)}) WHEN 'null' THEN NULL ELSE 0 END"
            for column, looked in zip(table.columns, looked_at, strict=True)
        )
        # The rows are those of the table itself: of a damaged file, an index may have others.
        sql = f"SELECT {number}, {select} FROM {quoted(table.name)} NOT INDEXED"  # noqa: S608
        rows = self._connection.execute(sql).fetchall()
        rows.sort(key=lambda row: order_key([*(row[1 + place] for place in in_key), row[0]]))
        return [tuple(row[1:]) for row in rows]

    def pairs(self, link: Link) -> dict[Exact, Exact]:
        """Return the values that a key refers to, compared as SQLite compares them.

        The column referred to is on the left, so its collation counts, and its affinity is applied to the key's
        value, which `+` makes one without an affinity (sqlite.org/foreignkeys.html, section 3).
        """
        child, parent = self._names(link)
        equal = " AND ".join(f"a.{b} = +c.{k}" for k, b in zip(child, parent, strict=True))
        select = ", ".join([*(f"c.{name}" for name in child), *(f"a.{name}" for name in parent)])
        sql = f"SELECT {select} FROM {quoted(link.table)} AS c JOIN {quoted(link.other)} AS a ON {equal}"  # noqa: S608
        width = len(child)
        return {exact(row[:width]): exact(row[width:]) for row in self._connection.execute(sql)}

    def repeats(self, link: Link) -> bool:
        """Return whether the columns that a key refers to hold values twice, by their own collations."""
        _, parent = self._names(link)
        some = " AND ".join(f"{name} IS NOT NULL" for name in parent)
        sql = f"SELECT 1 FROM {quoted(link.other)} WHERE {some} GROUP BY {', '.join(parent)} HAVING count(*) > 1"  # noqa: S608
        return self._connection.execute(sql).fetchone() is not None

    def _names(self, link: Link) -> tuple[list[str], list[str]]:
        tables = {table.name: table for table in self.tables}
        return (
            [quoted(tables[link.table].columns[place].name) for place in link.places],
            [quoted(tables[link.other].columns[place].name) for place in link.referred],
        )


@contextmanager
def open_sqlite(file: Path) -> Iterator[SqliteSource]:
    """Give an open SQLite file; CONTRACT_VIOLATION where SQLite cannot read it, LIMIT_EXCEEDED where it asks too much.

    The file is not written, and nothing in its schema is trusted.
    """
    try:
        with (
            closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as first,
            closing(readable(first, file.resolve())) as connection,
        ):
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
            end = monotonic() + SECONDS
            connection.set_progress_handler(lambda: monotonic() > end, STEPS)
            check_length(connection, file.resolve())
            yield SqliteSource(connection)
    except MemoryError as reason:
        raise refusal("LIMIT_EXCEEDED", f"{file.name}: there is not enough memory for it") from reason
    except (sqlite3.Error, UnicodeError) as reason:  # a name in a damaged schema is no text
        exceeded = getattr(reason, "sqlite_errorname", "") in EXCEEDED
        raise refusal("LIMIT_EXCEEDED" if exceeded else "CONTRACT_VIOLATION", f"{file.name}: {reason}") from reason


def readable(connection: sqlite3.Connection, file: Path) -> sqlite3.Connection:
    """Return a connection that can read the file.

    In a folder where it cannot write, SQLite opens a file in WAL mode only if it is told that nothing changes it.
    """
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError as reason:
        if reason.sqlite_errorname != "SQLITE_CANTOPEN" or has_log(file):
            raise
        return sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)
    return connection


def check_length(connection: sqlite3.Connection, file: Path) -> None:
    """Refuse a file that ends within its last page, which SQLite would read with zeros behind the end."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    # Pages that are in the log need not be in the file.
    if length(file) < pages * size and not has_log(file):
        raise refusal("CONTRACT_VIOLATION", f"{file.name}: shorter than its {pages} pages of {size} bytes")


def has_log(file: Path) -> bool:
    """Return whether changes may lie beside the file, in its write-ahead log."""
    return length(Path(f"{file}-wal")) > 0


def length(file: Path) -> int:
    """Return the number of bytes of a file, 0 where there is none or its name is too long."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def read_schema(connection: sqlite3.Connection, name: str, strict: bool) -> SourceTable:
    """Return one table without its rows."""
    described = connection.execute(COLUMNS, (name,)).fetchall()
    columns = tuple(SourceColumn(column, kind_of(declared, strict)) for column, declared, _ in described)
    in_key = sorted((place_in_key, place) for place, (_, _, place_in_key) in enumerate(described) if place_in_key)
    return SourceTable(
        name=name,
        columns=columns,
        primary_key=tuple(columns[place].name for _, place in in_key),
        foreign_keys=read_keys(connection, name),
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
    # As in SQLite, a letter outside ASCII does not become one of ASCII.
    words = declared.encode("utf-8").upper().decode("utf-8")
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
    """Return any name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
