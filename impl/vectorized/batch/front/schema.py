"""What a file says about its tables, and how to read their rows in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from impl.failure import ContractFailure, default_failure


def refuse(code: str, why: str) -> ContractFailure:
    """Return the failure of LoadDatabase; `why` is a sentence for people."""
    return default_failure(code, "Batch.LoadDatabase", why)


ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True)
class Field:
    """Name a column, the class of its declared type, and the SQL that reads it."""

    name: str
    declared: str
    sql: str


@dataclass(frozen=True, slots=True)
class Key:
    """Name the columns of a key, its table, and the columns referred to where they are named."""

    columns: Sequence[str]
    table: str
    referred: Sequence[str]


@dataclass(frozen=True, slots=True)
class Schema:
    """Describe a table; `order` is the SQL that puts its rows in the order of their numbers."""

    name: str
    fields: Sequence[Field]
    primary_key: Sequence[str]
    keys: Sequence[Key]
    order: str

    def column(self, name: str) -> str | None:
        """Return the exact name of a column asked for in any case, None where there is none."""
        return {same(field.name): field.name for field in self.fields}.get(same(name))


class Cursor(Protocol):
    """What SQLite and DuckDB have in common."""

    def fetchmany(self, size: int = ..., /) -> list[Any]:
        """Return the next rows."""


def same(name: str) -> bytes:
    """Return what is equal for names that SQL takes for one: ASCII letters have no case."""
    return name.encode().lower()


def quote(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"{}"'.format(name.replace('"', '""'))


def select(schema: Schema) -> str:
    """Return the SQL that reads a table once, in order."""
    columns = ", ".join(field.sql for field in schema.fields)
    return f"SELECT {columns} FROM {quote(schema.name)} {schema.order}"  # noqa: S608


def chunks(cursor: Cursor) -> Iterator[list[Any]]:
    """Return rows, many at a time."""
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        yield rows
