"""Keys of a file as rows of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags, Indices
from impl.vectorized.batch.front.schema import File, Key, Link, Schema, exact, refuse, same
from impl.vectorized.batch.front.spool import Room, grown, release
from impl.vectorized.batch.front.stored import INTEGER, Stored
from impl.vectorized.batch.front.types import IGNORED, Wishes

NONE, NOWHERE = -1, -2
Columns = Mapping[str, Sequence[Stored]]


def judge_policies(schemas: Sequence[Schema], wishes: Wishes) -> None:
    """Refuse a policy where no key is named after the column."""
    for schema in schemas:
        heads = {min(map(schema.place, key.columns)) for key in schema.keys}
        for column in wishes.dangling.get(schema.name, {}):
            if schema.place(column) not in heads:
                said = f"dangling must name the first column of a key: got {schema.name}.{column}"
                raise refuse("UNKNOWN_TABLE", said)


def links(schemas: Sequence[Schema], wishes: Wishes) -> list[Link]:
    """Return the keys that are looked at; UNKNOWN_TABLE or COMPOSITE_KEY where one refers to what is not there."""
    known = {same(schema.name): schema for schema in schemas}
    gone = {same(name) for name in wishes.leave_out}
    found: list[Link] = []
    for schema in schemas:
        if same(schema.name) in gone:
            continue
        own = []
        for key in schema.keys:
            places = tuple(map(schema.place, key.columns))
            if same(key.table) in gone:
                continue
            lenient = any(wishes.word(schema.name, schema.fields[place].name) == IGNORED for place in places)
            policy = wishes.policy(schema, min(places)) or ("null" if lenient else "refuse")
            link = link_of(schema, key, places, known.get(same(key.table)), policy, lenient)
            own += [] if link is None else [link]
        found.extend(sorted(own, key=lambda link: link.named))
    return found


def link_of(
    schema: Schema, key: Key, places: tuple[int, ...], other: Schema | None, policy: str, lenient: bool
) -> Link | None:
    """Return one key; None or a refusal where it refers to what is not there."""
    passed_over = lenient or policy == "null"
    listed = f"{schema.name} ({', '.join(key.columns)})"
    if other is not None:
        names = key.referred or other.primary_key
        if names and len(names) != len(places):
            if passed_over:
                return None
            said = f"a key must have as many columns as what it refers to: got {listed} to {other.name}, which has"
            raise refuse("COMPOSITE_KEY", f"{said} {len(names)}; declare its columns ignored")
        referred = tuple(map(other.place, names))
        if referred and min(referred) >= 0:
            return Link(schema.name, places, other.name, referred, policy, lenient)
    if passed_over:
        return None
    said = f"a key must refer to columns of a table: got {listed} to nothing in {key.table}"
    raise refuse("UNKNOWN_TABLE", f"{said}; declare its columns ignored")


def targets(
    file: File, schemas: Mapping[str, Schema], link: Link, columns: Columns, room: Room | None = None
) -> Indices:
    """Return the row that each row refers to, NONE for NULL, NOWHERE if there is no such row."""
    keys = [columns[link.table][place] for place in link.places]
    parents = [columns[link.other][place] for place in link.referred]
    if _plain(keys, parents):
        search = _search(parents[0])

        def found(parts: tuple[Stored, ...]) -> Indices:
            return search(parts[0].numbers)

    else:
        child, parent = schemas[link.table], schemas[link.other]
        if child.asked:
            pairs = file.found(list(dict.fromkeys(_together(keys))), parent, link)
        else:
            pairs = file.pairs(child, parent, link)
        row_of = {exact(values): row for row, values in enumerate(_together(parents))}
        if any(value not in row_of for value in pairs.values()):
            said = f"{link.other} must have indices that agree with its rows: got another value; the file is damaged"
            raise refuse("CONTRACT_VIOLATION", said)
        row_at = {key: row_of[value] for key, value in pairs.items()}

        def found(parts: tuple[Stored, ...]) -> Indices:
            return np.array([row_at.get(exact(values), NOWHERE) for values in _together(parts)], np.int64)

    def looked_up() -> Iterator[Indices]:
        for parts in zip(*(key.parts() for key in keys), strict=True):
            yield np.where(np.logical_or.reduce([part.nulls for part in parts]), NONE, found(parts))

    return grown(np.int64, room, looked_up())


def repeated(file: File, schemas: Mapping[str, Schema], link: Link, columns: Columns) -> bool:
    """Return whether the file holds twice what a key refers to."""
    parents = [columns[link.other][place] for place in link.referred]
    if _plain(parents, parents):
        present = parents[0].numbers[~parents[0].nulls]
        return len(np.unique(present)) < len(present)
    return file.repeats(schemas[link.other], link)


def _plain(keys: Sequence[Stored], parents: Sequence[Stored]) -> bool:
    """Return whether one column of integers refers to another, which every affinity and collation compares alike."""
    return len(keys) == 1 and keys[0].held() <= {INTEGER} and parents[0].held() <= {INTEGER}


def _search(parent: Stored) -> Callable[[Indices], Indices]:
    """Return what finds the rows of keys; the values that they refer to are in memory while it lives."""
    rows = np.flatnonzero(~parent.nulls)
    order = rows[np.argsort(parent.numbers[rows], kind="stable")]
    values = parent.numbers[order]
    release(parent.classes, parent.numbers)

    def search(keys: Indices) -> Indices:
        if not len(values):
            return np.full(len(keys), NOWHERE, np.int64)
        at = np.minimum(np.searchsorted(values, keys), len(values) - 1)
        return np.where(values[at] == keys, order[at], NOWHERE)

    return search


def _together(columns: Sequence[Stored]) -> zip[tuple[object, ...]]:
    return zip(*(column.values() for column in columns), strict=True)


def dropped(sizes: Mapping[str, int], found: Sequence[tuple[Link, Indices]]) -> dict[str, Flags]:
    """Return the rows of each table that stay: a row goes whose key refers to no row that stays, where it may."""
    stay: dict[str, AnyArray] = {name: np.ones(size, np.bool_) for name, size in sizes.items()}
    going = [(link, rows) for link, rows in found if link.policy == "drop"]
    changed = True
    while changed:
        changed = False
        for link, rows in going:
            lost = stay[link.table] & ~_lead(rows, stay[link.other])
            if lost.any():
                stay[link.table] &= ~lost
                changed = True
    return stay


def _lead(rows: Indices, stay: Flags) -> Flags:
    """Return for each row whether it refers to none or to one that stays."""
    lead: Flags = rows == NONE
    some = rows >= 0
    lead[some] = stay[rows[some]]
    return lead


def renumbered(rows: Indices, own: Flags, other: Flags) -> Indices:
    """Return the targets of the rows that stay, by the new numbers."""
    if own.all() and other.all():
        return rows
    numbers = np.where(other, np.cumsum(other) - 1, NOWHERE)
    return np.where(rows < 0, rows, numbers[np.maximum(rows, 0)] if len(numbers) else NOWHERE)[own]
