"""A table as a database file holds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

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
    """Hold a table: rows in the order of their numbers, keys in declared order."""

    name: str
    columns: tuple[SourceColumn, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[SourceKey, ...]
    rows: tuple[tuple[Stored, ...], ...]

    def place(self, column: str) -> int:
        """Return the place of a column by its name in any case; -1 where there is none."""
        wanted = fold(column)
        return next((place for place, held in enumerate(self.columns) if fold(held.name) == wanted), -1)

    def values(self, place: int) -> list[Stored]:
        """Return the values of a column."""
        return [row[place] for row in self.rows]


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
