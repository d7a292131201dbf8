/** Batch.Permutations: orders in which what attends to each other stands together (seed 004 §4; BA23 to BA27). */
import { compareBytewise } from "../digest.js";
import { DEFAULT_FAILURE } from "../errors.js";
import { list, struct, tensor, uint32List } from "../wire.js";
import { sequencesOf } from "./cells.js";
import { PLACED_CELLS, elements, tensorOf } from "./tensors.js";

/** The reverse Cuthill-McKee order of rows that refer to each other (requirement B28; rulings BA24 to BA26). */

/** The rows, ordered so that neighbours stand close together; a key counts in both directions, one to itself never. */
export function rowOrder(rows, refers) {
  const neighbours = new Map(
    rows.map((row) => [row, rows.filter((other) => other !== row && (refers(row, other) || refers(other, row)))]),
  );
  const byDegree = (one, other) => neighbours.get(one).length - neighbours.get(other).length || one - other;
  const marked = new Set();
  const order = [];
  for (const start of rows.toSorted(byDegree)) {
    if (marked.has(start)) continue;
    marked.add(start);
    const queue = [start];
    for (const row of queue) {
      order.push(row);
      for (const neighbour of neighbours.get(row).toSorted(byDegree)) {
        if (marked.has(neighbour)) continue;
        marked.add(neighbour);
        queue.push(neighbour);
      }
    }
  }
  return order.reverse();
}

const NAME = "Batch.Permutations";

/** The positions, those of padding last, otherwise by what `rank` says of them, then by position. */
function positionsBy({ length, paddings }, rank) {
  const byRank = (one, other) => paddings[one] - paddings[other] || rank(one) - rank(other) || one - other;
  return Array.from({ length }, (_, position) => position).sort(byRank);
}

/** The rows that own a position, ascending. */
function owners({ rowIds, paddings }) {
  return [...new Set(rowIds.filter((_, position) => !paddings[position]))].sort((one, other) => one - other);
}

/** The three permutations, and the order of the rows behind two of them. */
export function ordersOf(inputs, operator) {
  const sequences = sequencesOf(inputs, operator);
  const orders = sequences.map((sequence) => rowOrder(owners(sequence), sequence.refers));
  // Padding too stands by its column id, which is 0 unless somebody says otherwise (ruling BA23).
  const byColumn = sequences.map((one) => positionsBy(one, (position) => one.columnIds[position]));
  const byRow = sequences.map((one, sequence) => {
    const ranks = new Map(orders[sequence].map((row, rank) => [row, rank]));
    return positionsBy(one, (position) => (one.paddings[position] ? 0 : ranks.get(one.rowIds[position])));
  });
  const tensorOfAll = (permutations) => tensorOf("uint16", inputs.column_ids.shape, permutations.flat());
  return {
    col_perm: tensorOfAll(byColumn),
    out_perm: tensorOfAll(byRow),
    in_perm: tensorOfAll(byRow), // the same: bandwidth does not change by transposing
    row_order: orders.map((order) => Uint32Array.from(order)),
  };
}

export const permutations = {
  name: NAME,
  inputs: PLACED_CELLS,
  outputs: struct({ col_perm: tensor, out_perm: tensor, in_perm: tensor, row_order: list(uint32List) }),
  failure: DEFAULT_FAILURE,
  run: (inputs) => ordersOf(inputs, NAME),
};

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
