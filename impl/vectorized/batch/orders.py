"""The orders of positions, for many sequences at once."""

from dataclasses import dataclass

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags, Indices
from impl.vectorized.batch.flat import Csr


@dataclass(frozen=True, slots=True)
class Orders:
    """Hold the permutations, uint16 [B, S], and the rows of all sequences end to end in their order."""

    col_perm: AnyArray
    out_perm: AnyArray
    in_perm: AnyArray
    row_order: list[Indices]


def orders(column_ids: AnyArray, seq_row_ids: AnyArray, is_padding: Flags, fk_adj: Flags) -> Orders:
    """Return the orders of each sequence by column and by row."""
    sequences, size = fk_adj.shape[:2]
    rank, row_order = row_ranks(seq_row_ids, is_padding, fk_adj)
    padded = np.where(is_padding, 0, seq_row_ids.astype(np.int64))
    places = rank[np.arange(sequences)[:, None], padded] if size else padded
    out_perm = _sorted(np.where(is_padding, size, places))
    columns = np.unique(column_ids)
    compact = np.searchsorted(columns, column_ids)
    col_perm = _sorted(compact + len(columns) * is_padding)
    return Orders(col_perm, out_perm, out_perm.copy(), row_order)


def _sorted(keys: Indices) -> AnyArray:
    """Return the stable order of each line; a narrow key is sorted by radix."""
    narrow = keys.astype(np.uint16) if keys.max(initial=0) < 1 << 16 else keys
    return np.argsort(narrow, axis=1, kind="stable").astype(np.uint16)


def row_ranks(seq_row_ids: AnyArray, is_padding: Flags, fk_adj: Flags) -> tuple[Indices, list[Indices]]:
    """Return the place of each row in its sequence's reverse Cuthill-McKee order, [B, R], and the orders."""
    sequences, size = fk_adj.shape[:2]
    owners = np.zeros(sequences * size, np.bool_)
    line = np.broadcast_to(np.arange(sequences)[:, None], is_padding.shape)
    owners[(line * size + seq_row_ids)[~is_padding]] = True
    order = _cuthill_mckee(owners, *_neighbours(owners, fk_adj), size)
    sequence = order // max(size, 1)
    order = order[np.argsort(sequence, kind="stable")]
    counts = np.bincount(sequence, minlength=sequences)
    ends = np.cumsum(counts)
    rank = np.zeros(sequences * size, np.int64)
    rank[order] = ends[order // max(size, 1)] - 1 - np.arange(len(order))
    parts = np.split(order % max(size, 1), ends[:-1]) if sequences else []
    return rank.reshape(sequences, size), [part[::-1] for part in parts]


def _neighbours(owners: Flags, fk_adj: Flags) -> tuple[Csr, Indices]:
    """Return each node's neighbours by (degree, id), and the degrees; a node is sequence * R + row."""
    size = fk_adj.shape[1]
    sequence, r1, r2 = np.nonzero(fk_adj)
    one, two = sequence * size + r1, sequence * size + r2
    kept = (one != two) & owners[one] & owners[two]
    one, two = one[kept], two[kept]
    nodes = max(len(owners), 1)
    both = np.unique(np.concatenate([one * nodes + two, two * nodes + one]))
    one, two = np.divmod(both, nodes)
    degree = np.bincount(one, minlength=len(owners))
    by_degree = np.lexsort((two, degree[two], one))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
    return Csr(starts, two[by_degree]), degree


def _cuthill_mckee(owners: Flags, neighbours: Csr, degree: Indices, size: int) -> Indices:
    """Return the nodes in Cuthill-McKee order, which is right inside each sequence; all sequences go level by level.

    A queue served front first is a walk by levels: the next level is the unmarked neighbours of this one in its order,
    each at its first occurrence. Lone rows have the least degree, so they come first, by id.
    """
    nodes = np.flatnonzero(owners)
    lone = nodes[degree[nodes] == 0]
    marked = ~owners
    marked[lone] = True
    levels = [lone]
    waiting = nodes[degree[nodes] > 0]
    waiting = waiting[np.lexsort((waiting, degree[waiting], waiting // max(size, 1)))]
    level = waiting[:0]
    while True:
        busy = np.unique(level // max(size, 1))
        waiting = waiting[~marked[waiting]]
        homes = waiting // max(size, 1)
        first = np.ones(len(waiting), np.bool_)
        first[1:] = homes[1:] != homes[:-1]
        starts = waiting[first & ~np.isin(homes, busy)]
        marked[starts] = True
        level = np.concatenate([level, starts])
        if not len(level):
            return np.concatenate(levels)
        levels.append(level)
        _, ahead = neighbours.expand(level)
        ahead = ahead[~marked[ahead]]
        _, places = np.unique(ahead, return_index=True)
        level = ahead[np.sort(places)]
        marked[level] = True
