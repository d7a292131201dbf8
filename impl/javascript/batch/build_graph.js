/** Batch.BuildGraph: every row of a database with its keys, its time and its cells (seed 004 §4; BA02, BA08). */
import { DEFAULT_FAILURE, defaultFailure } from "../errors.js";
import { compareBytewise } from "../text_order.js";
import { list, struct } from "../types.js";
import { databaseFault } from "./database_fault.js";
import { elements } from "./tensors.js";
import { DATABASE, GRAPH_ROW } from "./types.js";

const NAME = "Batch.BuildGraph";
const NULL = -1;

/** For each foreign key, by the place of its column, the RowIdx that each row refers to. */
function keysOf(table, firstRows) {
  const places = new Map(table.columns.map(({ name }, place) => [name, place]));
  const ordered = table.foreign_keys.toSorted((one, other) => places.get(one.column) - places.get(other.column));
  const indexOf = (key) => (row) => (row === -1n ? NULL : firstRows.get(key.table) + Number(row));
  return ordered.map((key) => Array.from(elements(key.rows), indexOf(key)));
}

/** The time of each row, undefined where there is none. */
function timesOf(table) {
  const column = table.columns.find(({ name }) => name === table.time_column);
  if (column === undefined) return [];
  const nulls = elements(column.is_null);
  return Array.from(elements(column.values), (value, row) => (nulls[row] ? undefined : value));
}

function rowsOf(table, firstRows) {
  const keys = keysOf(table, firstRows);
  const times = timesOf(table);
  const cells = BigInt(table.columns.filter(({ semantic_type: type }) => type !== "ignored").length);
  return Array.from({ length: Number(table.row_count) }, (_, row) => {
    const found = { parents: keys.map((key) => key[row]), cells };
    return times[row] === undefined ? found : { ...found, time: times[row] };
  });
}

function run({ database }) {
  const fault = databaseFault(database);
  if (fault !== undefined) throw defaultFailure(fault, NAME);
  const tables = database.tables.toSorted((one, other) => compareBytewise(one.name, other.name));
  const firstRows = new Map();
  let rowIdx = 0;
  for (const table of tables) {
    firstRows.set(table.name, rowIdx);
    rowIdx += Number(table.row_count);
  }
  return { rows: tables.flatMap((table) => rowsOf(table, firstRows)) };
}

export const buildGraph = {
  name: NAME,
  inputs: struct({ database: DATABASE }),
  outputs: struct({ rows: list(GRAPH_ROW) }),
  failure: DEFAULT_FAILURE,
  run,
};
