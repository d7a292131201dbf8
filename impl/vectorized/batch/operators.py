"""The batch operators of the vectorized backend."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from impl.failure import default_failure
from impl.types import Tensor, uint32, uint64
from impl.vectorized.batch.adjacency import edges_in, edges_of, masks, orders
from impl.vectorized.batch.arrays import array_of, tensor_of
from impl.vectorized.batch.builder import Builder
from impl.vectorized.batch.collect import Limits, lay_end_to_end, moments
from impl.vectorized.batch.crowd import Crowd
from impl.vectorized.batch.flat import ALWAYS, Flat, Keys, flatten, graph_keys, seeded_children
from impl.vectorized.batch.front.open import load_database
from impl.vectorized.batch.linearize import linearize, remap, text_cells
from impl.vectorized.batch.model import (
    Refused,
    from_records,
    judge_database,
    judge_length,
    judge_sequences,
    judge_shapes,
)
from impl.vectorized.batch.records import (
    AdjacencyTensor,
    BatchTensors,
    CellTensors,
    Collected,
    Config,
    Database,
    GraphRow,
    GraphRows,
    GraphSeed,
    MaskTensors,
    PermutationTensors,
    Seed,
    Task,
    TextTensors,
)


@contextmanager
def refusing(operator: str) -> Iterator[None]:
    """Turn what is refused inside into the operator's failure."""
    try:
        yield
    except Refused as refused:
        raise default_failure(refused.code, operator) from None


def build_graph(*, database: Database) -> GraphRows:
    """Return every row by RowIdx with its keys, time and number of cells."""
    with refusing("Batch.BuildGraph"):
        flat = opened(database)
    first = {table.name: int(row) for table, row in zip(flat.tables, flat.cells.first_rows, strict=True)}
    rows: list[GraphRow] = []
    for held in flat.tables:
        start, keys = first[held.name], held.ordered_keys()
        parents = np.full((held.row_count, len(keys)), -1, np.int64)
        for place, key in enumerate(keys):
            parents[:, place] = np.where(key.rows < 0, -1, key.rows + first[key.table])
        dated = None if held.time_column is None else ~held.columns[held.place(held.time_column)].is_null
        for row, over in enumerate(parents.tolist()):
            time = int(flat.keys.times[start + row]) if dated is not None and dated[row] else None
            rows.append(GraphRow(parents=over, time=time, cells=int(flat.keys.cells[start + row])))
    return GraphRows(rows)


def collect_rows(*, rows: list[GraphRow], seeds: list[GraphSeed], config: Config) -> Collected:
    """Return the rows that each seed reaches, and their hops."""
    with refusing("Batch.CollectRows"):
        limits = limits_of(config)
        limits.judge()
        keys = keys_of(rows)
        if any(seed.row >= len(rows) for seed in seeds):
            raise Refused("ROW_NOT_FOUND")
        crowd = Crowd(
            ordered(keys, config),
            np.array([seed.row for seed in seeds], np.int64),
            moments([seed.time for seed in seeds]),
            limits,
        )
        lay_end_to_end(crowd.rows())
    return Collected([rows.tolist() for rows in crowd.rows()], [hops.tolist() for hops in crowd.hops()])


def linearize_cells(*, database: Database, row_ids: list[list[uint64]], sequence_length: uint32) -> CellTensors:
    """Return the cells of each sequence's rows."""
    with refusing("Batch.LinearizeCells"):
        flat = opened(database)
        judge_length(sequence_length)
        judge_sequences(len(flat.keys.cells), row_ids)
        cells = linearize(flat.cells, lay_end_to_end(row_ids), sequence_length)
    return CellTensors(*(tensor_of(getattr(cells, field.name)) for field in fields(CellTensors)))


def build_adjacency(*, rows: list[GraphRow], row_ids: list[list[uint64]]) -> AdjacencyTensor:
    """Return fk_adj."""
    with refusing("Batch.BuildAdjacency"):
        keys = keys_of(rows)
        judge_sequences(len(rows), row_ids)
        return AdjacencyTensor(tensor_of(edges_of(keys.parents, lay_end_to_end(row_ids)).matrix()))


