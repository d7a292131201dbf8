"""Targets of a query: rows of their own, each with a key to a row of a table, a time and a value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from impl.failure import ContractFailure
from impl.vectorized.batch.front.schema import Asked, Link, Schema, refuse, same
from impl.vectorized.batch.front.stored import Stored
from impl.vectorized.batch.front.types import TIME_WORDS, VALUE_WORDS, TargetQuery

_SKIPPED = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_READING = ("SELECT", "WITH", "VALUES", "FROM")


def judge_queries(schemas: Sequence[Schema], left_out: Sequence[str], queries: Mapping[str, TargetQuery]) -> None:
    """Refuse targets whose name is taken, whose words do not fit, or of tables and columns that there are not."""
    known = {schema.name: schema for schema in schemas if schema.name not in left_out}
    taken = {same(schema.name) for schema in schemas}
    for name, asked in queries.items():
        said = f"targets {name!r} must"
        if same(name) in taken:
            raise refuse("CONTRACT_VIOLATION", f"{said} have a name that no table has: got that of a table")
        words = list(asked.columns.values())
        times = [word for word in words if word in TIME_WORDS]
        values = [word for word in words if word in VALUE_WORDS]
        if len(words) != 2 or len(times) != 1 or len(values) != 1 or set(asked.key) & set(asked.columns):
            allowed = f"a time ({', '.join(TIME_WORDS)}) and a value ({', '.join(VALUE_WORDS)})"
            raise refuse("CONTRACT_VIOLATION", f"{said} have two columns besides the key, {allowed}: got {words}")
        if not asked.key:
            raise refuse("CONTRACT_VIOLATION", f"{said} have a key: got none; write which column names a row")
        if asked.table not in known:
            raise refuse("UNKNOWN_TABLE", f"{said} be of a table that is read: got {asked.table!r}")
        unknown = [column for column in asked.key.values() if known[asked.table].place(column) < 0]
        if unknown:
            raise refuse("UNKNOWN_TABLE", f"{said} refer to columns of {asked.table}: got {unknown}")
        taken.add(same(name))
        judge_text(name, asked.query)


def judge_text(name: str, query: str) -> None:
    """Refuse what does not begin as a query that reads; the file refuses everything else that writes."""
    begun = _SKIPPED.match(query)
    first = re.match(r"\(*\s*([A-Za-z]*)", query[begun.end() if begun else 0 :])
    word = first[1].upper() if first else ""
    if word not in _READING:
        raise bad_query(name, f"{word or 'none'}, which is no SELECT")


def bad_query(name: str, why: object) -> ContractFailure:
    """Return the refusal of a query."""
    return refuse("CONTRACT_VIOLATION", f"targets {name!r} must have one query that only reads: got {why}")


def schema_of(name: str, wanted: TargetQuery, asked: Asked) -> Schema:
    """Return the table that a query makes; UNKNOWN_TABLE where its columns are not those that are declared."""
    found, declared = [held.name for held in asked.fields], wanted.words()
    if sorted(found) != sorted(declared):
        said = f"targets {name!r} must have a query with exactly the declared columns {', '.join(declared)}"
        raise refuse("UNKNOWN_TABLE", f"{said}: got {', '.join(found) or 'none'}")
    return Schema(name, asked.fields, [], [], "", asked=True)


def link_of_targets(schema: Schema, wanted: TargetQuery, other: Schema) -> Link:
    """Return the key from the targets to the table."""
    places = {held.name: place for place, held in enumerate(schema.fields)}
    own = tuple(places[column] for column in wanted.key)
    return Link(schema.name, own, other.name, tuple(map(other.place, wanted.key.values())), "refuse", False)


def judge_nulls(schema: Schema, wanted: TargetQuery, columns: Sequence[Stored]) -> None:
    """Refuse NULL in a key or a time; a value may be NULL, which the model has to predict."""
    for held, stored in zip(schema.fields, columns, strict=True):
        if held.name != wanted.value and stored.nulls.any():
            said = f"{schema.name}.{held.name} must have no NULL: got {int(stored.nulls.sum())} in {len(stored)} rows"
            raise refuse("CONTRACT_VIOLATION", f"{said}; leave them out in the query")
