"""Which rows of each sequence refer to which, for many sequences at once."""

from typing import Final

import numpy as np

from impl.vectorized.batch.arrays import Flags, Indices
from impl.vectorized.batch.collect import Rows
from impl.vectorized.batch.flat import Csr

ONE: Final = np.int64(1)


def edges(parents: Csr, rows: Rows) -> tuple[Indices, Indices, Indices]:
    """Return the keys inside each sequence: the sequence, the id that refers and the id referred to."""
    run, parent = parents.expand(rows.row)
    span = np.int64(len(parents.starts))
    held = rows.sequence * span + rows.row
    order = np.argsort(held, kind="stable")
    wanted = rows.sequence[run] * span + parent
    place = np.searchsorted(held, wanted, sorter=order)
    candidate = order[np.minimum(place, len(order) - 1)] if len(order) else place
    inside = held[candidate] == wanted
    return rows.sequence[run][inside], rows.local[run][inside], rows.local[candidate][inside]


def adjacency(parents: Csr, rows: Rows) -> Flags:
    """Return fk_adj, [B, R, R]."""
    matrix = np.zeros((rows.sequences, rows.most, rows.most), np.bool_)
    matrix[edges(parents, rows)] = True
    return matrix