def permutations(*, column_ids: Tensor, seq_row_ids: Tensor, is_padding: Tensor, fk_adj: Tensor) -> PermutationTensors:
    """Return the orders of positions and rows."""
    columns, rows, padding, matrix = map(array_of, (column_ids, seq_row_ids, is_padding, fk_adj))
    with refusing("Batch.Permutations"):
        judge_shapes((columns, rows), rows, padding, matrix)
    found = orders(columns, rows, padding, edges_in(matrix))
    return PermutationTensors(
        tensor_of(found.col_perm),
        tensor_of(found.out_perm),
        tensor_of(found.in_perm),
        [order.tolist() for order in found.row_order],
    )


def remap_text(
    *, text_embed_ids: Tensor, semantic_types: Tensor, is_null: Tensor, is_padding: Tensor, text_embeddings: Tensor
) -> TextTensors:
    """Return batch-local text ids and their embeddings."""
    ids, types, nulls, padding, table = map(
        array_of, (text_embed_ids, semantic_types, is_null, is_padding, text_embeddings)
    )
    with refusing("Batch.RemapText"):
        if ids.ndim != 2 or table.ndim != 2 or not ids.shape == types.shape == nulls.shape == padding.shape:
            raise Refused("CONTRACT_VIOLATION")
        local, rows = remap(ids, text_cells(types, nulls, padding), table)
    return TextTensors(tensor_of(local), tensor_of(rows))


def attention_masks(*, column_ids: Tensor, seq_row_ids: Tensor, is_padding: Tensor, fk_adj: Tensor) -> MaskTensors:
    """Return the three masks."""
    columns, rows, padding, matrix = map(array_of, (column_ids, seq_row_ids, is_padding, fk_adj))
    with refusing("Batch.AttentionMasks"):
        judge_shapes((columns, rows), rows, padding, matrix)
    return MaskTensors(*map(tensor_of, masks(columns, rows, padding, matrix)))


def build(*, database: Database, task: Task, seeds: list[Seed], config: Config) -> BatchTensors:
    """Return the whole batch."""
    with refusing("Batch.Build"):
        flat = opened(database)
        builder = Builder(replace(flat, keys=ordered(flat.keys, config)))
        target = builder.target(task.table, task.column)
        if any(seed.task not in (None, task) for seed in seeds):
            raise Refused("MIXED_TASKS")
        if not seeds:
            raise Refused("CONTRACT_VIOLATION")
        made = builder.batch(target, [seed.row for seed in seeds], [seed.time for seed in seeds], limits_of(config))
    return BatchTensors(*(tensor_of(getattr(made, field.name)) for field in fields(BatchTensors)))


def opened(database: Database) -> Flat:
    """Return a database of the wire, judged and flattened; Refused."""
    model = from_records(database)
    judge_database(model)
    return flatten(model)


def limits_of(config: Config) -> Limits:
    """Return the limits of a request."""
    return Limits(
        config.sequence_length,
        config.max_hops,
        config.max_rows,
        config.child_width,
        config.cutoff == "strict",
        config.fixed_rows,
    )


def ordered(keys: Keys, config: Config) -> Keys:
    """Return the graph with its children in the order of a request."""
    return keys if config.children_seed is None else seeded_children(keys, config.children_seed)


def keys_of(rows: list[GraphRow]) -> Keys:
    """Return the graph of rows from the wire; Refused with DANGLING_KEY."""
    flat = np.array([parent for row in rows for parent in row.parents], np.int64)
    owner = np.repeat(np.arange(len(rows)), [len(row.parents) for row in rows])
    if np.any((flat < -1) | (flat >= len(rows))):
        raise Refused("DANGLING_KEY")
    return graph_keys(
        np.bincount(owner[flat >= 0], minlength=len(rows)),
        flat[flat >= 0],
        np.array([ALWAYS if row.time is None else row.time for row in rows], np.int64),
        np.array([row.cells for row in rows], np.int64),
    )


BATCH_OPERATORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "Batch.BuildGraph": build_graph,
        "Batch.CollectRows": collect_rows,
        "Batch.LinearizeCells": linearize_cells,
        "Batch.BuildAdjacency": build_adjacency,
        "Batch.Permutations": permutations,
        "Batch.RemapText": remap_text,
        "Batch.AttentionMasks": attention_masks,
        "Batch.Build": build,
        "Batch.LoadDatabase": load_database,
    }
)
