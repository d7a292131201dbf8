"""Foreign keys of a file as rows of the tables they refer to."""

from collections.abc import Mapping, Sequence

from impl.reference.batch.database import ForeignKey
from impl.reference.batch.load.refusal import refusal
from impl.reference.batch.load.source import SourceKey, SourceTable, Stored, fold
from impl.reference.batch.tensors import tensor_of


def check_keys(tables: Sequence[SourceTable]) -> None:
    """Refuse keys over several columns (COMPOSITE_KEY), then keys to what does not exist (UNKNOWN_TABLE)."""
    for table in tables:
        for key in table.foreign_keys:
            if len(key.columns) > 1:
                raise refusal("COMPOSITE_KEY", f"{table.name}: the key {key.columns} has several columns")
    for table in tables:
        for key in table.foreign_keys:
            if find_table(tables, key.table) is None:
                raise refusal("UNKNOWN_TABLE", f"{table.name}: a key refers to the table {key.table!r}")
            referred_column(tables, table, key)


def find_table(tables: Sequence[SourceTable], name: str) -> SourceTable | None:
    """Return the table of that name in any case."""
    return next((table for table in tables if fold(table.name) == fold(name)), None)


def referred_column(tables: Sequence[SourceTable], table: SourceTable, key: SourceKey) -> tuple[SourceTable, int]:
    """Return the table that a key refers to, and the place of the column there."""
    other = next(held for held in tables if fold(held.name) == fold(key.table))
    names = key.referred or other.primary_key
    if len(names) > 1:
        raise refusal("COMPOSITE_KEY", f"{table.name}: the primary key of {other.name} has several columns")
    place = other.place(names[0]) if names else -1
    if place < 0:
        raise refusal("UNKNOWN_TABLE", f"{table.name}: {other.name} has no column that the key {key.columns} names")
    return other, place


def resolve_keys(tables: Sequence[SourceTable], table: SourceTable) -> list[ForeignKey]:
    """Return the keys of a table by the place of their column; DANGLING_KEY, or CONTRACT_VIOLATION for a value that
    the referred column holds twice."""
    keys = sorted(table.foreign_keys, key=lambda key: table.place(key.columns[0]))
    resolved: list[ForeignKey] = []
    for key in keys:
        other, referred = referred_column(tables, table, key)
        numbers = row_numbers(other, referred)
        place = table.place(key.columns[0])
        rows = [row_of(value, numbers, f"{table.name}.{key.columns[0]}") for value in table.values(place)]
        resolved.append(
            ForeignKey(
                column=table.columns[place].name,
                table=other.name,
                rows=tensor_of("int64", (len(rows),), rows),
            )
        )
    return resolved


def row_numbers(table: SourceTable, place: int) -> Mapping[Stored, int]:
    """Return the row of each value of a column that keys refer to."""
    numbers: dict[Stored, int] = {}
    for row, value in enumerate(table.values(place)):
        if value in numbers:
            raise refusal("CONTRACT_VIOLATION", f"{table.name}.{table.columns[place].name}: {value!r} is there twice")
        if value is not None:
            numbers[value] = row
    return numbers


def row_of(value: Stored, numbers: Mapping[Stored, int], column: str) -> int:
    """Return the row that a value refers to, -1 for NULL."""
    if value is None:
        return -1
    if value not in numbers:
        raise refusal("DANGLING_KEY", f"{column}: {value!r} refers to no row")
    return numbers[value]
