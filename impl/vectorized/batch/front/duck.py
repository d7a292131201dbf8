"""DuckDB files, where the optional package is installed."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
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
    interrupting,
    quote,
    refuse,
    too_much,
)
from impl.vectorized.batch.front.target_query import bad_query

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


class DuckFile:
    """An open DuckDB file."""

    def __init__(self, connection: Any, limits: FileLimits, late: Callable[[], bool]) -> None:
        self._connection, self._limits, self._late = connection, limits, late
        names = connection.execute(f"SELECT table_name FROM duckdb_tables() WHERE {HERE} AND NOT internal")  # noqa: S608
        self.schemas = [_schema(connection, name) for (name,) in names.fetchall()]
        views = connection.execute(f"SELECT view_name FROM duckdb_views() WHERE {HERE} AND NOT internal")  # noqa: S608
        self.others = sorted((name, "view") for (name,) in views.fetchall())

    def rows(self, schema: Schema, looked: Sequence[bool]) -> Iterator[list[Any]]:
        """Return the rows of a table, many at a time."""
        columns = ", ".join(
            field.sql if whole else f"CASE WHEN {quote(field.name)} IS NULL THEN NULL ELSE 0 END"
            for field, whole in zip(schema.fields, looked, strict=True)
        )
        what = f"table {schema.name}"
        try:
            cursor = self._connection.execute(f"SELECT {columns} FROM {quote(schema.name)} {schema.order}")  # noqa: S608
            yield from self._judged(what, schema.fields, chunks(cursor))
        except import_module("duckdb").Error as reason:
            raise _refusal(what, reason, self._limits) from reason

    def pairs(self, child: Schema, parent: Schema, link: Link) -> dict[Exact, Exact]:
        """Return what each value of a key refers to; DuckDB compares equal types, value by value."""
        held = {row: exact(row) for row in self._distinct(parent, link.referred)}
        return {exact(row): held[row] for row in self._distinct(child, link.places) if row in held}

    def found(self, keys: Sequence[tuple[Any, ...]], parent: Schema, link: Link) -> dict[Exact, Exact]:
        """Return what each of these keys refers to; DuckDB compares equal types, value by value."""
        held = {row: exact(row) for row in self._distinct(parent, link.referred)}
        return {exact(key): held[key] for key in keys if key in held}

    @contextmanager
    def asked(self, name: str, query: str) -> Iterator[Asked]:
        """Give what one query gives that only reads; LIMIT_EXCEEDED where it takes too long."""
        duckdb, what = import_module("duckdb"), f"targets {name!r}"
        try:
            statements = self._connection.extract_statements(query)
            if [statement.type.name for statement in statements] != ["SELECT"]:
                kinds = ", ".join(statement.type.name for statement in statements) or "no statement"
                raise bad_query(name, f"{kinds}, which is no single SELECT")
            # A view takes the query as it is written, with its last comment; it is gone with the connection.
            view = f"temp.{quote(f'targets {name}')}"
            self._connection.execute(f"CREATE TEMP VIEW {view} AS {query}")
            described = self._connection.execute(f"DESCRIBE {view}").fetchall()
            fields = [_field(column, declared) for column, declared, *_ in described]
            columns = ", ".join(one.sql for one in fields)
            cursor = self._connection.execute(f"SELECT {columns} FROM {view}")  # noqa: S608
            yield Asked(fields, self._judged(what, fields, chunks(cursor)))
        except duckdb.Error as reason:
            if isinstance(reason, _too_much()):
                raise _refusal(what, reason, self._limits) from reason
            raise bad_query(name, reason) from reason

    def _judged(self, what: str, fields: Sequence[Field], parts: Iterator[list[Any]]) -> Iterator[list[Any]]:
        long = [place for place, field in enumerate(fields) if field.declared in ("text", "any")]
        for rows in parts:
            if self._late():
                raise too_much(what, "interrupted", self._limits)
            if any(_longer(row[place], self._limits.value_bytes) for place in long for row in rows):
                raise too_much(what, "a longer value", self._limits)
            yield rows

    def repeats(self, parent: Schema, link: Link) -> bool:
        """Return whether two rows have a value that the key refers to."""
        names = [quote(parent.fields[place].name) for place in link.referred]
        whole = " AND ".join(f"{name} IS NOT NULL" for name in names)
        inner = f"SELECT count(*) AS n FROM {quote(parent.name)} WHERE {whole} GROUP BY {', '.join(names)}"  # noqa: S608
        return bool(self._connection.execute(f"SELECT ifnull(max(n), 0) > 1 FROM ({inner})").fetchone()[0])  # noqa: S608

    def _distinct(self, schema: Schema, places: Sequence[int]) -> list[tuple[Any, ...]]:
        columns = ", ".join(schema.fields[place].sql for place in places)
        sql = f"SELECT DISTINCT {columns} FROM {quote(schema.name)}"  # noqa: S608
        return [tuple(row) for row in self._connection.execute(sql).fetchall()]


@contextmanager
def opened(file: Path, limits: FileLimits) -> Iterator[DuckFile]:
    """Give an open file, which is only read."""
    try:
        duckdb: Any = import_module("duckdb")
    except ImportError as reason:
        said = "file must be one that can be opened: got a DuckDB file; pip install 'tallystick[duckdb]'"
        raise refuse("CONTRACT_VIOLATION", said) from reason
    try:
        with (
            duckdb.connect(str(file), read_only=True, config={"enable_external_access": "false"}) as connection,
            interrupting(connection.interrupt, limits.seconds) as late,
        ):
            yield DuckFile(connection, limits, late)
    except duckdb.Error as reason:
        raise _refusal(f"file {file.name!r}", reason, limits) from reason


def _longer(value: Any, most: int) -> bool:
    """Return whether a value has more bytes; a letter has up to four."""
    if not isinstance(value, str | bytes) or 4 * len(value) <= most:
        return False
    return len(value.encode() if isinstance(value, str) else value) > most


def _too_much() -> tuple[type[Exception], ...]:
    duckdb: Any = import_module("duckdb")
    return duckdb.InterruptException, duckdb.OutOfMemoryException


def _refusal(what: str, reason: Exception, limits: FileLimits) -> ContractFailure:
    if isinstance(reason, _too_much()):
        return too_much(what, reason, limits)
    return refuse("CONTRACT_VIOLATION", f"{what} must be one that DuckDB can read: got {reason}")


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
            return Field(name, kind, around.format(quote(name)), declared)
    raise AssertionError(declared)


def _binary(name: str, declared: str) -> str:
    """Return the SQL that orders a key column: texts bytewise, times and booleans as the numbers that are read."""
    read = _field(name, declared)
    return f"encode({read.sql})" if read.declared in ("text", "enum") else read.sql
