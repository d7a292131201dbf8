"""The three masks at the level of cells."""

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags


def masks(
    column_ids: AnyArray, seq_row_ids: AnyArray, is_padding: Flags, fk_adj: Flags
) -> tuple[Flags, Flags, Flags]:
    """Return the column, outbound and inbound masks, bool [B, S, S]."""
    alive = ~is_padding
    both = alive[:, :, None] & alive[:, None, :]
    rows = np.where(alive, seq_row_ids.astype(np.int64), 0)
    line = np.arange(len(rows))[:, None, None]
    refers = fk_adj[line, rows[:, :, None], rows[:, None, :]] if fk_adj.shape[1] else np.zeros_like(both)
    same_row = rows[:, :, None] == rows[:, None, :]
    same_column = column_ids[:, :, None] == column_ids[:, None, :]
    return both & same_column, both & (same_row | refers), both & refers.transpose(0, 2, 1)
