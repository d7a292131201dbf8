"""A table as a database file holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from impl.failure import ContractFailure, default_failure

OPERATOR: Final = "Batch.LoadDatabase"


def refusal(code: str, why: str) -> ContractFailure:
    """Return a failure with the default record; the reason is a note on the exception, not part of the record."""
    failure = default_failure(code, OPERATOR)
    failure.add_note(why)
    return failure


Stored: TypeAlias = int | float | str | bytes | None

# What a column's declared type lets it hold. `temporal` and `boolean` are SQLite's numeric columns of such a name;
# `microseconds` is a true time type; `any` lets everything pass.
Kind = Literal["integer", "real", "numeric", "text", "temporal", "microseconds", "boolean", "enum", "any"]


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """Hold a column's name and kind."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class SourceKey:
    """Hold a foreign key: its columns, the table it names, and the columns there, empty for the primary key."""

    columns: tuple[str, ...]
    table: str
    referred: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Hold a table: keys in declared order, rows in the order of their numbers once they are read."""

    name: str
    columns: tuple[SourceColumn, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[SourceKey, ...]
    rows: tuple[tuple[Stored, ...], ...] = ()

    def place(self, column: str) -> int:
        """Return the index of a column by its name in any case; -1 if there is none."""
        wanted = fold(column)
        return next((place for place, held in enumerate(self.columns) if fold(held.name) == wanted), -1)

    def values(self, place: int) -> list[Stored]:
        """Return the values of a column."""
        return [row[place] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Link:
    """Hold a key that is looked at: its columns by their places, and the columns of a table that they refer to.

    `policy` says what becomes of it where it refers to no row; `ignored`, that a column of it is declared ignored.
    """

    table: str
    places: tuple[int, ...]
    other: str
    referred: tuple[int, ...]
    policy: str
    ignored: bool

    @property
    def column(self) -> int:
        """The place that the key is named after: the first of its columns in the table."""
        return min(self.places)


# A value and its storage class: 1 and 1.0 are two, because as texts they differ.
Exact: TypeAlias = tuple[tuple[str, str], ...]


def exact(values: Iterable[Stored]) -> Exact:
    """Return what is equal for equal values of equal storage classes."""
    return tuple((type(value).__name__, repr(value)) for value in values)


class Source(Protocol):
    """An open file: its tables without rows at first."""

    tables: Sequence[SourceTable]

    def rows(self, table: SourceTable, looked_at: Sequence[bool]) -> list[tuple[Stored, ...]]:
        """Return the rows of a table by its primary key, else by rowid.

        Of a column that is not looked at only whether the value is NULL is read; 0 replaces another value.
        """

    def pairs(self, link: Link) -> dict[Exact, Exact]:
        """Return the values that a key refers to, for the values of the key that refer to any."""

    def repeats(self, link: Link) -> bool:
        """Return whether the columns that a key refers to hold values twice."""


def fold(name: str) -> bytes:
    """Return a name as SQL compares names: the case of ASCII letters does not count."""
    return name.encode("utf-8").lower()


def order_key(values: Iterable[Stored]) -> list[tuple[int, float | bytes]]:
    """Return what orders rows by a key: column by column NULL, numbers by value, texts bytewise, other bytes."""
    return [storage_key(value) for value in values]


def storage_key(value: Stored) -> tuple[int, float | bytes]:
    """Return what orders one value among values of any storage class."""
    match value:
        case None:
            return 0, 0
        case int() | float():
            return 1, value
        case str():
            return 2, value.encode("utf-8")
    return 3, value
