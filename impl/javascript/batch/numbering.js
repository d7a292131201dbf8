/** A database under its numbers: tables by the bytes of their names, RowIdx and ColumnIdx through all of them (B09). */
import { compareBytewise } from "../text_order.js";
import { elements } from "./tensors.js";

const NULL = -1;
export const CODES = ["identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored"];

/** The tables in order; each column has its `id`, its `code`, its values and its nulls at hand. */
export function numberedTables({ tables }) {
  let [firstRow, firstColumn] = [0, 0];
  return tables.toSorted((one, other) => compareBytewise(one.name, other.name)).map((table) => {
    const columns = table.columns.map((column, place) => ({
      ...column,
      id: firstColumn + place,
      code: CODES.indexOf(column.semantic_type),
      values: elements(column.values),
      nulls: elements(column.is_null),
    }));
    const cellColumns = columns.filter(({ semantic_type: type }) => type !== "ignored");
    const numbered = { ...table, columns, cellColumns, firstRow, rowCount: Number(table.row_count) };
    firstRow += numbered.rowCount;
    firstColumn += columns.length;
    return numbered;
  });
}

/** Every row by RowIdx: where its keys lead, its time, its number of cells (rulings BA02, BA08). */
export function graphRows(tables) {
  const firstRows = new Map(tables.map(({ name, firstRow }) => [name, firstRow]));
  return tables.flatMap((table) => rowsOf(table, firstRows));
}

/** For each foreign key, by the place of its column, the RowIdx that each row refers to. */
function keysOf(table, firstRows) {
  const places = new Map(table.columns.map(({ name }, place) => [name, place]));
  const ordered = table.foreign_keys.toSorted((one, other) => places.get(one.column) - places.get(other.column));
  const indexOf = (key) => (row) => (row === -1n ? NULL : firstRows.get(key.table) + Number(row));
  return ordered.map((key) => Array.from(elements(key.rows), indexOf(key)));
}

function rowsOf(table, firstRows) {
  const keys = keysOf(table, firstRows);
  const dated = table.columns.find(({ name }) => name === table.time_column);
  const cells = BigInt(table.cellColumns.length);
  return Array.from({ length: table.rowCount }, (_, row) => {
    const found = { parents: keys.map((key) => key[row]), cells };
    return dated === undefined || dated.nulls[row] ? found : { ...found, time: dated.values[row] };
  });
}
