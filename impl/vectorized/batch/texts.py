"""The texts of a batch under dense ids."""

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags, Indices
from impl.vectorized.batch.faults import Refused
from impl.vectorized.batch.flat import TEXT


def remap(global_ids: AnyArray, is_text: Flags, table: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the batch-local ids, uint32 [B, S], and the rows of the table they index; linear in the cells."""
    local = np.zeros(global_ids.shape, np.uint32)
    texts: Indices = global_ids[is_text].astype(np.int64)
    if texts.max(initial=-1) >= len(table):
        raise Refused("CONTRACT_VIOLATION")
    places = np.arange(len(texts))
    # Written back to front, so that the first appearance stays; nothing else in the array is ever read.
    first = np.empty(len(table), np.int64)
    first[texts[::-1]] = places[::-1]
    appearance = first[texts]
    fresh = appearance == places
    ids = np.cumsum(fresh) - 1
    local[is_text] = ids[appearance]
    return local, np.ascontiguousarray(table[texts[fresh]])


def text_cells(semantic_types: AnyArray, is_null: Flags, is_padding: Flags) -> Flags:
    """Return which positions refer to a text."""
    found: Flags = (semantic_types == TEXT) & ~is_null & ~is_padding
    return found
