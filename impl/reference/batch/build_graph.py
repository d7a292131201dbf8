"""The rows of a database as a graph."""

from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.batch.database import Database
from impl.reference.batch.database_fault import database_fault
from impl.reference.batch.stored import StoredTable, stored_tables
from impl.types import int64, uint32

OPERATOR: Final = "Batch.BuildGraph"
NULL: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRow:
    """Hold one row: the RowIdx each of its foreign keys refers to, -1 for NULL; its time; its number of cells."""

    parents: list[int64]
    time: int64 | None = None
    cells: uint32


@dataclass(frozen=True, slots=True)
class Graph:
    """Hold the rows of a database by RowIdx."""

    rows: list[GraphRow]


def build_graph(*, database: Database) -> Graph:
    """Return every row by RowIdx with its keys, its time in microseconds UTC and its number of cells.

    Raises UNKNOWN_TABLE, CONTRACT_VIOLATION, NON_FINITE or DANGLING_KEY for a faulty database (seed 004 §4; rulings
    BA02, BA08).
    """
    fault = database_fault(database)
    if fault is not None:
        raise default_failure(fault, OPERATOR)
    return Graph(rows=graph_rows(stored_tables(database)))


def graph_rows(tables: list[StoredTable]) -> list[GraphRow]:
    """Return the rows of all tables by RowIdx."""
    rows: list[GraphRow] = []
    for table in tables:
        cells = len(table.cell_columns())
        for row in range(table.row_count):
            keys = [parents[row] for parents in table.parents]
            rows.append(
                GraphRow(
                    parents=[NULL if key is None else key for key in keys],
                    time=table.times[row],
                    cells=cells,
                )
            )
    return rows
