"""One position of a sequence."""

from dataclasses import dataclass, replace
from typing import Final

from impl.reference.batch.database import CODES
from impl.reference.batch.numbers import z_score
from impl.reference.batch.stored import StoredColumn
from impl.reference.batch.timestamps import WIDTH, encode_timestamp


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
