"""Tables of a DuckDB file, where the optional package is installed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from impl.reference.batch.load.source import (
    Exact,
    Kind,
    Link,
    SourceColumn,
    SourceKey,
    SourceTable,
    Stored,
    exact,
    order_key,
    refusal,
)
from impl.reference.batch.load.sqlite_source import LONGEST_VALUE, SECONDS, quoted

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
AGAIN: Final = 0.05  # seconds between two interruptions: one that finds nothing running is lost
INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


class DuckdbSource:
    """An open DuckDB file."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        names = [name for (name,) in connection.execute(TABLES).fetchall()]
        self.tables: Sequence[SourceTable] = [read_schema(connection, name) for name in names]

    def rows(self, table: SourceTable, looked_at: Sequence[bool]) -> list[tuple[Stored, ...]]:
        """Return the rows of a table by its primary key, else by rowid."""
        types = dict(self._connection.execute(COLUMNS, [table.name]).fetchall())
        select = ", ".join(
            expression(column.name, column.kind, types[column.name])
            if looked
            else f"CASE WHEN {quoted(column.name)} IS NOT NULL THEN 0 END"
            for column, looked in zip(table.columns, looked_at, strict=True)
        )
        rows = self._connection.execute(f"SELECT rowid, {select} FROM {quoted(table.name)}").fetchall()  # noqa: S608
        in_key = [table.place(name) for name in table.primary_key]
        if any(size_of(value) > LONGEST_VALUE for row in rows for value in row):
            raise refusal("LIMIT_EXCEEDED", f"table {table.name}: it holds a value that is too long")
        rows.sort(key=lambda row: order_key([*(row[1 + place] for place in in_key), row[0]]))
        return [tuple(row[1:]) for row in rows]

    def pairs(self, link: Link) -> dict[Exact, Exact]:
        """Return the values that a key refers to: DuckDB holds keys to what they refer to, value by value."""
        referred = {tuple(row): exact(row) for row in self._values(link.other, link.referred)}
        return {
            exact(row): referred[tuple(row)]
            for row in self._values(link.table, link.places)
            if None not in row and tuple(row) in referred
        }

    def repeats(self, link: Link) -> bool:
        """Return whether the columns that a key refers to hold values twice."""
        whole = [row for row in self._values(link.other, link.referred) if None not in row]
        return len(set(whole)) < len(whole)

    def _values(self, name: str, places: Sequence[int]) -> list[tuple[Stored, ...]]:
        table = next(table for table in self.tables if table.name == name)
        rows = self.rows(table, [place in places for place in range(len(table.columns))])
        return [tuple(row[place] for place in places) for row in rows]


@contextmanager
def open_duckdb(file: Path) -> Iterator[DuckdbSource]:
    """Give an open DuckDB file; CONTRACT_VIOLATION where DuckDB cannot read it or is not installed.

    LIMIT_EXCEEDED where it asks for too much.
    """
    try:
        duckdb: Any = import_module("duckdb")
    except ImportError as reason:
        raise refusal("CONTRACT_VIOLATION", "a DuckDB file needs the package duckdb") from reason
    try:
        with (
            duckdb.connect(str(file), read_only=True, config={"enable_external_access": "false"}) as connection,
            interrupted_after(SECONDS, connection.interrupt),
        ):
            yield DuckdbSource(connection)
    except (duckdb.InterruptException, duckdb.OutOfMemoryException) as reason:
        raise refusal("LIMIT_EXCEEDED", f"{file.name}: {reason}") from reason
    except duckdb.Error as reason:
        raise refusal("CONTRACT_VIOLATION", f"{file.name}: {reason}") from reason


@contextmanager
def interrupted_after(seconds: float, interrupt: Callable[[], None]) -> Iterator[None]:
    """Interrupt the running query after these seconds, again and again until the end."""
    ended = Event()

    def watch() -> None:
        late = not ended.wait(seconds)
        while late:
            interrupt()
            late = not ended.wait(AGAIN)

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def read_schema(connection: Any, name: str) -> SourceTable:
    """Return one table without its rows."""
    primary_key: tuple[str, ...] = ()
    keys: list[SourceKey] = []
    for kind, columns, table, referred in connection.execute(CONSTRAINTS, [name]).fetchall():
        if kind == "PRIMARY KEY":
            primary_key = tuple(columns)
        if kind == "FOREIGN KEY":
            keys.append(SourceKey(tuple(columns), table, tuple(referred)))
    described = connection.execute(COLUMNS, [name]).fetchall()
    return SourceTable(
        name=name,
        columns=tuple(SourceColumn(column, kind_of(declared)) for column, declared in described),
        primary_key=primary_key,
        foreign_keys=tuple(keys),
    )


def size_of(value: Stored) -> int:
    """Return the bytes of a text or of bytes, 0 of anything else."""
    if isinstance(value, str):
        return len(value.encode("utf-8"))
    return len(value) if isinstance(value, bytes) else 0


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
