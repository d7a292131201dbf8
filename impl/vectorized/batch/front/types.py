"""The semantic type of each column of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from impl.vectorized.batch.front.schema import Field, Schema, refuse
from impl.vectorized.batch.records import SEMANTIC_TYPES, SemanticType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK = r"(2[0-3]|[01][0-9]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
TIME = re.compile(f"{DATE}([ T]{CLOCK}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?)?")


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


def all_times(values: Iterable[object]) -> bool:
    """Return whether every value is a text that names a time."""
    return all(isinstance(value, str) and microseconds(value) is not None for value in values)


ROW_TIME = "time"  # a timestamp that dates the rows
Declaration = Mapping[str, Mapping[str, str]]
BY_CLASS: Mapping[str, SemanticType] = {
    "boolean": "boolean",
    "microseconds": "timestamp",
    "real": "numerical",
    "numeric": "numerical",
    "enum": "categorical",
}


def judge(schemas: Sequence[Schema], declaration: Declaration) -> None:
    """Refuse declarations and keys of what does not exist, and keys of several columns."""
    known = {schema.name: {field.name for field in schema.fields} for schema in schemas}
    for table, columns in declaration.items():
        unknown = set(columns) - known[table] if table in known else {table}
        if unknown:
            said = f"declaration must name tables and columns of the file: got {sorted(unknown)} for {table!r}"
            raise refuse("UNKNOWN_TABLE", said)
    words = {word for columns in declaration.values() for word in columns.values()}
    if not words <= {*SEMANTIC_TYPES, ROW_TIME}:
        unknown = words - {*SEMANTIC_TYPES, ROW_TIME}
        said = f"a declared type must be {', '.join((*SEMANTIC_TYPES, ROW_TIME))}: got {sorted(unknown)}"
        raise refuse("CONTRACT_VIOLATION", said)
    if any(len(key.columns) > 1 for schema in schemas for key in schema.keys):
        raise refuse("COMPOSITE_KEY", "a foreign key must have one column: got one of several")


def semantic_types(schema: Schema, declared: Mapping[str, str], columns: Sequence[Sequence[Any]]) -> list[SemanticType]:
    """Return the type of each column, declared or obvious; CONTRACT_VIOLATION where it is in doubt."""
    keyed = {schema.column(name) for key in schema.keys for name in key.columns} | set(schema.primary_key)
    types: list[SemanticType] = []
    for field, values in zip(schema.fields, columns, strict=True):
        word = declared.get(field.name)
        found = None
        if word is not None:
            found = SEMANTIC_TYPES[SEMANTIC_TYPES.index("timestamp" if word == ROW_TIME else word)]
        elif field.name in keyed:
            found = "identifier"
        else:
            found = BY_CLASS.get(field.declared) or _by_values(field, [v for v in values if v is not None])
        if found is None:
            said = f"{schema.name}.{field.name} must have a semantic type: got values that leave it in doubt"
            raise refuse("CONTRACT_VIOLATION", f"{said}; declare it")
        types.append(found)
    return types


def _by_values(field: Field, values: Sequence[Any]) -> SemanticType | None:
    if field.declared == "integer":
        return None if values and {0, 1}.issuperset(values) else "numerical"
    if field.declared not in ("temporal", "text"):
        return None
    if values and all_times(values):
        return "timestamp"
    if field.declared == "temporal" or not values:
        return None
    distinct = len(set(values))
    if distinct <= 100 and len(values) >= 10 * distinct:
        return "categorical"
    wordy = any(" " in value.strip() for value in values if isinstance(value, str))
    return "text" if wordy and 2 * distinct > len(values) else None


def dating_column(schema: Schema, declared: Mapping[str, str], types: Sequence[SemanticType]) -> str | None:
    """Return the column that dates the rows: the declared one, else the only timestamp."""
    chosen = [field.name for field in schema.fields if declared.get(field.name) == ROW_TIME]
    chosen = chosen or [field.name for field, kind in zip(schema.fields, types, strict=True) if kind == "timestamp"]
    if len(chosen) > 1:
        said = f"{schema.name} must have one column that dates its rows: got {chosen}; declare one of them as 'time'"
        raise refuse("CONTRACT_VIOLATION", said)
    return chosen[0] if chosen else None
