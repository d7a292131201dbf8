"""The whole batch, from seeds to tensors."""

from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.collect_rows import graph_rows, ordered_children, walk
from impl.reference.batch.database import Database, StoredTable, database_fault, stored_tables
from impl.reference.batch.linearize_cells import (
    Cell,
    cell_tensors,
    linearize,
    mark_target,
    target_column,
    target_position,
)
from impl.reference.batch.permutations import Orders, adjacency_tensor, edges_of, largest, order_tensors, orders
from impl.reference.batch.remap_text import remap_text
from impl.reference.batch.request import MAX_ROWS, Config, GraphSeed, Seed, Task, config_fault
from impl.reference.batch.tensors import tensor_of
from impl.types import Tensor

OPERATOR: Final = "Batch.Build"


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """Hold the tensors under the seed's names, in its order (seed 004 §1 to §6)."""

    semantic_types: Tensor
    column_ids: Tensor
    seq_row_ids: Tensor
    is_null: Tensor
    numeric_values: Tensor
    timestamp_values: Tensor
    bool_values: Tensor
    categorical_embed_ids: Tensor
    text_embed_ids: Tensor
    is_target: Tensor
    is_padding: Tensor
    fk_adj: Tensor
    col_perm: Tensor
    out_perm: Tensor
    in_perm: Tensor
    text_batch_embeddings: Tensor


def build(*, database: Database, task: Task, seeds: list[Seed], config: Config) -> TrainingBatch:
    """Return the batch of one task: a sequence per seed, collected, linearized, ordered and its texts renumbered.

    Raises what BuildGraph raises for a faulty database; then, in this order, UNKNOWN_TABLE for the task, MIXED_TASKS,
    CONTRACT_VIOLATION for no seeds or a limit of 0, LIMIT_EXCEEDED for S or fixed_rows above 65,536, ROW_NOT_FOUND for
    a seed, TARGET_TRUNCATED where the target's cell is not inside S, LIMIT_EXCEEDED for more than 65,536 rows (seed
    004; rulings BA16, BA17, BA18, BA28, BA36, BA37).
    """
    fault = database_fault(database)
    if fault is not None:
        raise default_failure(fault, OPERATOR)
    tables = stored_tables(database)
    anchor = find_anchor(tables, task)
    if anchor is None:
        raise default_failure("UNKNOWN_TABLE", OPERATOR)
    fault = seeds_fault(anchor, task, seeds, config)
    if fault is not None:
        raise default_failure(fault, OPERATOR)
    column = target_column(anchor, task)
    if column is None or target_position(anchor, column) >= config.sequence_length:
        raise default_failure("TARGET_TRUNCATED", OPERATOR)

    # Phase 1, each seed on its own (seed 004 §6, requirement B35).
    rows = graph_rows(tables)
    children = ordered_children(rows, config)
    row_ids: list[list[int]] = []
    sequences: list[list[Cell]] = []
    for seed in seeds:
        ids = list(walk(rows, children, GraphSeed(anchor.first_row + seed.row, seed.time), config))
        cells = linearize(tables, ids, config.sequence_length)
        row_ids.append(ids)
        sequences.append(mark_target(cells, target_position(anchor, column), column, seed.row))
    if largest(row_ids) > MAX_ROWS:
        raise default_failure("LIMIT_EXCEEDED", OPERATOR)
    edges = [edges_of(rows, ids) for ids in row_ids]

    # Phase 2, the batch as a whole.
    size = largest(row_ids) if config.fixed_rows is None else config.fixed_rows
    tensors = cell_tensors(sequences, config.sequence_length)
    flags = [cell.is_target for cells in sequences for cell in cells]
    text = remap_text(
        text_embed_ids=tensors.text_embed_ids,
        semantic_types=tensors.semantic_types,
        is_null=tensors.is_null,
        is_padding=tensors.is_padding,
        text_embeddings=database.text_embeddings,
    )
    order = order_tensors(
        [sequence_orders(cells, found) for cells, found in zip(sequences, edges, strict=True)],
        config.sequence_length,
    )
    return TrainingBatch(
        semantic_types=tensors.semantic_types,
        column_ids=tensors.column_ids,
        seq_row_ids=tensors.seq_row_ids,
        is_null=tensors.is_null,
        numeric_values=tensors.numeric_values,
        timestamp_values=tensors.timestamp_values,
        bool_values=tensors.bool_values,
        categorical_embed_ids=tensors.categorical_embed_ids,
        text_embed_ids=text.text_embed_ids,
        is_target=tensor_of("bool", tensors.is_null.shape, flags),
        is_padding=tensors.is_padding,
        fk_adj=adjacency_tensor(edges, size),
        col_perm=order.col_perm,
        out_perm=order.out_perm,
        in_perm=order.in_perm,
        text_batch_embeddings=text.text_batch_embeddings,
    )


def find_anchor(tables: list[StoredTable], task: Task) -> StoredTable | None:
    """Return the task's table, None where the table or its column does not exist."""
    for table in tables:
        if table.name == task.table and any(column.name == task.column for column in table.columns):
            return table
    return None


def seeds_fault(anchor: StoredTable, task: Task, seeds: list[Seed], config: Config) -> str | None:
    """Return the code that refuses the seeds or the limits, None where they are accepted."""
    if any(seed.task is not None and seed.task != task for seed in seeds):
        return "MIXED_TASKS"
    if not seeds:
        return "CONTRACT_VIOLATION"
    fault = config_fault(config)
    if fault is not None:
        return fault
    if any(seed.row >= anchor.row_count for seed in seeds):
        return "ROW_NOT_FOUND"
    return None


def sequence_orders(cells: list[Cell], edges: set[tuple[int, int]]) -> Orders:
    """Return the orders of one sequence's positions."""
    return orders(
        [cell.column_id for cell in cells],
        [cell.seq_row_id for cell in cells],
        [cell.is_padding for cell in cells],
        edges,
    )
