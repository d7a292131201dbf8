"""A database file as the database of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from impl.reference.batch.database import DTYPES, Column, Database, SemanticType, Table
from impl.reference.batch.load.column_values import (
    categories_of,
    check_kind,
    flags,
    identifiers,
    numbers,
    texts,
    times,
)
from impl.reference.batch.load.duckdb_source import read_duckdb
from impl.reference.batch.load.embedder import Embedder, HashEmbedder
from impl.reference.batch.load.keys import check_keys, resolve_keys
from impl.reference.batch.load.refusal import refusal
from impl.reference.batch.load.semantic_types import Declaration, check_declaration, resolve_types, time_column
from impl.reference.batch.load.source import SourceTable, Stored
from impl.reference.batch.load.sqlite_source import read_sqlite
from impl.reference.batch.load.statistics import statistics_of
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
