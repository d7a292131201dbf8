"""Which rows of each sequence refer to which, for many sequences at once."""

from dataclasses import dataclass

import numpy as np

from impl.vectorized.batch.arrays import Flags, Indices
from impl.vectorized.batch.collect import Rows
from impl.vectorized.batch.flat import Csr


@dataclass(frozen=True, slots=True)
class Edges:
    """Hold keys inside sequences: the sequence, the id that refers and the id referred to."""

    sequence: Indices
    r1: Indices
    r2: Indices
    sequences: int
    most: int  # R

    def matrix(self) -> Flags:
        """Return fk_adj, [B, R, R]."""
        matrix = np.zeros((self.sequences, self.most, self.most), np.bool_)
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
    return Edges(
        sequence[inside], rows.local[run[inside]], rows.local[order[place[inside]]], rows.sequences, rows.most
    )


def edges_in(fk_adj: Flags) -> Edges:
    """Return the true places of fk_adj."""
    sequences, most, _ = fk_adj.shape
    pair, r2 = np.divmod(np.flatnonzero(fk_adj), max(most, 1))
    sequence, r1 = np.divmod(pair, max(most, 1))
    return Edges(sequence, r1, r2, sequences, most)
