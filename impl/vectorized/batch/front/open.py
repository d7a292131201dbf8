"""LoadDatabase of the vectorized backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from impl.failure import ContractFailure
from impl.vectorized.batch.arrays import Indices
from impl.vectorized.batch.front import duck, sqlite
from impl.vectorized.batch.front.columns import Embedder, HashEmbedder, Numbering, column_of, embedded, number_texts
from impl.vectorized.batch.front.keys import NOWHERE, dropped, judge_policies, links, renumbered, repeated, targets
from impl.vectorized.batch.front.schema import File, FileLimits, Link, Schema, refuse
from impl.vectorized.batch.front.spool import Room, release, slices
from impl.vectorized.batch.front.stored import Gathered, Stored
from impl.vectorized.batch.front.target_query import judge_nulls, judge_queries, link_of_targets, schema_of
from impl.vectorized.batch.front.types import (
    IGNORED,
    STAMPS,
    Wishes,
    dating_column,
    in_doubt,
    judge,
    kind_and_unit,
    microseconds,
    semantic_types,
)
from impl.vectorized.batch.model import Column, Database, ForeignKey, Table, to_records
from impl.vectorized.batch.records import SEMANTIC_TYPES, Loaded

# Told what is being read, a table, a column that is made of it or "(texts)", and how many rows of it are done.
Progress = Callable[[str, int], None]
DEFAULT = FileLimits()


def open_database(
    file: Path,
    wishes: Wishes,
    *,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    limits: FileLimits = DEFAULT,
    room: Room | None = None,
) -> Database:
    """Return the tables of a SQLite or DuckDB file, each column in its declared or obvious semantic type.

    Every table is read once. Where there is room, what is long lies in files there, which are gone with the database.
    Raises ContractFailure: CONTRACT_VIOLATION, UNKNOWN_TABLE, COMPOSITE_KEY, LIMIT_EXCEEDED, NON_FINITE or
    DANGLING_KEY; its sentence says where.
    """
    embeds = embedder or HashEmbedder()
    wanted = {name: asked.words() for name, asked in wishes.targets.items()}
    with source(file, limits) as opened:
        read = read_tables(opened, wishes, progress, limits, room)
        wishes = replace(wishes, words={**wishes.words, **wanted})
        numbering = Numbering({}, 0)
        made: dict[str, list[Column]] = {}
        dated: dict[str, str | None] = {}
        for place, schema in enumerate(read.schemas):
            columns = read.columns[schema.name]
            types = [kind for kind in semantic_types(schema, wishes, columns) if kind is not None]
            if len(types) < len(columns):
                raise _doubt(in_doubt(read.schemas[place:], wishes, read.columns))
            dated[schema.name] = dating_column(schema, wishes, types)
            number_texts([held for held, kind in zip(columns, types, strict=True) if kind == "text"], numbering.texts)
            made[schema.name] = []
            for field, kind, held in zip(schema.fields, types, columns, strict=True):
                unit = kind_and_unit(wishes.word(schema.name, field.name) or kind)[1]
                column = column_of(f"{schema.name}.{field.name}", field, kind, unit, held, numbering, room)
                numbering = Numbering(numbering.texts, numbering.categories + len(column.categories or ()))
                made[schema.name].append(column)
                if progress is not None:
                    progress(f"{schema.name}.{field.name}", len(held))
        tables = tuple(
            Table(
                schema.name,
                len(read.columns[schema.name][0]),
                tuple(made[schema.name]),
                _keys(opened, read, schema),
                dated[schema.name],
                wishes.targets[schema.name].value if schema.asked else None,
            )
            for schema in read.schemas
        )
    return Database(tables, embedded(embeds, list(numbering.texts), room, progress))


@dataclass(frozen=True, slots=True)
class Read:
    """Hold what was read: tables by name, their columns without the rows that are dropped, and targets of keys.

    `whole` has the columns with all rows.
    """

    schemas: Sequence[Schema]
    columns: Mapping[str, Sequence[Stored]]
    whole: Mapping[str, Sequence[Stored]]
    targets: Sequence[tuple[Link, Indices]]

    @property
    def by_name(self) -> Mapping[str, Schema]:
        """Return the tables by their names."""
        return {schema.name: schema for schema in self.schemas}


def read_tables(
    opened: File, wishes: Wishes, progress: Progress | None, limits: FileLimits, room: Room | None = None
) -> Read:
    """Return the rows of the tables of an open file, and what their keys refer to."""
    listed = sorted(opened.schemas, key=lambda schema: schema.name.encode())
    judge(listed, wishes)
    judge_policies(listed, wishes)
    looked = links(listed, wishes)
    judge_queries(listed, wishes.leave_out, wishes.targets)
    schemas = [schema for schema in listed if schema.name not in wishes.leave_out]
    whole: dict[str, list[Stored]] = {}
    left = limits.rows
    for schema in schemas:
        columns = _looked(schema, looked, wishes)
        times = _times_alone(schema, looked, wishes)
        whole[schema.name] = gathered(schema, opened.rows(schema, columns), progress, left, room, times)
        left -= len(whole[schema.name][0])
    names = {schema.name: schema for schema in schemas}
    for name, wanted in sorted(wishes.targets.items(), key=lambda one: one[0].encode()):
        with opened.asked(name, wanted.query) as asked:
            schema = schema_of(name, wanted, asked)
            times = [wanted.words()[held.name] in STAMPS for held in schema.fields]
            whole[name] = gathered(schema, asked.rows, progress, left, room, times)
        left -= len(whole[name][0])
        judge_nulls(schema, wanted, whole[name])
        looked.append(link_of_targets(schema, wanted, names[wanted.table]))
        schemas.append(schema)
        names[name] = schema
    found = [(link, targets(opened, names, link, whole, room)) for link in looked]
    stay = dropped({name: len(columns[0]) for name, columns in whole.items()}, found)
    kept = {
        name: held if stay[name].all() else [one.taken(stay[name]) for one in held] for name, held in whole.items()
    }
    moved = [(link, renumbered(rows, stay[link.table], stay[link.other])) for link, rows in found]
    return Read(schemas, kept, whole, moved)


def source(file: Path, limits: FileLimits = DEFAULT) -> AbstractContextManager[File]:
    """Give an open file; CONTRACT_VIOLATION if it does not exist or is no database."""
    try:
        if not file.is_file():
            raise refuse("CONTRACT_VIOLATION", f"file must exist: got {str(file)!r}")
        with file.open("rb") as stream:
            head = stream.read(16)
    except (OSError, ValueError) as reason:
        said = f"file must be one that can be opened: got {str(file)!r}, {reason}"
        raise refuse("CONTRACT_VIOLATION", said) from reason
    if head in (b"", b"SQLite format 3\0"):
        return sqlite.opened(file, limits)
    if head[8:12] == b"DUCK":
        return duck.opened(file, limits)
    raise refuse("CONTRACT_VIOLATION", f"file must be a SQLite or DuckDB file: got {file.name!r}, which is neither")


def _looked(schema: Schema, looked: Sequence[Link], wishes: Wishes) -> list[bool]:
    """Return which columns have to be read: an ignored one only for the order of rows and for keys."""
    keyed = _keyed(schema, looked, wishes)
    words = [wishes.word(schema.name, field.name) for field in schema.fields]
    return [word != IGNORED or place in keyed for place, word in enumerate(words)]


def _times_alone(schema: Schema, looked: Sequence[Link], wishes: Wishes) -> list[bool]:
    """Return which columns are asked for times alone, so that their texts need not be in memory."""
    keyed = _keyed(schema, looked, wishes) | {schema.place(name) for key in schema.keys for name in key.columns}
    words = [wishes.word(schema.name, field.name) for field in schema.fields]
    return [
        place not in keyed and (word in STAMPS or (word is None and field.declared == "temporal"))
        for place, (word, field) in enumerate(zip(words, schema.fields, strict=True))
    ]


def _keyed(schema: Schema, looked: Sequence[Link], wishes: Wishes) -> set[int]:
    """Return the columns of which an order or a key depends."""
    keyed = {place for link in looked if link.table == schema.name for place in link.places}
    keyed |= {place for link in looked if link.other == schema.name for place in link.referred}
    keyed |= {*map(schema.place, schema.primary_key)}
    named = [column for asked in wishes.targets.values() if asked.table == schema.name for column in asked.key.values()]
    return keyed | {*map(schema.place, named)}


def gathered(
    schema: Schema,
    parts: Iterable[list[Any]],
    progress: Progress | None,
    most: int,
    room: Room | None = None,
    times: Iterable[bool] | None = None,
) -> list[Stored]:
    """Return the columns of a table, read once, many rows at a time; LIMIT_EXCEEDED for more rows than `most`.

    `times` says of which columns only the times are asked for.
    """
    alone = [False] * len(schema.fields) if times is None else times
    columns = [Gathered(room, microseconds if time else None) for time in alone]
    count = 0
    for rows in parts:
        count += len(rows)
        if count > most:
            raise refuse("LIMIT_EXCEEDED", f"{schema.name} must have no more rows than allowed: got more than {most}")
        for column, part in zip(columns, zip(*rows, strict=True), strict=True):
            column.add(part)
        if progress is not None:
            progress(schema.name, count)
    return [column.gathered() for column in columns]


def _doubt(names: Sequence[str]) -> ContractFailure:
    several = len(names) > 1
    said = f"{', '.join(names)} must {'each ' * several}have a semantic type: got values that leave it in doubt"
    hint = f"declare one of {', '.join(SEMANTIC_TYPES)}, or edit what `tally batch describe` prints"
    return refuse("CONTRACT_VIOLATION", f"{said}; {hint}")


def _keys(opened: File, read: Read, schema: Schema) -> tuple[ForeignKey, ...]:
    found = []
    for link, rows in read.targets:
        if link.table != schema.name:
            continue
        column = schema.fields[link.named].name
        place = f"{schema.name}.{column}"
        if repeated(opened, read.by_name, link, read.whole):
            if link.lenient:
                continue
            said = f"{place} must refer to distinct values: got {link.other}, which has one twice"
            raise refuse("CONTRACT_VIOLATION", said)
        lost = sum(int(np.count_nonzero(rows[at] == NOWHERE)) for at in slices(len(rows)))
        if lost and link.policy == "refuse":
            said = f"{place} must refer to rows that exist: got {lost} of {len(rows)} that do not"
            hint = "repair them, or declare `null` or `drop` for the key"
            hint = "leave them out in the query" if schema.asked else hint
            raise refuse("DANGLING_KEY", f"{said}; {hint}")
        found.append(ForeignKey(column, link.other, np.maximum(rows, -1) if lost else rows))
        release(rows)
    return tuple(found)


def load_database(
    *,
    root: str,
    path: str,
    declaration: dict[str, dict[str, str]],
    leave_out: list[str] | None = None,
    dangling: dict[str, dict[str, str]] | None = None,
) -> Loaded:
    """Return the database of a file below the root."""
    file = Path(root) / path
    try:
        below = file.resolve().is_relative_to(Path(root).resolve())
    except (OSError, RuntimeError, ValueError):
        below = False
    if not below:
        raise refuse("CONTRACT_VIOLATION", f"path must be below the root: got {path!r}")
    return Loaded(to_records(open_database(file, Wishes(declaration, leave_out or (), dangling or {}))))
