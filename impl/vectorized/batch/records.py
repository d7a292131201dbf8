"""The structs of the batch operators, as the contracts name them."""

from dataclasses import dataclass
from typing import Literal

from impl.types import Tensor, float64, int64, uint32, uint64

SemanticType = Literal["identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored"]
SEMANTIC_TYPES: tuple[SemanticType, ...] = (
    "identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Hold one column; shapes are (row_count,)."""

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
    """Hold the row of the other table that each row refers to; -1 for NULL."""

    column: str
    table: str
    rows: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Hold one table."""

    name: str
    row_count: uint64
    time_column: str | None = None
    columns: list[Column]
    foreign_keys: list[ForeignKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """Hold the tables and the text embeddings, shape (texts, D_t)."""

    tables: list[Table]
    text_embeddings: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRow:
    """Hold the keys, the time and the number of cells of a row."""

    parents: list[int64]
    time: int64 | None = None
    cells: uint32


@dataclass(frozen=True, slots=True)
class GraphSeed:
    """Name a row by its RowIdx and the time it is looked at."""

    row: uint64
    time: int64 | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Name the column that is predicted."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Seed:
    """Name a row of the task's table, the time it is looked at and its task."""

    row: uint64
    time: int64 | None = None
    task: Task | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Hold the limits of a sequence."""

    sequence_length: uint32
    max_hops: uint32 | None = None
    max_rows: uint32 | None = None
    child_width: uint32 | None = None
    children_seed: uint64 | None = None
    fixed_rows: uint32 | None = None
    cutoff: Literal["children", "strict"]


@dataclass(frozen=True, slots=True)
class GraphRows:
    """Hold the rows of a database by RowIdx."""

    rows: list[GraphRow]


@dataclass(frozen=True, slots=True)
class Collected:
    """Hold the RowIdx of each sequence's rows and their hops."""

    row_ids: list[list[uint64]]
    hops: list[list[uint32]]


@dataclass(frozen=True, slots=True)
class CellTensors:
    """Hold the cell tensors, [B, S] or [B, S, 15]; text ids are global."""

    semantic_types: Tensor
    column_ids: Tensor
    seq_row_ids: Tensor
    is_null: Tensor
    numeric_values: Tensor
    timestamp_values: Tensor
    bool_values: Tensor
    categorical_embed_ids: Tensor
    text_embed_ids: Tensor
    is_padding: Tensor


@dataclass(frozen=True, slots=True)
class AdjacencyTensor:
    """Hold fk_adj, [B, R, R]."""

    fk_adj: Tensor


@dataclass(frozen=True, slots=True)
class PermutationTensors:
    """Hold the permutations, [B, S], and the order of the rows."""

    col_perm: Tensor
    out_perm: Tensor
    in_perm: Tensor
    row_order: list[list[uint32]]


@dataclass(frozen=True, slots=True)
class TextTensors:
    """Hold batch-local text ids, [B, S], and their embeddings, [U, D_t]."""

    text_embed_ids: Tensor
    text_batch_embeddings: Tensor


@dataclass(frozen=True, slots=True)
class MaskTensors:
    """Hold the masks, [B, S, S]."""

    column_mask: Tensor
    outbound_mask: Tensor
    inbound_mask: Tensor


@dataclass(frozen=True, slots=True)
class BatchTensors:
    """Hold a whole batch under the seed's names."""

    semantic_types: Tensor
    column_ids: Tensor
    seq_row_ids: Tensor
    is_null: Tensor
    numeric_values: Tensor
    timestamp_values: Tensor
    bool_values: Tensor
    categorical_embed_ids: Tensor
    text_embed_ids: Tensor
    is_target: Tensor
    is_padding: Tensor
    fk_adj: Tensor
    col_perm: Tensor
    out_perm: Tensor
    in_perm: Tensor
    text_batch_embeddings: Tensor


@dataclass(frozen=True, slots=True)
class Loaded:
    """Hold a database read from a file."""

    database: Database
