"""What a declaration says, and the semantic type of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from impl.reference.batch.database import SemanticType
from impl.reference.batch.load.columns import UNITS, parse_time
from impl.reference.batch.load.source import SourceTable, Stored, refusal

# What a declaration may say: a semantic type, or `time` for the timestamp that dates the table's rows; both times with
# the unit of what is stored as an integer.
TIME: Final = "time"
STAMPS: Final = ("timestamp", TIME)
WORDS: Final = frozenset((*get_args(SemanticType), TIME, *(f"{stamp}[{unit}]" for stamp in STAMPS for unit in UNITS)))
# What becomes of a key that refers to no row: the file is refused, the key is NULL, or its row is left out.
POLICIES: Final = ("refuse", "null", "drop")
MOST_CATEGORIES: Final = 100
LEAST_REPEATS: Final = 10


@dataclass(frozen=True, slots=True)
class Declaration:
    """Hold a word for columns of tables, the tables that are left out, and a policy for keys by their first column."""

    words: Mapping[str, Mapping[str, str]]
    left_out: Sequence[str]
    dangling: Mapping[str, Mapping[str, str]]

    def word(self, table: str, column: str) -> str | None:
        """Return the word of a column, or None if it has none."""
        return self.words.get(table, {}).get(column)

    def policy(self, table: str, column: str, ignored: bool) -> str:
        """Return what becomes of keys, named after this column, that refer to no row."""
        return self.dangling.get(table, {}).get(column, "null" if ignored else "refuse")


def check_declaration(tables: Sequence[SourceTable], declaration: Declaration) -> None:
    """Refuse a declaration of what does not exist (UNKNOWN_TABLE), or with other words (CONTRACT_VIOLATION)."""
    held = {table.name: {column.name for column in table.columns} for table in tables}
    for name in declaration.left_out:
        if name not in held:
            raise refusal("UNKNOWN_TABLE", f"the declaration leaves out a table {name!r}")
    for said in (declaration.words, declaration.dangling):
        for table, columns in said.items():
            if table not in held:
                raise refusal("UNKNOWN_TABLE", f"the declaration names a table {table!r}")
            for column in columns:
                if column not in held[table]:
                    raise refusal("UNKNOWN_TABLE", f"the declaration names a column {column!r} of table {table!r}")
    for said, allowed in ((declaration.words, WORDS), (declaration.dangling, POLICIES)):
        for table, columns in said.items():
            for column, word in columns.items():
                if word not in allowed:
                    raise refusal("CONTRACT_VIOLATION", f"{table}.{column}: {word!r} is none of {sorted(allowed)}")


def resolve_types(table: SourceTable, declaration: Declaration) -> list[SemanticType]:
    """Return the semantic type of each column; CONTRACT_VIOLATION where it is in doubt."""
    types: list[SemanticType] = []
    for place, column in enumerate(table.columns):
        word = declaration.word(table.name, column.name)
        if word is None:
            found = obvious_type(table, place)
            if found is None:
                raise refusal("CONTRACT_VIOLATION", f"{table.name}.{column.name}: the semantic type must be declared")
            types.append(found)
        else:
            types.append(semantic_type(word))
    return types


def semantic_type(word: str) -> SemanticType:
    """Return the semantic type that a checked word means."""
    name = word.partition("[")[0]
    return next(kind for kind in get_args(SemanticType) if kind == ("timestamp" if name == TIME else name))


def unit_of(word: str | None) -> str | None:
    """Return the unit that a checked word names, None where it names none."""
    return None if word is None else word.partition("[")[2].removesuffix("]") or None


def time_column(table: SourceTable, types: Sequence[SemanticType], declaration: Declaration) -> str | None:
    """Return the column that dates the rows: the one declared `time`, else the only timestamp.

    Several declared, or several timestamps and none declared, are CONTRACT_VIOLATION.
    """
    words = {column.name: declaration.word(table.name, column.name) or "" for column in table.columns}
    named = [column for column, word in words.items() if word.partition("[")[0] == TIME]
    pairs = zip(table.columns, types, strict=True)
    stamps = named or [column.name for column, kind in pairs if kind == "timestamp"]
    if len(stamps) > 1:
        raise refusal("CONTRACT_VIOLATION", f"{table.name}: which of {stamps} dates the rows must be declared")
    return stamps[0] if stamps else None


def obvious_type(table: SourceTable, place: int) -> SemanticType | None:
    """Return the type of a column without a declaration, None where it is in doubt."""
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
    if 2 * distinct > len(values) and any(isinstance(value, str) and " " in value.strip(" ") for value in values):
        return "text"
    return None
