"""A database file as the database of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from impl.reference.batch.database import DTYPES, Column, Database, SemanticType, Table
from impl.reference.batch.load.columns import (
    Embedder,
    HashEmbedder,
    categories_of,
    check_kind,
    flags,
    identifiers,
    numbers,
    statistics_of,
    texts,
    times,
)
from impl.reference.batch.load.declaration import Declaration, check_declaration, resolve_types, time_column, unit_of
from impl.reference.batch.load.duckdb_source import open_duckdb
from impl.reference.batch.load.keys import check_policies, links_of, resolve_keys, targets_of, without_dropped
from impl.reference.batch.load.source import Kind, Link, Source, SourceTable, Stored, refusal
from impl.reference.batch.load.sqlite_source import open_sqlite
from impl.reference.batch.tensors import tensor_of
from impl.types import Tensor

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


def load_database(
    *,
    root: str,
    path: str,
    declaration: dict[str, dict[str, str]],
    leave_out: list[str] | None = None,
    dangling: dict[str, dict[str, str]] | None = None,
) -> LoadedDatabase:
    """Return the tables of a SQLite or DuckDB file below the root, every column in its semantic type.

    Raises, in this order, CONTRACT_VIOLATION for no such file, UNKNOWN_TABLE or CONTRACT_VIOLATION for the
    declaration, UNKNOWN_TABLE or COMPOSITE_KEY for a key, LIMIT_EXCEEDED for a file that asks too much,
    CONTRACT_VIOLATION or NON_FINITE for the first column whose type is in doubt or whose values do not fit it,
    CONTRACT_VIOLATION or DANGLING_KEY for the rows that keys refer to.
    """
    said = Declaration(words=declaration, left_out=leave_out or [], dangling=dangling or {})
    with open_source(root, path) as source:
        return LoadedDatabase(database=database_of(source, said, HashEmbedder()))


def open_source(root: str, path: str) -> AbstractContextManager[Source]:
    """Give an open file."""
    try:
        file = Path(root, path)
        if not file.resolve().is_relative_to(Path(root).resolve()) or not file.is_file():
            raise refusal("CONTRACT_VIOLATION", f"{path!r}: no such file")
        with file.open("rb") as stream:
            head = stream.read(16)
    except (OSError, RuntimeError, ValueError) as reason:  # a ring of links, a NUL, a name too long or of no letters
        raise refusal("CONTRACT_VIOLATION", f"{path!r}: {reason}") from reason
    if head == SQLITE or not head:
        return open_sqlite(file)
    if head[8:12] == DUCKDB:
        return open_duckdb(file)
    raise refusal("CONTRACT_VIOLATION", f"{path!r}: neither a SQLite nor a DuckDB file")


def database_of(source: Source, declaration: Declaration, embedder: Embedder) -> Database:
    """Return the database of a file, with categories and texts numbered; tables by the UTF-8 bytes of their names."""
    listed = sorted(source.tables, key=lambda table: table.name.encode("utf-8"))
    check_declaration(listed, declaration)
    check_policies(listed, declaration)
    links = links_of(listed, declaration)
    kept = [table for table in listed if table.name not in declaration.left_out]
    read = {table.name: read_rows(source, table, links, declaration) for table in kept}
    read, targets = without_dropped(read, targets_of(source, read, links))
    counters = Counters(categories=0, texts={})
    columns: dict[str, list[Column]] = {}
    dated_by: dict[str, str | None] = {}
    for name, table in read.items():
        types = resolve_types(table, declaration)
        dated_by[name] = time_column(table, types, declaration)
        number_texts(table, types, counters)
        units = [unit_of(declaration.word(name, column.name)) for column in table.columns]
        columns[name] = [make_column(table, place, types[place], units[place], counters) for place in range(len(types))]
    made = [
        Table(
            name=name,
            row_count=len(table.rows),
            time_column=dated_by[name],
            columns=columns[name],
            foreign_keys=resolve_keys(source, table, targets),
        )
        for name, table in read.items()
    ]
    shape = (len(counters.texts), embedder.dimension)
    return Database(tables=made, text_embeddings=Tensor("float16", shape, embedder.embed(list(counters.texts))))


def read_rows(source: Source, table: SourceTable, links: Sequence[Link], declaration: Declaration) -> SourceTable:
    """Return a table with its rows; an ignored column is looked at only where the order or a key depends on it."""
    in_keys = {place for link in links if link.table == table.name for place in link.places}
    referred = {place for link in links if link.other == table.name for place in link.referred}
    looked_at = [
        declaration.word(table.name, column.name) != "ignored"
        or column.name in table.primary_key
        or place in in_keys | referred
        for place, column in enumerate(table.columns)
    ]
    return replace(table, rows=tuple(source.rows(table, looked_at)))


def number_texts(table: SourceTable, types: Sequence[SemanticType], counters: Counters) -> None:
    """Number the texts of a table by first occurrence, row by row and column by column."""
    places = [place for place, kind in enumerate(types) if kind == "text"]
    for row in table.rows:
        for place in places:
            value = row[place]
            if isinstance(value, str) and value not in counters.texts:
                counters.texts[value] = len(counters.texts)


def make_column(
    table: SourceTable, place: int, kind: SemanticType, unit: str | None, counters: Counters
) -> Column:
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
            values = times(stored, stored_unit(table.columns[place].kind, unit, full_name), full_name)
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


def stored_unit(kind: Kind, unit: str | None, column: str) -> str | None:
    """Return the unit of stored integers: a true time type has its own, and none can be declared for it."""
    if kind != "microseconds":
        return unit
    if unit is not None:
        raise refusal("CONTRACT_VIOLATION", f"{column}: its declared type is a time, which has no unit {unit!r}")
    return "us"
