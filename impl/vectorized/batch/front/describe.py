"""What a database file holds: every column with its type or a guess, every key, and every open question at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from impl.arguments import counted
from impl.failure import ContractFailure
from impl.vectorized.batch.front.columns import Numbering, column_of, number_texts
from impl.vectorized.batch.front.keys import NOWHERE, link_of, repeated, targets
from impl.vectorized.batch.front.open import DEFAULT, Progress, gathered, source
from impl.vectorized.batch.front.schema import Field, File, FileLimits, Key, Link, Schema, same
from impl.vectorized.batch.front.spool import Room
from impl.vectorized.batch.front.stored import INTEGER, REAL, TEXT, Stored
from impl.vectorized.batch.front.types import kind_and_unit, obvious

TIME_NAME = re.compile(r"date|time|year|stamp|created|updated|_(at|on)$", re.IGNORECASE)
# The greatest number of each unit that is less than about five thousand years.
UNITS = (("day", 10**5), ("s", 10**11), ("ms", 10**14), ("us", 10**17), ("ns", 1 << 63))


@dataclass(frozen=True, slots=True)
class DescribedColumn:
    """A column: the type as the file declares it, a word for it, what is known of it, whether that is a question."""

    name: str
    written: str
    word: str
    note: str
    open: bool


@dataclass(frozen=True, slots=True)
class DescribedKey:
    """A key: its columns, what it refers to, a policy, what is known of it, whether that is a question."""

    columns: tuple[str, ...]
    named: str
    refers_to: str
    policy: str
    note: str
    open: bool


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table; `unread` says why it could not be read."""

    name: str
    row_count: int
    primary_key: tuple[str, ...]
    columns: tuple[DescribedColumn, ...]
    keys: tuple[DescribedKey, ...]
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """A file: its tables by name, and what is no table, by name and kind."""

    name: str
    tables: tuple[DescribedTable, ...]
    others: tuple[tuple[str, str], ...] = field(default=())

    def questions(self) -> list[str]:
        """Return everything that has to be decided, one sentence each; a table that cannot be read is left out."""
        found = []
        for table in self.tables:
            for column in table.columns:
                if column.open:
                    found.append(f"{table.name}.{column.name}: {column.note}")
            for key in table.keys:
                if key.open:
                    found.append(f"{table.name}.{key.named}: {key.note}")
        return found


def describe(
    file: Path, *, progress: Progress | None = None, limits: FileLimits = DEFAULT, room: Room | None = None
) -> Description:
    """Return what a SQLite or DuckDB file holds; only the file itself is refused.

    Every table is read once, and once more where a column of times holds texts that are no times.
    """
    with source(file, limits) as opened:
        schemas = sorted(opened.schemas, key=lambda schema: schema.name.encode())
        columns: dict[str, Sequence[Stored]] = {}
        unread: dict[str, str] = {}
        for schema in schemas:
            try:
                columns[schema.name] = _gathered(opened, schema, _times_alone(schema, schemas), progress, limits, room)
            except ContractFailure as reason:
                unread[schema.name] = reason.sentence
        tables = [_table(opened, schemas, schema, columns, unread, room) for schema in schemas]
        return Description(file.name, tuple(tables), tuple(opened.others))


def _times_alone(schema: Schema, schemas: Sequence[Schema]) -> list[bool]:
    """Return which columns hold times that no key has, so that their texts need not be in memory."""
    keyed = {same(name) for key in schema.keys for name in key.columns} | {*map(same, schema.primary_key)}
    referring = [key for one in schemas for key in one.keys if same(key.table) == same(schema.name)]
    keyed |= {same(name) for key in referring for name in key.referred}
    return [field.declared == "temporal" and same(field.name) not in keyed for field in schema.fields]


def _gathered(
    opened: File, schema: Schema, times: list[bool], progress: Progress | None, limits: FileLimits, room: Room | None
) -> list[Stored]:
    everything = [True] * len(schema.fields)
    columns = gathered(schema, opened.rows(schema, everything), progress, limits.rows, room, times)
    if any(time and column.words for time, column in zip(times, columns, strict=True)):  # a text of them is no time
        return gathered(schema, opened.rows(schema, everything), progress, limits.rows, room)
    return columns


