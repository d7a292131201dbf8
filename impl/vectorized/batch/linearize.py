"""The cells of many sequences at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impl.vectorized.batch.arrays import WIDTH, AnyArray, Flags, Indices, Singles, cyclic, scores
from impl.vectorized.batch.collect import Rows
from impl.vectorized.batch.flat import BOOLEAN, CATEGORICAL, NUMERICAL, TEXT, TIMESTAMP, Cells
from impl.vectorized.batch.model import Refused


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


@dataclass(frozen=True, slots=True)
class Sequences:
    """Hold the cell tensors of a batch, [B, S] or [B, S, 15]; text ids are global."""

    semantic_types: AnyArray
    column_ids: AnyArray
    seq_row_ids: AnyArray
    is_null: Flags
    numeric_values: Singles
    timestamp_values: Singles
    bool_values: Flags
    categorical_embed_ids: AnyArray
    text_embed_ids: AnyArray
    is_padding: Flags


def linearize(cells: Cells, rows: Rows, length: int) -> Sequences:
    """Return the cells of each sequence's rows, row by row, cut or padded to a length."""
    tables = cells.tables_of(rows.row)
    run, column = cells.columns.expand(tables)
    sequence = rows.sequence[run]
    # Cells of earlier sequences are before the first cell of this one.
    starts = np.searchsorted(sequence, np.arange(rows.sequences))
    position = np.arange(len(sequence)) - starts[sequence]
    kept = position < length
    run, column = run[kept], column[kept]
    at = sequence[kept] * length + position[kept]

    size = rows.sequences * length
    codes = cells.codes[column]
    address = cells.base[column] + rows.row[run]
    words = np.zeros(size, np.uint32)
    words[at] = cells.words[address]
    types = np.zeros(size, np.int8)
    types[at] = codes
    column_ids = np.zeros(size, np.int32)
    column_ids[at] = column
    local = np.zeros(size, np.uint16)
    local[at] = rows.local[run]
    is_null = np.zeros(size, np.bool_)
    is_null[at] = cells.nulls[address]
    padding = np.ones(size, np.bool_)
    padding[at] = False

    shape = (rows.sequences, length)
    return Sequences(
        types.reshape(shape),
        column_ids.reshape(shape),
        local.reshape(shape),
        is_null.reshape(shape),
        (words * (types == NUMERICAL)).view(np.float32).reshape(shape),
        _stamps(cells, rows, run, column, codes == TIMESTAMP, at, is_null).reshape(*shape, WIDTH),
        ((words != 0) & (types == BOOLEAN)).reshape(shape),
        (words * (types == CATEGORICAL)).reshape(shape),
        (words * (types == TEXT)).reshape(shape),
        padding.reshape(shape),
    )


def _stamps(
    cells: Cells, rows: Rows, run: AnyArray, column: AnyArray, dated: Flags, at: AnyArray, is_null: Flags
) -> Singles:
    stamps = np.zeros((len(is_null), WIDTH), np.float32)
    some = np.flatnonzero(dated & ~is_null[at])
    columns = column[some]
    times = cells.stamps[cells.stamp_base[columns] + rows.row[run[some]]]
    numbers = np.empty((len(some), WIDTH), np.float32)
    numbers[:, :-1] = cyclic(times)
    numbers[:, -1] = scores(times, cells.means[columns], cells.deviations[columns])
    stamps[at[some]] = numbers
    return stamps
