"""The cells of many sequences at once."""

from dataclasses import dataclass

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Flags, Singles
from impl.vectorized.batch.collect import Rows
from impl.vectorized.batch.flat import BOOLEAN, CATEGORICAL, NUMERICAL, TEXT, TIMESTAMP, Cells
from impl.vectorized.batch.scores import WIDTH, cyclic, scores


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
    # Cells of earlier sequences stand before the first cell of this one.
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