def _table(
    opened: File,
    schemas: Sequence[Schema],
    schema: Schema,
    columns: dict[str, Sequence[Stored]],
    unread: dict[str, str],
    room: Room | None,
) -> DescribedTable:
    if schema.name in unread:
        return DescribedTable(schema.name, 0, tuple(schema.primary_key), (), (), unread[schema.name])
    held = columns[schema.name]
    keys, twice = [], set[int]()
    for key in schema.keys:
        described, link = _key(opened, schemas, schema, key, columns, unread, room)
        keys.append(described)
        if link is not None and repeated(opened, {one.name: one for one in schemas}, link, columns):
            twice.add(link.named)
    listed = [_column(schema, place, values, place in twice, room) for place, values in enumerate(held)]
    stamps = [place for place, column in enumerate(listed) if column.word.startswith("timestamp")]
    if len(stamps) > 1:
        names = ", ".join(listed[place].name for place in stamps)
        for number, place in enumerate(stamps):
            word = listed[place].word.replace("timestamp", "timestamp" if number else "time")
            note = f"{listed[place].note}; which of {names} dates the rows (time)?".removeprefix("; ")
            listed[place] = replace(listed[place], word=word, note=note, open=True)
    return DescribedTable(schema.name, len(held[0]), tuple(schema.primary_key), tuple(listed), tuple(keys))


def _key(
    opened: File,
    schemas: Sequence[Schema],
    schema: Schema,
    key: Key,
    columns: dict[str, Sequence[Stored]],
    unread: dict[str, str],
    room: Room | None,
) -> tuple[DescribedKey, Link | None]:
    places = tuple(map(schema.place, key.columns))
    named = schema.fields[min(places)].name
    listed = tuple(schema.fields[place].name for place in places)
    known = {same(one.name): one for one in schemas}
    other = known.get(same(key.table))
    try:
        link = link_of(schema, key, places, other, "refuse", False)
    except ContractFailure as reason:
        return DescribedKey(listed, named, key.table, "null", reason.sentence, True), None
    assert link is not None  # nothing is passed over with the policy to refuse
    assert other is not None
    referred = f"{other.name} ({', '.join(other.fields[place].name for place in link.referred)})"
    if other.name in unread:
        return DescribedKey(listed, named, referred, "refuse", "its table could not be read", False), None
    rows = targets(opened, {one.name: one for one in schemas}, link, columns, room)
    lost = int(np.count_nonzero(rows == NOWHERE))
    note = f"{lost} of {counted(len(rows), 'row')} refer{'s' * (lost == 1)} to no row" if lost else ""
    return DescribedKey(listed, named, referred, "null" if lost else "refuse", note, bool(lost)), link


def _column(schema: Schema, place: int, values: Stored, twice: bool, room: Room | None) -> DescribedColumn:
    field = schema.fields[place]
    found: str | None = obvious(schema, field, values)
    if twice:
        note = "what it refers to is there twice"
        return DescribedColumn(field.name, field.written, "ignored", note, True)
    if found is None:
        word, note = guess(field, values)
        return DescribedColumn(field.name, field.written, word, note, True)
    texts: dict[str, int] = {}
    number_texts([values], texts)
    kind, unit = kind_and_unit(found)
    try:
        column_of(f"{schema.name}.{field.name}", field, kind, unit, values, Numbering(texts, 0), room)
    except ContractFailure as reason:
        return DescribedColumn(field.name, field.written, "ignored", reason.sentence, True)
    note = ""
    if found == "numerical" and values.held() == {INTEGER} and TIME_NAME.search(field.name):
        note = f"perhaps {_times(field.name, values)}"
    return DescribedColumn(field.name, field.written, found, note, False)


def guess(field: Field, values: Stored) -> tuple[str, str]:
    """Return the most likely word for a column in doubt, and why it is in doubt."""
    held, present = values.held(), values.taken(~values.nulls)
    count, distinct = len(present), len(np.unique(present.numbers))
    if not count:
        return "ignored", "no values"
    if held == {INTEGER}:
        if set(np.unique(present.numbers).tolist()) <= {0, 1}:
            return "boolean", "only 0 and 1"
        if field.declared == "temporal":
            return _times(field.name, present), "integers where a time is declared"
        if TIME_NAME.search(field.name):
            return _times(field.name, present), "integers without a declared type, with the name of a time"
    if held <= {INTEGER, REAL}:
        return "numerical", "numbers without a declared type"
    if held == {TEXT}:
        note = f"{counted(distinct, 'different text')} in {counted(count, 'row')}"
        return ("categorical" if distinct <= 100 and 2 * distinct <= count else "text"), note
    if held == {INTEGER, TEXT}:
        return "categorical", "integers and texts"
    return "ignored", "bytes, or values of several classes"


def _times(name: str, values: Stored) -> str:
    numbers = values.numbers[~values.nulls]
    least, most = int(numbers.min()), int(numbers.max())
    if least >= 1 and most <= 9999 and "year" in name.lower():
        return "timestamp[year]"
    size = max(abs(least), abs(most))
    return f"timestamp[{next(unit for unit, limit in UNITS if size <= limit)}]"
