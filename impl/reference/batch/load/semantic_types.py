"""Which semantic type a column has: declared, obvious, or an error."""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from impl.reference.batch.database import SemanticType
from impl.reference.batch.load.iso_time import parse_time
from impl.reference.batch.load.refusal import refusal
from impl.reference.batch.load.source import SourceTable, Stored

Declaration = Mapping[str, Mapping[str, str]]

# What a declaration may say: a semantic type, or `time` for the timestamp that dates the table's rows.
TIME: Final = "time"
WORDS: Final = frozenset((*get_args(SemanticType), TIME))
MOST_CATEGORIES: Final = 100
LEAST_REPEATS: Final = 10


def check_declaration(tables: Sequence[SourceTable], declaration: Declaration) -> None:
    """Refuse a declaration of what does not exist (UNKNOWN_TABLE), or with other words (CONTRACT_VIOLATION)."""
    held = {table.name: {column.name for column in table.columns} for table in tables}
    for table, columns in declaration.items():
        if table not in held:
            raise refusal("UNKNOWN_TABLE", f"the declaration names a table {table!r}")
        for column in columns:
            if column not in held[table]:
                raise refusal("UNKNOWN_TABLE", f"the declaration names a column {column!r} of table {table!r}")
    for table, columns in declaration.items():
        for column, word in columns.items():
            if word not in WORDS:
                raise refusal("CONTRACT_VIOLATION", f"{table}.{column}: {word!r} is none of {sorted(WORDS)}")


def resolve_types(table: SourceTable, declared: Mapping[str, str]) -> list[SemanticType]:
    """Return the semantic type of each column; CONTRACT_VIOLATION where it is in doubt."""
    types: list[SemanticType] = []
    for place, column in enumerate(table.columns):
        word = declared.get(column.name)
        if word is None:
            found = obvious_type(table, place)
            if found is None:
                raise refusal("CONTRACT_VIOLATION", f"{table.name}.{column.name}: the semantic type must be declared")
            types.append(found)
        else:
            types.append("timestamp" if word == TIME else semantic_type(word))
    return types


def semantic_type(word: str) -> SemanticType:
    """Return a checked word as a semantic type."""
    return next(kind for kind in get_args(SemanticType) if kind == word)


def time_column(table: SourceTable, types: Sequence[SemanticType], declared: Mapping[str, str]) -> str | None:
    """Return the column that dates the rows: the one declared `time`, else the only timestamp.

    Several declared, or several timestamps and none declared, are CONTRACT_VIOLATION.
    """
    named = [column.name for column in table.columns if declared.get(column.name) == TIME]
    pairs = zip(table.columns, types, strict=True)
    stamps = named or [column.name for column, kind in pairs if kind == "timestamp"]
    if len(stamps) > 1:
        raise refusal("CONTRACT_VIOLATION", f"{table.name}: which of {stamps} dates the rows must be declared")
    return stamps[0] if stamps else None


def obvious_type(table: SourceTable, place: int) -> SemanticType | None:
    """Return the type of a column that nobody declared, None where it is in doubt."""
    column = table.columns[place]
    keys = {table.place(name) for key in table.foreign_keys for name in key.columns}
    if column.name in table.primary_key or place in keys:
        return "identifier"
    values = [value for value in table.values(place) if value is not None]
    match column.kind:
        case "boolean":
            return "boolean"
        case "microseconds":
            return "timestamp"
        case "real" | "numeric":
            return "numerical"
        case "enum":
            return "categorical"
        case "integer":
            # Nothing but 0 and 1 may as well be a boolean.
            return None if values and set(values) <= {0, 1} else "numerical"
        case "temporal":
            return "timestamp" if are_times(values) else None
        case "text":
            return "timestamp" if are_times(values) else obvious_text(values)
    return None


def are_times(values: Sequence[Stored]) -> bool:
    """Return whether there are values and all are dates or times in ISO 8601."""
    return bool(values) and all(isinstance(value, str) and parse_time(value) is not None for value in values)


def obvious_text(values: Sequence[Stored]) -> SemanticType | None:
    """Return whether texts are categories, few and often repeated, or prose, mostly different and of several words."""
    distinct = len(set(values))
    if 0 < distinct <= MOST_CATEGORIES and len(values) >= LEAST_REPEATS * distinct:
        return "categorical"
    if 2 * distinct > len(values) and any(isinstance(value, str) and " " in value.strip() for value in values):
        return "text"
    return None
