"""Batches of one database, built for many seeds at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impl.vectorized.batch.adjacency import Orders, edges_of, orders
from impl.vectorized.batch.arrays import AnyArray, Flags, Indices
from impl.vectorized.batch.collect import Limits, lay_end_to_end, moments
from impl.vectorized.batch.crowd import Crowd
from impl.vectorized.batch.flat import Flat
from impl.vectorized.batch.linearize import Sequences, linearize, remap, text_cells
from impl.vectorized.batch.model import Refused

__all__ = ["Builder", "Limits", "TrainingBatch"]


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """Hold the tensors of a batch as arrays under the seed's names."""

    semantic_types: AnyArray
    column_ids: AnyArray
    seq_row_ids: AnyArray
    is_null: AnyArray
    numeric_values: AnyArray
    timestamp_values: AnyArray
    bool_values: AnyArray
    categorical_embed_ids: AnyArray
    text_embed_ids: AnyArray
    is_target: AnyArray
    is_padding: AnyArray
    fk_adj: AnyArray
    col_perm: AnyArray
    out_perm: AnyArray
    in_perm: AnyArray
    text_batch_embeddings: AnyArray


@dataclass(frozen=True, slots=True)
class Target:
    """Hold where the seed rows and the target cells are."""

    first_row: int
    row_count: int
    position: int | None  # None where the seed rows have no cell


class Builder:
    """Build batches of a flattened database."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat

    def target(self, table: str, column: str) -> Target:
        """Return the place of a task's target; Refused with UNKNOWN_TABLE if there is no such column."""
        for held, first_row in zip(self.flat.tables, self.flat.cells.first_rows, strict=True):
            names = [one.name for one in held.columns]
            if held.name == table and column in names:
                kept = [one.name for one in held.columns if one.semantic_type != "ignored"]
                derived = 0 if kept else None
                return Target(int(first_row), held.row_count, kept.index(column) if column in kept else derived)
        raise Refused("UNKNOWN_TABLE")

    def batch(self, target: Target, rows: Sequence[int], times: Sequence[int | None], limits: Limits) -> TrainingBatch:
        """Return the batch of seed rows of the target's table, each seen at its time in microseconds UTC, or always.

        Raises Refused with CONTRACT_VIOLATION, LIMIT_EXCEEDED, ROW_NOT_FOUND or TARGET_TRUNCATED.
        """
        if not rows:
            raise Refused("CONTRACT_VIOLATION")
        limits.judge()
        if not all(0 <= row < target.row_count for row in rows):
            raise Refused("ROW_NOT_FOUND")
        if target.position is None or target.position >= limits.sequence_length:
            raise Refused("TARGET_TRUNCATED")
        walks = self.collect(target, rows, times, limits)
        collected = lay_end_to_end(walks)
        cells = linearize(self.flat.cells, collected, limits.sequence_length)
        edges = edges_of(self.flat.keys.parents, collected)
        order = orders(cells.column_ids, cells.seq_row_ids, cells.is_padding, edges)
        local, embeddings = self.texts(cells)
        return assemble(cells, target.position, edges.matrix(limits.fixed_rows), order, local, embeddings)

    def collect(
        self, target: Target, rows: Sequence[int], times: Sequence[int | None], limits: Limits
    ) -> list[Indices]:
        """Return the RowIdx that each seed reaches."""
        seeds = np.array(rows, np.int64) + target.first_row
        return Crowd(self.flat.keys, seeds, moments(times), limits).rows()

    def texts(self, cells: Sequences) -> tuple[AnyArray, AnyArray]:
        """Return the batch-local text ids and the embeddings of a batch's cells."""
        found = text_cells(cells.semantic_types, cells.is_null, cells.is_padding)
        return remap(cells.text_embed_ids, found, self.flat.text_embeddings)


def assemble(
    cells: Sequences, position: int, fk_adj: Flags, order: Orders, text_ids: AnyArray, embeddings: AnyArray
) -> TrainingBatch:
    """Return a batch of its parts; the target's cell holds the truth already, a NULL being written as 0."""
    is_target = np.zeros(cells.is_null.shape, np.bool_)
    is_target[:, position] = True
    return TrainingBatch(
        cells.semantic_types, cells.column_ids, cells.seq_row_ids, cells.is_null, cells.numeric_values,
        cells.timestamp_values, cells.bool_values, cells.categorical_embed_ids, text_ids, is_target, cells.is_padding,
        fk_adj, order.col_perm, order.out_perm, order.in_perm, embeddings,
    )  # fmt: skip
