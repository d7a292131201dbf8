"""The collected rows as sequences of cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.database import CODES, Database, StoredColumn, StoredTable, database_fault, stored_tables
from impl.reference.batch.request import Task, length_fault, sequences_fault
from impl.reference.batch.tensors import tensor_of, z_score
from impl.reference.batch.timestamps import WIDTH, encode_timestamp
from impl.types import Tensor, uint32, uint64


@dataclass(frozen=True, slots=True)
class Cell:
    """Hold what every tensor says about one position; a slot that is not active is 0 (seed 004 §2)."""

    semantic_type: int = 0
    column_id: int = 0
    seq_row_id: int = 0
    is_null: bool = False
    numeric_value: float = 0.0
    timestamp_value: tuple[float, ...] = (0.0,) * WIDTH
    bool_value: bool = False
    categorical_embed_id: int = 0
    text_embed_id: int = 0
    is_target: bool = False
    is_padding: bool = False


# Ruling BA15: everything else is 0, also where 0 has a meaning of its own.
PADDING: Final = Cell(is_padding=True)


def make_cell(column: StoredColumn, row: int, seq_row_id: int) -> Cell:
    """Return the cell of a table's row in one of its columns (seed 004 §1, §2)."""
    empty = Cell(
        semantic_type=CODES[column.semantic_type],
        column_id=column.column_id,
        seq_row_id=seq_row_id,
    )
    return write_value(empty, column, row)


def write_value(empty: Cell, column: StoredColumn, row: int) -> Cell:
    """Return a cell with the stored value in the slot of its type; a NULL has no value (requirement B15)."""
    if column.semantic_type == "identifier":
        return empty  # never null, and never a value: ruling BA19
    if column.is_null[row]:
        return replace(empty, is_null=True)
    value = column.values[row]
    match column.semantic_type:
        case "numerical":
            return replace(empty, numeric_value=z_score(value, column.mean, column.deviation))
        case "timestamp":
            return replace(empty, timestamp_value=encode_timestamp(int(value), column.mean, column.deviation))
        case "boolean":
            return replace(empty, bool_value=bool(value))
        case "categorical":
            return replace(empty, categorical_embed_id=column.cat_emb_start + int(value))
        case "text":
            return replace(empty, text_embed_id=int(value))
    return empty


def target_column(table: StoredTable, task: Task) -> StoredColumn | None:
    """Return the task's column, or the table's first that makes a cell where the task's is ignored (ruling BA16).

    None where no column makes a cell.
    """
    columns = table.cell_columns()
    for column in columns:
        if column.name == task.column:
            return column
    return columns[0] if columns else None


def target_position(table: StoredTable, column: StoredColumn) -> int:
    """Return the position of a column's cell in a sequence that begins with a row of the table."""
    return table.cell_columns().index(column)


def mark_target(cells: list[Cell], position: int, column: StoredColumn, row: int) -> list[Cell]:
    """Return the cells with one of them as the target: every slot cleared, then the truth written (ruling BA17)."""
    cell = cells[position]
    cleared = Cell(
        semantic_type=cell.semantic_type,
        column_id=cell.column_id,
        seq_row_id=cell.seq_row_id,
    )
    truth = write_value(cleared, column, row)
    return [*cells[:position], replace(truth, is_target=True), *cells[position + 1 :]]


OPERATOR: Final = "Batch.LinearizeCells"


@dataclass(frozen=True, slots=True)
class LinearizedCells:
    """Hold the cell tensors under the seed's names, shape [B, S] or [B, S, 15]; text ids are still global."""

    semantic_types: Tensor
    column_ids: Tensor
    seq_row_ids: Tensor
    is_null: Tensor
    numeric_values: Tensor
    timestamp_values: Tensor
    bool_values: Tensor
    categorical_embed_ids: Tensor
    text_embed_ids: Tensor
    is_padding: Tensor


def linearize_cells(*, database: Database, row_ids: list[list[uint64]], sequence_length: uint32) -> LinearizedCells:
    """Return the cells of each sequence's rows, row by row, cut or padded to the sequence length S.

    Raises what BuildGraph raises for a faulty database; then CONTRACT_VIOLATION for S = 0 or a row that comes twice in
    a sequence, LIMIT_EXCEEDED for S or a number of rows above 65,536, ROW_NOT_FOUND for a row that does not exist
    (seed 004 intro, §1 to §3; rulings BA09, BA15, BA19).
    """
    row_count = sum(table.row_count for table in database.tables)
    fault = database_fault(database) or length_fault(sequence_length) or sequences_fault(row_count, row_ids)
    if fault is not None:
        raise default_failure(fault, OPERATOR)
    tables = stored_tables(database)
    sequences = [linearize(tables, ids, sequence_length) for ids in row_ids]
    return cell_tensors(sequences, sequence_length)


def linearize(tables: list[StoredTable], ids: list[int], sequence_length: int) -> list[Cell]:
    """Return the cells of one sequence, row by row, each row's columns in declared order (requirement B06)."""
    cells: list[Cell] = []
    for seq_row_id, row_idx in enumerate(ids):
        table = table_of(tables, row_idx)
        row = row_idx - table.first_row
        cells += [make_cell(column, row, seq_row_id) for column in table.cell_columns()]
    # A row may be cut in its middle: ruling BA09.
    cut = cells[:sequence_length]
    return cut + [PADDING] * (sequence_length - len(cut))


def table_of(tables: list[StoredTable], row_idx: int) -> StoredTable:
    """Return the table that holds a row."""
    return next(table for table in tables if table.first_row <= row_idx < table.first_row + table.row_count)


def cell_tensors(sequences: list[list[Cell]], sequence_length: int) -> LinearizedCells:
    """Return the tensors of all cells, in the dtypes of the seed."""
    shape = (len(sequences), sequence_length)
    cells = [cell for sequence in sequences for cell in sequence]
    stamps = [number for cell in cells for number in cell.timestamp_value]
    return LinearizedCells(
        semantic_types=tensor_of("int8", shape, [cell.semantic_type for cell in cells]),
        column_ids=tensor_of("int32", shape, [cell.column_id for cell in cells]),
        seq_row_ids=tensor_of("uint16", shape, [cell.seq_row_id for cell in cells]),
        is_null=tensor_of("bool", shape, [cell.is_null for cell in cells]),
        numeric_values=tensor_of("float32", shape, [cell.numeric_value for cell in cells]),
        timestamp_values=tensor_of("float32", (*shape, WIDTH), stamps),
        bool_values=tensor_of("bool", shape, [cell.bool_value for cell in cells]),
        categorical_embed_ids=tensor_of("uint32", shape, [cell.categorical_embed_id for cell in cells]),
        text_embed_ids=tensor_of("uint32", shape, [cell.text_embed_id for cell in cells]),
        is_padding=tensor_of("bool", shape, [cell.is_padding for cell in cells]),
    )
