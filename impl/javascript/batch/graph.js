/** A database as a graph: its rows, and which of them refers to which (seed 004 §4; BA02, BA08, BA11, BA13, BA28). */
import { compareBytewise } from "../digest.js";
import { defaultFailure } from "../errors.js";
import { list, struct, tensor, uint64List } from "../wire.js";
import { databaseFault, graphFault, sequencesFault } from "./faults.js";
import { DATABASE, GRAPH_ROW, elements, tensorOf } from "./tensors.js";

const NULL = -1;
const CODES = ["identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored"];

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

const BUILD_GRAPH = "Batch.BuildGraph";

function runGraph({ database }) {
  const fault = databaseFault(database);
  if (fault !== undefined) throw defaultFailure(fault, BUILD_GRAPH);
  return { rows: graphRows(numberedTables(database)) };
}

/** Batch.BuildGraph: every row of a database with its keys, its time and its cells (seed 004 §4; BA02, BA08). */
export const buildGraph = {
  name: BUILD_GRAPH,
  inputs: struct({ database: DATABASE }),
  outputs: struct({ rows: list(GRAPH_ROW) }),
  run: runGraph,
};

const BUILD_ADJACENCY = "Batch.BuildAdjacency";

/** The matrices of all sequences, padded with false to the most rows of any, or to a fixed number (B20 to B22, BA37). */
export function adjacencyOf(rows, rowIds, fixedRows) {
  const longest = rowIds.reduce((found, ids) => Math.max(found, ids.length), 0);
  const most = fixedRows === undefined ? longest : Number(fixedRows);
  const flags = new Uint8Array(rowIds.length * most * most);
  rowIds.forEach((ids, sequence) => {
    const places = new Map(Array.from(ids, (row, place) => [Number(row), place]));
    for (const [row, from] of places) {
      for (const parent of rows[row].parents) {
        const to = places.get(parent);
        if (to !== undefined) flags[(sequence * most + from) * most + to] = 1;
      }
    }
  });
  return tensorOf("bool", [rowIds.length, most, most], flags);
}

function runAdjacency({ rows, row_ids: rowIds }) {
  const fault = graphFault(rows) ?? sequencesFault(rows.length, rowIds);
  if (fault !== undefined) throw defaultFailure(fault, BUILD_ADJACENCY);
  return { fk_adj: adjacencyOf(rows, rowIds) };
}

/** Batch.BuildAdjacency: which row of a sequence refers to which (seed 004 §4; rulings BA11, BA13, BA28). */
export const buildAdjacency = {
  name: BUILD_ADJACENCY,
  inputs: struct({ rows: list(GRAPH_ROW), row_ids: list(uint64List) }),
  outputs: struct({ fk_adj: tensor }),
  run: runAdjacency,
};
