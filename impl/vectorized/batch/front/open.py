"""LoadDatabase of the vectorized backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from impl.vectorized.batch.arrays import Indices
from impl.vectorized.batch.front import duck, sqlite
from impl.vectorized.batch.front.columns import Embedder, HashEmbedder, column_of, number_texts
from impl.vectorized.batch.front.schema import Cursor, Key, Schema, chunks, refuse, same, select
from impl.vectorized.batch.front.types import Declaration, dating_column, judge, semantic_types
from impl.vectorized.batch.model import Column, Database, ForeignKey, Table, to_records
from impl.vectorized.batch.records import Loaded

# Told the table and how many of its rows have been read.
Progress = Callable[[str, int], None]
Columns = list[list[Any]]


def open_database(
    file: Path, declaration: Declaration, *, embedder: Embedder | None = None, progress: Progress | None = None
) -> Database:
    """Return the tables of a SQLite or DuckDB file, each column in its declared or obvious semantic type.

    Every table is read once. Raises ContractFailure: CONTRACT_VIOLATION, UNKNOWN_TABLE, COMPOSITE_KEY, NON_FINITE or
    DANGLING_KEY; a note on it says where.
    """
    embeds = embedder or HashEmbedder()
    with _source(file) as (listed, run):
        schemas = sorted(listed, key=lambda schema: schema.name.encode())
        judge(schemas, declaration)
        for schema in schemas:
            for key in schema.keys:
                _referred(schemas, schema, key)
        stored: dict[str, Columns] = {}
        made: dict[str, list[Column]] = {}
        dated: dict[str, str | None] = {}
        texts: dict[str, int] = {}
        categories = 0
        for schema in schemas:
            columns = stored[schema.name] = _read(schema, run(select(schema)), progress)
            declared = declaration.get(schema.name, {})
            types = semantic_types(schema, declared, columns)
            dated[schema.name] = dating_column(schema, declared, types)
            pairs = list(zip(schema.fields, types, columns, strict=True))
            number_texts([values for _, kind, values in pairs if kind == "text"], texts)
            made[schema.name] = []
            for field, kind, values in pairs:
                column = column_of(f"{schema.name}.{field.name}", field, kind, values, texts, categories)
                categories += len(column.categories or ())
                made[schema.name].append(column)
    tables = tuple(
        Table(
            schema.name,
            len(stored[schema.name][0]),
            tuple(made[schema.name]),
            _keys(schemas, schema, stored),
            dated[schema.name],
        )
        for schema in schemas
    )
    return Database(tables, embeds.embed(list(texts)))


def _source(file: Path) -> AbstractContextManager[tuple[list[Schema], Callable[[str], Cursor]]]:
    if not file.is_file():
        raise refuse("CONTRACT_VIOLATION", f"file must exist: got {str(file)!r}")
    with file.open("rb") as stream:
        head = stream.read(16)
    if head in (b"", b"SQLite format 3\0"):
        return sqlite.opened(file)
    if head[8:12] == b"DUCK":
        return duck.opened(file)
    raise refuse("CONTRACT_VIOLATION", f"file must be a SQLite or DuckDB file: got {file.name!r}, which is neither")


def _read(schema: Schema, cursor: Cursor, progress: Progress | None) -> Columns:
    columns: Columns = [[] for _ in schema.fields]
    for rows in chunks(cursor):
        for column, part in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(part)
        if progress is not None:
            progress(schema.name, len(columns[0]))
    return columns


def _referred(schemas: Sequence[Schema], schema: Schema, key: Key) -> tuple[Schema, str]:
    """Return the table and the column that a key refers to."""
    for other in schemas:
        if same(other.name) == same(key.table):
            names = key.referred or other.primary_key
            if len(names) > 1:
                said = f"a key must refer to one column: got {schema.name} to {other.name}, whose key has several"
                raise refuse("COMPOSITE_KEY", said)
            column = other.column(names[0]) if names else None
            if column is not None:
                return other, column
    said = f"a key must refer to a column of a table: got {schema.name} to nothing in {key.table}"
    raise refuse("UNKNOWN_TABLE", said)


def _keys(schemas: Sequence[Schema], schema: Schema, stored: dict[str, Columns]) -> tuple[ForeignKey, ...]:
    names = [field.name for field in schema.fields]
    found = []
    for key in schema.keys:
        other, referred = _referred(schemas, schema, key)
        column = schema.column(key.columns[0])
        assert column is not None  # the file's own schema
        targets = stored[other.name][[field.name for field in other.fields].index(referred)]
        rows = _rows(f"{schema.name}.{column}", stored[schema.name][names.index(column)], targets)
        found.append(ForeignKey(column, other.name, rows))
    return tuple(sorted(found, key=lambda key: names.index(key.column)))


def _rows(place: str, values: list[Any], targets: list[Any]) -> Indices:
    row_of = {value: row for row, value in enumerate(targets) if value is not None}
    if len(row_of) < len(targets) - targets.count(None):
        raise refuse("CONTRACT_VIOLATION", f"{place} must refer to distinct values: got a column with one twice")
    row_of[None] = -1
    try:
        return np.array([row_of[value] for value in values], np.int64)
    except KeyError as missing:
        said = f"{place} must refer to rows that exist: got {missing}; delete or repair the row"
        raise refuse("DANGLING_KEY", said) from None


def load_database(*, root: str, path: str, declaration: dict[str, dict[str, str]]) -> Loaded:
    """Return the database of a file below the root."""
    file = Path(root) / path
    if not file.resolve().is_relative_to(Path(root).resolve()):
        raise refuse("CONTRACT_VIOLATION", f"path must be below the root: got {path!r}")
    return Loaded(to_records(open_database(file, declaration)))
