"""Which rows of each sequence refer to which, for many sequences at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags, Indices
from impl.vectorized.batch.collect import Rows
from impl.vectorized.batch.flat import Csr


def masks(column_ids: AnyArray, seq_row_ids: AnyArray, is_padding: Flags, fk_adj: Flags) -> tuple[Flags, Flags, Flags]:
    """Return the column, outbound and inbound masks, bool [B, S, S]."""
    alive = ~is_padding
    both = alive[:, :, None] & alive[:, None, :]
    rows = np.where(alive, seq_row_ids.astype(np.int64), 0)
    line = np.arange(len(rows))[:, None, None]
    refers = fk_adj[line, rows[:, :, None], rows[:, None, :]] if fk_adj.shape[1] else np.zeros_like(both)
    same_row = rows[:, :, None] == rows[:, None, :]
    same_column = column_ids[:, :, None] == column_ids[:, None, :]
    return both & same_column, both & (same_row | refers), both & refers.transpose(0, 2, 1)


@dataclass(frozen=True, slots=True)
class Edges:
    """Hold keys inside sequences: the sequence, the id that refers and the id referred to."""

    sequence: Indices
    r1: Indices
    r2: Indices
    sequences: int
    most: int  # R

    def matrix(self, fixed_rows: int | None = None) -> Flags:
        """Return fk_adj, [B, R, R], R being the most rows of a sequence, or fixed."""
        rows = self.most if fixed_rows is None else fixed_rows
        matrix = np.zeros((self.sequences, rows, rows), np.bool_)
        matrix[self.sequence, self.r1, self.r2] = True
        return matrix


def edges_of(parents: Csr, rows: Rows) -> Edges:
    """Return the keys inside each sequence."""
    run, parent = parents.expand(rows.row)
    span = np.int64(len(parents.starts))
    held = rows.sequence * span + rows.row
    order = np.argsort(held)
    held = held[order]
    sequence = rows.sequence[run]
    wanted = sequence * span + parent
    place = np.minimum(np.searchsorted(held, wanted), max(len(held) - 1, 0))
    inside = held[place] == wanted
    return Edges(sequence[inside], rows.local[run[inside]], rows.local[order[place[inside]]], rows.sequences, rows.most)


def edges_in(fk_adj: Flags) -> Edges:
    """Return the true places of fk_adj."""
    sequences, most, _ = fk_adj.shape
    pair, r2 = np.divmod(np.flatnonzero(fk_adj), max(most, 1))
    sequence, r1 = np.divmod(pair, max(most, 1))
    return Edges(sequence, r1, r2, sequences, most)
