"""The database of a batch: tables, columns and keys, column by column."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from impl.types import Tensor, float64, uint32, uint64

SemanticType = Literal["identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored"]

# Requirement B42.
CODES: Final[Mapping[SemanticType, int]] = {
    "identifier": 0,
    "numerical": 1,
    "timestamp": 2,
    "boolean": 3,
    "categorical": 4,
    "text": 5,
    "ignored": 6,
}

# The dtype of a column's values.
DTYPES: Final[Mapping[SemanticType, str]] = {
    "identifier": "int64",
    "numerical": "float64",
    "timestamp": "int64",
    "boolean": "bool",
    "categorical": "uint32",
    "text": "uint32",
    "ignored": "uint8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Hold one column: values and is_null have shape (row_count,); a value at a NULL means nothing.

    A timestamp is in microseconds UTC, a categorical value is an index into `categories`, a text value is a row of the
    database's text_embeddings. Numerical and timestamp columns have mean and deviation; categorical ones have
    cat_emb_start and categories.
    """

    name: str
    semantic_type: SemanticType
    values: Tensor
    is_null: Tensor
    mean: float64 | None = None
    deviation: float64 | None = None
    cat_emb_start: uint32 | None = None
    categories: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """Say for every row of the table which row of the named table its column refers to; -1 stands for NULL."""

    column: str
    table: str
    rows: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Hold one table; the time column, where there is one, dates its rows."""

    name: str
    row_count: uint64
    time_column: str | None = None
    columns: list[Column]
    foreign_keys: list[ForeignKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """Hold the tables, in any order, and the text embeddings, shape (texts, D_t)."""

    tables: list[Table]
    text_embeddings: Tensor
