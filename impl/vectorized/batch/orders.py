"""The orders of positions, for many sequences at once."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from impl.vectorized.batch.adjacency import Edges
from impl.vectorized.batch.arrays import AnyArray, Flags, Indices, first_of_run, first_places
from impl.vectorized.batch.flat import Csr

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
