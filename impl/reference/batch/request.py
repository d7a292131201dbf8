"""What a batch is asked for: a task, seeds and limits."""

from dataclasses import dataclass
from typing import Final, Literal

from impl.types import int64, uint32, uint64

MAX_SEQUENCE_LENGTH: Final = 65_536
MAX_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True)
class Task:
    """Name the column that is predicted."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Seed:
    """Name a row of the task's table, the time it is looked at in microseconds UTC, and the task it belongs to."""

    row: uint64
    time: int64 | None = None
    task: Task | None = None


@dataclass(frozen=True, slots=True)
class GraphSeed:
    """Name a row by its RowIdx, and the time it is looked at in microseconds UTC."""

    row: uint64
    time: int64 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Hold the limits of a sequence; an absent one does not limit (rulings BA04, BA05, BA06).

    `children_seed` orders the children of each parent by a hash, `fixed_rows` is R of every batch (rulings BA36, BA37).
    """

    sequence_length: uint32
    max_hops: uint32 | None = None
    max_rows: uint32 | None = None
    child_width: uint32 | None = None
    children_seed: uint64 | None = None
    fixed_rows: uint32 | None = None
    cutoff: Literal["children", "strict"]


def length_fault(sequence_length: int) -> str | None:
    """Return the code that refuses a sequence length, None where it is accepted (ruling BA28)."""
    if sequence_length == 0:
        return "CONTRACT_VIOLATION"
    if sequence_length > MAX_SEQUENCE_LENGTH:
        return "LIMIT_EXCEEDED"
    return None


def sequences_fault(row_count: int, row_ids: list[list[int]]) -> str | None:
    """Return the code that refuses the rows of sequences, None where they are accepted (B11, BA28)."""
    if any(row >= row_count for ids in row_ids for row in ids):
        return "ROW_NOT_FOUND"
    if any(len(set(ids)) != len(ids) for ids in row_ids):
        return "CONTRACT_VIOLATION"
    if any(len(ids) > MAX_ROWS for ids in row_ids):
        return "LIMIT_EXCEEDED"
    return None


def config_fault(config: Config) -> str | None:
    """Return the code that refuses the limits, None where they are accepted."""
    fault = length_fault(config.sequence_length)
    if fault is not None:
        return fault
    if config.max_rows == 0:
        return "CONTRACT_VIOLATION"
    if config.fixed_rows == 0:
        return "CONTRACT_VIOLATION"
    if config.fixed_rows is not None and config.fixed_rows > MAX_ROWS:
        return "LIMIT_EXCEEDED"
    return None
