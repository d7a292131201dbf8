"""The one position of a sequence that the model predicts."""

from dataclasses import replace

from impl.reference.batch.cell import Cell, write_value
from impl.reference.batch.request import Task
from impl.reference.batch.stored import StoredColumn, StoredTable


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
