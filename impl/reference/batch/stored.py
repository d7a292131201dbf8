"""A database with its numbering: ColumnIdx, RowIdx and the order of keys."""

from dataclasses import dataclass

from impl.reference.batch.database import Column, Database, SemanticType, Table
from impl.reference.batch.tensors import elements


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """Hold a column under its ColumnIdx."""

    name: str
    column_id: int
    semantic_type: SemanticType
    values: list[int] | list[float] | list[bool]
    is_null: list[bool]
    mean: float
    deviation: float
    cat_emb_start: int


@dataclass(frozen=True, slots=True)
class StoredTable:
    """Hold a table; row r of it has the RowIdx first_row + r.

    `parents` has one list per foreign key, in the order of its columns, of a RowIdx or None per row; `times` has the
    microseconds of each row, None where there is none.
    """

    name: str
    first_row: int
    row_count: int
    columns: list[StoredColumn]
    parents: list[list[int | None]]
    times: list[int | None]

    def cell_columns(self) -> list[StoredColumn]:
        """Return the columns that make cells, in their order (requirement B07)."""
        return [column for column in self.columns if column.semantic_type != "ignored"]


def stored_tables(database: Database) -> list[StoredTable]:
    """Return the tables in the order of their names in UTF-8 bytes, numbered.

    ColumnIdx counts every column in declared order, ignored ones included; RowIdx is the table's offset plus the row
    (numbering of the interface; requirement B09).
    """
    tables = sorted(database.tables, key=lambda table: table.name.encode("utf-8"))
    first_rows: dict[str, int] = {}
    row_idx = 0
    for table in tables:
        first_rows[table.name] = row_idx
        row_idx += table.row_count
    stored: list[StoredTable] = []
    column_idx = 0
    for table in tables:
        columns = [stored_column(column, column_idx + place) for place, column in enumerate(table.columns)]
        column_idx += len(table.columns)
        stored.append(
            StoredTable(
                name=table.name,
                first_row=first_rows[table.name],
                row_count=table.row_count,
                columns=columns,
                parents=parent_lists(table, first_rows),
                times=row_times(table, columns),
            )
        )
    return stored


def stored_column(column: Column, column_id: int) -> StoredColumn:
    """Return a column under its ColumnIdx."""
    return StoredColumn(
        name=column.name,
        column_id=column_id,
        semantic_type=column.semantic_type,
        values=elements(column.values),
        is_null=elements(column.is_null),
        mean=column.mean or 0.0,
        deviation=column.deviation or 0.0,
        cat_emb_start=column.cat_emb_start or 0,
    )


def parent_lists(table: Table, first_rows: dict[str, int]) -> list[list[int | None]]:
    """Return for each foreign key, by the place of its column, the RowIdx that each row refers to (ruling BA02)."""
    places = {column.name: place for place, column in enumerate(table.columns)}
    keys = sorted(table.foreign_keys, key=lambda key: places[key.column])
    return [[None if row == -1 else first_rows[key.table] + row for row in elements(key.rows)] for key in keys]


def row_times(table: Table, columns: list[StoredColumn]) -> list[int | None]:
    """Return the exact microseconds of each row, None at a NULL or where the table has no time (ruling BA08)."""
    times: list[int | None] = [None] * table.row_count
    for column in columns:
        if column.name == table.time_column:
            pairs = zip(column.values, column.is_null, strict=True)
            times = [None if null else int(value) for value, null in pairs]
    return times
