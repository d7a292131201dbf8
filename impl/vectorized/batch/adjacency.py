"""Which rows of each sequence refer to which, and the orders of positions that follow, for many sequences at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags, Indices, first_of_run, first_places
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


HALF: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class Orders:
    """Hold the permutations, uint16 [B, S], and the rows of all sequences end to end in their order."""

    col_perm: AnyArray
    out_perm: AnyArray
    in_perm: AnyArray
    row_order: list[Indices]


def orders(column_ids: AnyArray, seq_row_ids: AnyArray, is_padding: Flags, edges: Edges) -> Orders:
    """Return the orders of each sequence by column and by row."""
    rank, row_order = _row_ranks(seq_row_ids, is_padding, edges)
    # Padding may name any row; one more rank behind each sequence's represents it.
    rank = np.concatenate([rank, np.full((edges.sequences, 1), edges.most)], axis=1)
    row = np.where(is_padding, edges.most, seq_row_ids.astype(np.int64))
    out_perm = _sorted(np.take_along_axis(rank, row, axis=1))
    columns = _compact(column_ids)
    col_perm = _sorted(columns + (HALF if columns.max(initial=0) < HALF else columns.size) * is_padding)
    return Orders(col_perm, out_perm, out_perm.copy(), row_order)


def _compact(column_ids: AnyArray) -> Indices:
    """Return the column ids, or numbers in the same order, as numbers from 0; those of a database mostly are small."""
    if column_ids.min(initial=0) >= 0 and column_ids.max(initial=0) < HALF:
        return column_ids.astype(np.int64)
    return np.searchsorted(np.sort(column_ids, axis=None), column_ids)


def _sorted(keys: Indices) -> AnyArray:
    """Return the stable order of each line; a narrow key is sorted by radix."""
    narrow = keys.astype(np.uint16) if keys.max(initial=0) < 2 * HALF else keys
    return np.argsort(narrow, axis=1, kind="stable").astype(np.uint16)


def _row_ranks(seq_row_ids: AnyArray, is_padding: Flags, edges: Edges) -> tuple[Indices, list[Indices]]:
    """Return the place of each row in its sequence's reverse Cuthill-McKee order, [B, R], and the orders."""
    sequences, size = edges.sequences, edges.most
    owners = np.zeros((sequences, size), np.bool_)
    line = np.broadcast_to(np.arange(sequences)[:, None], is_padding.shape)
    owners[line[~is_padding], seq_row_ids[~is_padding]] = True
    order = _cuthill_mckee(owners.ravel(), edges)
    sequence = order // max(size, 1)
    in_sequence = np.argsort(sequence, kind="stable")
    order, sequence = order[in_sequence], sequence[in_sequence]
    ends = np.cumsum(np.bincount(sequence, minlength=sequences))
    rank = np.zeros(sequences * size, np.int64)
    rank[order] = ends[sequence] - 1 - np.arange(len(order))
    parts = np.split(order - sequence * size, ends[:-1]) if sequences else []
    return rank.reshape(sequences, size), [part[::-1] for part in parts]


def _neighbours(owners: Flags, edges: Edges) -> tuple[Csr, Indices]:
    """Return each node's neighbours by (degree, id), and the degrees; a node is sequence * R + row."""
    one, two = edges.sequence * edges.most + edges.r1, edges.sequence * edges.most + edges.r2
    kept = (one != two) & owners[one] & owners[two]
    one, two = one[kept], two[kept]
    nodes = max(len(owners), 1)
    both = np.sort(np.concatenate([one * nodes + two, two * nodes + one]))
    one, two = np.divmod(both[first_of_run(both)], nodes)
    degree = np.bincount(one, minlength=len(owners))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
    # The pairs ascend by node and neighbour, and stay so where degrees are equal.
    by_degree = np.argsort(one * nodes + degree[two], kind="stable")
    return Csr(starts, two[by_degree]), degree


def _cuthill_mckee(owners: Flags, edges: Edges) -> Indices:
    """Return the nodes in Cuthill-McKee order, which is right inside each sequence; all sequences go level by level.

    A queue served front first is a walk by levels: the next level is the unmarked neighbours of this one in its order,
    each at its first occurrence. Lone rows have the least degree, so they come first, by id.
    """
    neighbours, degree = _neighbours(owners, edges)
    size = max(edges.most, 1)
    nodes = np.flatnonzero(owners)
    lone = nodes[degree[nodes] == 0]
    marked = ~owners
    marked[lone] = True
    levels = [lone]
    waiting = nodes[degree[nodes] > 0]
    home = waiting // size
    waiting = waiting[np.argsort(home * len(owners) + degree[waiting], kind="stable")]
    level = waiting[:0]
    idle = np.ones(edges.sequences, np.bool_)
    while True:
        # A sequence whose queue is empty goes on with the first of its waiting rows.
        if idle.any() and len(waiting):
            waiting = waiting[~marked[waiting]]
            homes = waiting // size
            starts = waiting[first_of_run(homes) & idle[homes]]
            marked[starts] = True
            level = np.concatenate([level, starts])
        if not len(level):
            return np.concatenate(levels)
        levels.append(level)
        _, ahead = neighbours.expand(level)
        ahead = ahead[~marked[ahead]]
        level = ahead[np.sort(first_places(ahead))]
        marked[level] = True
        idle = np.ones(edges.sequences, np.bool_)
        idle[level // size] = False
