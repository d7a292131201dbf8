"""A database flattened for gathering: one word and one flag per cell, keys as CSR in both directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Codes, Flags, Indices, Singles, Words, scores, spread
from impl.vectorized.batch.model import Column, Database, Table
from impl.vectorized.batch.records import SEMANTIC_TYPES

ALWAYS: Final = np.iinfo(np.int64).min  # the time of a row that has none: before every cutoff
IDENTIFIER, NUMERICAL, TIMESTAMP, BOOLEAN, CATEGORICAL, TEXT, IGNORED = range(7)


@dataclass(frozen=True, slots=True)
class Csr:
    """Hold lists end to end: list i is items[starts[i] : starts[i + 1]]."""

    starts: Indices
    items: Indices

    def expand(self, which: Indices) -> tuple[Indices, Indices]:
        """Return, for the lists of these numbers one after the other, the place in `which` and the item of each."""
        run, place = spread(self.starts[which + 1] - self.starts[which])
        return run, self.items[self.starts[which][run] + place]


@dataclass(frozen=True, slots=True)
class Keys:
    """Hold the graph of the rows: parents by column, distinct children by RowIdx, times and numbers of cells."""

    parents: Csr
    children: Csr
    times: Indices
    cells: Indices


@dataclass(frozen=True, slots=True)
class Cells:
    """Hold every cell that is not ignored; cell (column c, RowIdx r) has the address base[c] + r.

    A word is the float32 bits of a z-score, a bool, a categorical id or a text id, 0 at a NULL; the microseconds of
    timestamp columns are apart, at stamp_base[c] + r.
    """

    first_rows: Indices  # per table
    columns: Csr  # per table, the ColumnIdx of its cells
    codes: Codes  # per column
    base: Indices
    stamp_base: Indices
    means: AnyArray
    deviations: AnyArray
    words: Words
    nulls: Flags
    stamps: Indices

    def tables_of(self, rows: Indices) -> Indices:
        """Return the table of each row."""
        return np.searchsorted(self.first_rows, rows, "right") - 1


@dataclass(frozen=True, slots=True)
class Flat:
    """Hold a flattened database."""

    tables: tuple[Table, ...]
    first_columns: tuple[int, ...]
    keys: Keys
    cells: Cells
    text_embeddings: AnyArray


def flatten(database: Database) -> Flat:
    """Return a database, already judged, with its tables in the order of their names in UTF-8."""
    tables = tuple(sorted(database.tables, key=lambda table: table.name.encode()))
    first_rows = np.cumsum([0, *(table.row_count for table in tables)])
    first_columns = np.cumsum([0, *(len(table.columns) for table in tables)])
    starts = {table.name: int(first) for table, first in zip(tables, first_rows, strict=False)}
    cells = _cells(tables, first_rows[:-1], first_columns[:-1])
    keys = graph_keys(
        *_parents(tables, starts),
        _times(tables),
        np.repeat(np.diff(cells.columns.starts), np.diff(first_rows)),
    )
    targets = np.repeat([table.target_column is not None for table in tables], np.diff(first_rows))
    if targets.any():
        keys = without_children(keys, targets)
    return Flat(tables, tuple(map(int, first_columns[:-1])), keys, cells, database.text_embeddings)


def graph_keys(counts: Indices, parents: Indices, times: Indices, cells: Indices) -> Keys:
    """Return the graph of rows that have these numbers of parents; the parents of all rows form one array."""
    rows = len(counts)
    owners = np.repeat(np.arange(rows), counts)
    # Sorting (parent, child) as one number also drops a second key of a row to the same parent.
    by_parent = np.unique(parents * rows + owners) if rows else owners
    heads, children = np.divmod(by_parent, max(rows, 1))
    return Keys(
        Csr(_starts(counts), parents),
        Csr(_starts(np.bincount(heads, minlength=rows)), children),
        times,
        cells,
    )


def without_children(keys: Keys, rows: Flags) -> Keys:
    """Return the graph in which these rows are children of no row; their own parents stay."""
    stay = ~rows[keys.children.items]
    starts = _starts(stay)[keys.children.starts]
    return replace(keys, children=Csr(starts, keys.children.items[stay]))


def _starts(counts: AnyArray) -> Indices:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _parents(tables: tuple[Table, ...], starts: dict[str, int]) -> tuple[Indices, Indices]:
    """Return the number of parents of every row, and the parents end to end."""
    counts, parents = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for table in tables:
        keys = table.ordered_keys()
        held = np.full((table.row_count, len(keys)), -1, np.int64)
        for place, key in enumerate(keys):
            held[:, place] = np.where(key.rows < 0, -1, key.rows + starts[key.table])
        counts.append(np.count_nonzero(held >= 0, axis=1))
        parents.append(held[held >= 0])
    return np.concatenate(counts), np.concatenate(parents)


def _times(tables: tuple[Table, ...]) -> Indices:
    times = [np.zeros(0, np.int64)]
    for table in tables:
        if table.time_column is None:
            times.append(np.full(table.row_count, ALWAYS))
        else:
            column = table.columns[table.place(table.time_column)]
            times.append(np.where(column.is_null, ALWAYS, column.values))
    return np.concatenate(times)


def _cells(tables: tuple[Table, ...], first_rows: Indices, first_columns: Indices) -> Cells:
    columns = [column for table in tables for column in table.columns]
    codes = np.array([SEMANTIC_TYPES.index(column.semantic_type) for column in columns], np.int8)
    owners = np.repeat(np.arange(len(tables)), [len(table.columns) for table in tables])
    sizes = np.array([table.row_count for table in tables], np.int64)[owners]
    base = _base(sizes, codes != IGNORED)
    stamp_base = _base(sizes, codes == TIMESTAMP)
    words = np.zeros(int(sizes[codes != IGNORED].sum()), np.uint32)
    nulls = np.zeros(len(words), np.bool_)
    stamps = np.zeros(int(sizes[codes == TIMESTAMP].sum()), np.int64)
    for place, column in enumerate(columns):
        if codes[place] in (IDENTIFIER, IGNORED):
            continue
        at = slice(base[place], base[place] + sizes[place])
        nulls[at] = column.is_null
        if codes[place] == TIMESTAMP:
            stamps[stamp_base[place] : stamp_base[place] + sizes[place]] = column.values
        else:
            words[at] = np.where(column.is_null, np.uint32(0), _words(column))
    kept = [np.flatnonzero(codes[at : at + len(t.columns)] != IGNORED) + at
            for t, at in zip(tables, first_columns, strict=True)]  # fmt: skip
    return Cells(
        first_rows,
        Csr(_starts(np.array([len(some) for some in kept], np.int64)), np.concatenate([np.zeros(0, np.int64), *kept])),
        codes,
        base - first_rows[owners],
        stamp_base - first_rows[owners],
        np.array([_mean(column) for column in columns]),
        np.array([column.deviation or 0.0 for column in columns]),
        words,
        nulls,
        stamps,
    )


def _base(sizes: Indices, kept: Flags) -> Indices:
    held = np.where(kept, sizes, 0)
    return np.cumsum(held) - held


def _mean(column: Column) -> float:
    # A mean of -0.0 counts as false, but x - -0.0 is not x - 0.0 where x is -0.0.
    return 0.0 if column.mean is None else column.mean


def _words(column: Column) -> Words:
    if column.semantic_type == "numerical":
        numbers: Singles = scores(column.values, _mean(column), column.deviation or 0.0)
        return numbers.view(np.uint32)
    if column.semantic_type == "categorical":
        return column.values + np.uint32(column.cat_emb_start or 0)
    return column.values.astype(np.uint32)


WORD: Final = 1 << 64


def mixed(numbers: AnyArray) -> AnyArray:
    """Return the output function of SplitMix64 for each of these uint64, after one step of its counter."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def hashes(seed: int, numbers: AnyArray) -> AnyArray:
    """Return a uint64 for each number: mixed(mixed(seed) xor number), modulo 2**64."""
    return mixed(mixed(np.array([seed % WORD], np.uint64)) ^ numbers.astype(np.uint64))


def seeded_children(keys: Keys, seed: int) -> Keys:
    """Return the graph with the children of each parent ordered by the hash of parent * rows + child (ruling BA36).

    So the first `child_width` of them, which ruling BA03 takes, are a random choice that the seed decides.
    """
    rows = len(keys.cells)
    parents = np.repeat(np.arange(rows), np.diff(keys.children.starts))
    children = keys.children.items
    order = np.lexsort((hashes(seed, parents * rows + children), parents))  # no two children of a parent tie
    return replace(keys, children=Csr(keys.children.starts, children[order]))


def split(names: AnyArray, shares: tuple[float, ...], seed: int) -> list[Indices]:
    """Return the interval of each share: a name is at hash / 2**64, and the shares follow each other from 0 to 1."""
    at = hashes(seed, names).astype(np.float64) / WORD
    ends = np.cumsum(shares) / sum(shares)
    part = np.minimum(np.searchsorted(ends, at, side="right"), len(shares) - 1)
    return [np.flatnonzero(part == number) for number in range(len(shares))]
