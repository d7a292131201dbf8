"""The semantic type of each column of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np

from impl.vectorized.batch.front.schema import Field, Schema, refuse, same
from impl.vectorized.batch.front.stored import INTEGER, TEXT, Stored
from impl.vectorized.batch.records import SEMANTIC_TYPES, SemanticType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK = r"(2[0-3]|[01][0-9]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
TIME = re.compile(f"{DATE}([ T]{CLOCK}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?)?")


@lru_cache(4_096)
def microseconds(text: str) -> int | None:
    """Return the microseconds UTC that a text names, None where it names none."""
    if not TIME.fullmatch(text):
        return None
    # Six digits of a fraction are read by every Python.
    head, dot, tail = text.partition(".")
    if dot:
        digits = re.match("[0-9]*", tail)
        count = digits.end() if digits else 0
        text = f"{head}.{tail[:count]:0<6}{tail[count:]}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    apart = moment - EPOCH
    return (apart.days * 86_400 + apart.seconds) * 1_000_000 + apart.microseconds


ROW_TIME = "time"  # a timestamp that dates the rows
IGNORED = "ignored"
STAMPS = ("timestamp", ROW_TIME)
# How many microseconds one of what an integer counts has; a year has no fixed number, a nanosecond less than one.
UNITS = {"year": 0, "day": 86_400_000_000, "s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}
WORDS = (*SEMANTIC_TYPES, ROW_TIME, *(f"{stamp}[{unit}]" for stamp in STAMPS for unit in UNITS))
POLICIES = ("refuse", "null", "drop")
Words = Mapping[str, Mapping[str, str]]
VALUED = ("numerical", "boolean", "categorical", "text", "timestamp")  # what can be predicted
VALUE_WORDS = (*VALUED, *(f"timestamp[{unit}]" for unit in UNITS))
TIME_WORDS = (ROW_TIME, *(f"{ROW_TIME}[{unit}]" for unit in UNITS))
BY_CLASS: Mapping[str, SemanticType] = {
    "boolean": "boolean",
    "microseconds": "timestamp",
    "real": "numerical",
    "numeric": "numerical",
    "enum": "categorical",
}


@dataclass(frozen=True, slots=True)
class TargetQuery:
    """Hold one SQL query and what its columns are.

    `key` maps columns of the query to columns of `table`, whose rows they name; `columns` has a word for the other two:
    one is a time, and the other one is the value.
    """

    query: str
    table: str
    key: Mapping[str, str]
    columns: Mapping[str, str]

    @property
    def value(self) -> str:
        """Return the column that has the values."""
        return next(name for name, word in self.columns.items() if word not in TIME_WORDS)

    def words(self) -> dict[str, str]:
        """Return the word of every column."""
        return {**dict.fromkeys(self.key, "identifier"), **self.columns}


@dataclass(frozen=True, slots=True)
class Wishes:
    """Hold what is declared.

    These are words for columns, tables that are left out, policies for keys by their first column, and targets.
    """

    words: Words = field(default_factory=dict)
    leave_out: Sequence[str] = ()
    dangling: Words = field(default_factory=dict)
    targets: Mapping[str, TargetQuery] = field(default_factory=dict)

    def word(self, table: str, column: str) -> str | None:
        """Return what is declared for a column."""
        return self.words.get(table, {}).get(column)

    def policy(self, schema: Schema, place: int) -> str | None:
        """Return what is declared to become of keys, named after the column of that place, that refer to no row."""
        return self.dangling.get(schema.name, {}).get(schema.fields[place].name)


def counted(number: int, unit: str) -> int | None:
    """Return the microseconds of a number of units, None for a year that no calendar has."""
    if unit == "year":
        return microseconds(f"{number:04d}-01-01") if 0 < number < 10_000 else None
    return number // 1_000 if unit == "ns" else number * UNITS[unit]


def judge(schemas: Sequence[Schema], wishes: Wishes) -> None:
    """Refuse declarations of what does not exist, and unknown words."""
    known = {schema.name: {field.name for field in schema.fields} for schema in schemas}
    for said in ({name: {} for name in wishes.leave_out}, wishes.words, wishes.dangling):
        for table, columns in said.items():
            unknown = set(columns) - known[table] if table in known else {table}
            if unknown:
                what = f"declaration must name tables and columns of the file: got {sorted(unknown)} for {table!r}"
                raise refuse("UNKNOWN_TABLE", what)
    for said, allowed, what in ((wishes.words, WORDS, "type"), (wishes.dangling, POLICIES, "policy")):
        unknown = {word for columns in said.values() for word in columns.values()}.difference(allowed)
        if unknown:
            raise refuse("CONTRACT_VIOLATION", f"a {what} must be {', '.join(allowed)}: got {sorted(unknown)}")


def kind_and_unit(word: str) -> tuple[SemanticType, str | None]:
    """Return the semantic type and the unit of a declared word."""
    name, _, unit = word.partition("[")
    return SEMANTIC_TYPES[SEMANTIC_TYPES.index("timestamp" if name == ROW_TIME else name)], unit[:-1] or None


def semantic_types(schema: Schema, wishes: Wishes, columns: Sequence[Stored]) -> list[SemanticType | None]:
    """Return the type of each column, declared or obvious, None where it is in doubt."""
    words = [wishes.word(schema.name, held.name) for held in schema.fields]
    return [
        obvious(schema, held, values) if word is None else kind_and_unit(word)[0]
        for word, held, values in zip(words, schema.fields, columns, strict=True)
    ]


def in_doubt(
    schemas: Iterable[Schema], wishes: Wishes, columns: Mapping[str, Sequence[Stored]]
) -> list[str]:
    """Return every column of these tables whose type is in doubt, with its table."""
    return [
        f"{schema.name}.{held.name}"
        for schema in schemas
        for held, kind in zip(schema.fields, semantic_types(schema, wishes, columns[schema.name]), strict=True)
        if kind is None
    ]


def obvious(schema: Schema, field: Field, values: Stored) -> SemanticType | None:
    """Return the type of a column that nothing is declared for, None where it is in doubt."""
    keyed = {same(name) for key in schema.keys for name in key.columns} | {*map(same, schema.primary_key)}
    if same(field.name) in keyed:
        return "identifier"
    if field.declared == "integer":
        held = values.held()
        bits = held == {INTEGER} and all(np.isin(part.numbers, (0, 1)).all() for part in values.parts())
        return None if bits else "numerical"
    if field.declared not in ("temporal", "text"):
        return BY_CLASS.get(field.declared)
    return _of_texts(field, values)


def _of_texts(field: Field, values: Stored) -> SemanticType | None:
    if values.held() != {TEXT}:
        return None  # empty, or what no such column may hold
    present = values.present()
    texts = [values.words[place] for place in values.used().tolist()]
    if all(microseconds(text) is not None for text in texts):
        return "timestamp"
    if field.declared == "temporal":
        return None
    if len(texts) <= 100 and present >= 10 * len(texts):
        return "categorical"
    wordy = any(" " in text.strip(" ") for text in texts)
    return "text" if wordy and 2 * len(texts) > present else None


def dating_column(schema: Schema, wishes: Wishes, types: Sequence[SemanticType]) -> str | None:
    """Return the column that dates the rows: the declared one, else the only timestamp."""
    names = [field.name for field in schema.fields]
    words = [wishes.word(schema.name, name) or "" for name in names]
    chosen = [name for name, word in zip(names, words, strict=True) if word.partition("[")[0] == ROW_TIME]
    chosen = chosen or [name for name, kind in zip(names, types, strict=True) if kind == "timestamp"]
    if len(chosen) > 1:
        said = f"{schema.name} must have one column that dates its rows: got {chosen}; declare one of them as 'time'"
        raise refuse("CONTRACT_VIOLATION", said)
    return chosen[0] if chosen else None
