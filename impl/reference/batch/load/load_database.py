"""A database file as the database of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from impl.reference.batch.database import DTYPES, Column, Database, ForeignKey, SemanticType, Table
from impl.reference.batch.load.columns import (
    Declaration,
    Embedder,
    HashEmbedder,
    categories_of,
    check_declaration,
    check_kind,
    flags,
    identifiers,
    numbers,
    resolve_types,
    statistics_of,
    texts,
    time_column,
    times,
)
from impl.reference.batch.load.duckdb_source import read_duckdb
from impl.reference.batch.load.source import SourceKey, SourceTable, Stored, fold, refusal
from impl.reference.batch.load.sqlite_source import read_sqlite
from impl.reference.batch.tensors import tensor_of
from impl.types import Tensor


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


SQLITE: Final = b"SQLite format 3\0"
DUCKDB: Final = b"DUCK"  # at byte 8


@dataclass(frozen=True, slots=True)
class LoadedDatabase:
    """Hold the database of a file."""

    database: Database


@dataclass(slots=True)
class Counters:
    """Count the categories and the texts that have a number already."""

    categories: int
    texts: dict[str, int]


def load_database(*, root: str, path: str, declaration: dict[str, dict[str, str]]) -> LoadedDatabase:
    """Return the tables of a SQLite or DuckDB file below the root, every column in its semantic type.

    Raises, in this order, CONTRACT_VIOLATION for no such file, UNKNOWN_TABLE or CONTRACT_VIOLATION for the
    declaration, COMPOSITE_KEY, UNKNOWN_TABLE for a key, CONTRACT_VIOLATION or NON_FINITE for the first column whose
    type is in doubt or whose values do not fit it, DANGLING_KEY (issue 5; numbering of the interface).
    """
    return LoadedDatabase(database=database_of(read_source(root, path), declaration, HashEmbedder()))


def read_source(root: str, path: str) -> list[SourceTable]:
    """Return the tables of a file, in the order of their names in UTF-8 bytes."""
    file = Path(root, path)
    if not file.resolve().is_relative_to(Path(root).resolve()) or not file.is_file():
        raise refusal("CONTRACT_VIOLATION", f"{path}: no such file")
    with file.open("rb") as stream:
        head = stream.read(16)
    if head == SQLITE or not head:
        tables = read_sqlite(file)
    elif head[8:12] == DUCKDB:
        tables = read_duckdb(file)
    else:
        raise refusal("CONTRACT_VIOLATION", f"{path}: neither a SQLite nor a DuckDB file")
    return sorted(tables, key=lambda table: table.name.encode("utf-8"))


def database_of(tables: Sequence[SourceTable], declaration: Declaration, embedder: Embedder) -> Database:
    """Return the database of these tables, with categories and texts numbered."""
    check_declaration(tables, declaration)
    check_keys(tables)
    counters = Counters(categories=0, texts={})
    columns: dict[str, list[Column]] = {}
    dated_by: dict[str, str | None] = {}
    for table in tables:
        declared: Mapping[str, str] = declaration.get(table.name, {})
        types = resolve_types(table, declared)
        dated_by[table.name] = time_column(table, types, declared)
        number_texts(table, types, counters)
        columns[table.name] = [make_column(table, place, kind, counters) for place, kind in enumerate(types)]
    made = [
        Table(
            name=table.name,
            row_count=len(table.rows),
            time_column=dated_by[table.name],
            columns=columns[table.name],
            foreign_keys=resolve_keys(tables, table),
        )
        for table in tables
    ]
    shape = (len(counters.texts), embedder.dimension)
    return Database(tables=made, text_embeddings=Tensor("float16", shape, embedder.embed(list(counters.texts))))


def number_texts(table: SourceTable, types: Sequence[SemanticType], counters: Counters) -> None:
    """Number the texts of a table by first occurrence, row by row and column by column."""
    places = [place for place, kind in enumerate(types) if kind == "text"]
    for row in table.rows:
        for place in places:
            value = row[place]
            if isinstance(value, str) and value not in counters.texts:
                counters.texts[value] = len(counters.texts)


def make_column(table: SourceTable, place: int, kind: SemanticType, counters: Counters) -> Column:
    """Return a column in its semantic type."""
    name = table.columns[place].name
    full_name = f"{table.name}.{name}"
    stored = table.values(place)
    fields: dict[str, Any] = {}
    if kind != "ignored":
        check_kind(stored, table.columns[place].kind, full_name)
    values: Sequence[Any]
    match kind:
        case "identifier":
            values = identifiers(stored)
        case "numerical":
            values = numbers(stored, full_name)
            fields = measured(values, stored, full_name)
        case "timestamp":
            values = times(stored, full_name)
            fields = measured(values, stored, full_name)
        case "boolean":
            values = flags(stored, full_name)
        case "categorical":
            categories = categories_of(stored, full_name)
            values = [0 if value is None else categories.index(str(value)) for value in stored]
            fields = {"cat_emb_start": counters.categories, "categories": categories}
            counters.categories += len(categories)
        case "text":
            values = [0 if text is None else counters.texts[text] for text in texts(stored, full_name)]
        case "ignored":
            values = [0] * len(stored)
    shape = (len(stored),)
    return Column(
        name=name,
        semantic_type=kind,
        values=tensor_of(DTYPES[kind], shape, values),
        is_null=tensor_of("bool", shape, [value is None for value in stored]),
        **fields,
    )


def measured(values: Sequence[float], stored: Sequence[Stored], column: str) -> dict[str, float]:
    """Return the statistics of the values that are not NULL."""
    present = [float(value) for value, held in zip(values, stored, strict=True) if held is not None]
    statistics = statistics_of(present, column)
    return {"mean": statistics.mean, "deviation": statistics.deviation}
