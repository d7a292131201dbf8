import { score } from "./cells.js";
import { elements } from "./tensors.js";

/** What is wrong with rows and sequences, in the order in which it is asked (seed 004; rulings BA28, B11). */

/** The most that a 16-bit id can count. */
export const MOST = 65_536;

/** DANGLING_KEY where a key leads to a row that does not exist. */
export function graphFault(rows) {
  const isDangling = (parent) => parent < -1 || parent >= rows.length;
  return rows.some(({ parents }) => parents.some(isDangling)) ? "DANGLING_KEY" : undefined;
}

/** What is wrong with the limits of a walk. */
export function configFault({ sequence_length: length, max_rows: maxRows, fixed_rows: fixedRows }) {
  const fault = lengthFault(length);
  if (fault !== undefined) return fault;
  if (maxRows === 0n || fixedRows === 0n) return "CONTRACT_VIOLATION";
  return fixedRows > MOST ? "LIMIT_EXCEEDED" : undefined; // an absent one is not greater
}

/** What is wrong with the length of sequences. */
export function lengthFault(length) {
  if (length === 0n) return "CONTRACT_VIOLATION";
  return length > MOST ? "LIMIT_EXCEEDED" : undefined;
}

/** What is wrong with the rows of sequences: they must exist, be there once, and be few enough. */
export function sequencesFault(rowCount, rowIds) {
  if (rowIds.some((ids) => ids.some((row) => row >= rowCount))) return "ROW_NOT_FOUND";
  if (rowIds.some((ids) => new Set(ids).size !== ids.length)) return "CONTRACT_VIOLATION";
  return rowIds.some((ids) => ids.length > MOST) ? "LIMIT_EXCEEDED" : undefined;
}

const DTYPES = {
  identifier: "int64",
  numerical: "float64",
  timestamp: "int64",
  boolean: "bool",
  categorical: "uint32",
  text: "uint32",
  ignored: "uint8",
};
const IDS = 2 ** 32;

const isTwice = (names) => new Set(names).size !== names.length;
const columnNames = (table) => table.columns.map(({ name }) => name);

/** The code of the first fault; undefined for a sound database. */
export function databaseFault({ tables, text_embeddings: texts }) {
  const names = tables.map(({ name }) => name);
  if (tables.some((table) => hasUnknownName(table, names))) return "UNKNOWN_TABLE";
  if (isTwice(names) || texts.dtype !== "float16" || texts.shape.length !== 2) return "CONTRACT_VIOLATION";
  if (tables.some((table) => isIllFormed(table, texts.shape[0]))) return "CONTRACT_VIOLATION";
  if (tables.some((table) => table.columns.some(hasNonFinite))) return "NON_FINITE";
  const counts = new Map(tables.map(({ name, row_count: count }) => [name, count]));
  return tables.some((table) => hasDanglingKey(table, counts)) ? "DANGLING_KEY" : undefined;
}

function hasUnknownName(table, names) {
  const columns = columnNames(table);
  const isKnown = (key) => columns.includes(key.column) && names.includes(key.table);
  const isDated = table.time_column === undefined || columns.includes(table.time_column);
  return !isDated || !table.foreign_keys.every(isKnown);
}

function isIllFormed(table, textCount) {
  const count = Number(table.row_count);
  const isOfRows = ({ shape }) => shape.length === 1 && shape[0] === count;
  const isKeyed = ({ rows }) => rows.dtype === "int64" && isOfRows(rows);
  const isFormed = (column) =>
    column.values.dtype === DTYPES[column.semantic_type] && isOfRows(column.values) &&
    column.is_null.dtype === "bool" && isOfRows(column.is_null) && hasItsRange(column, textCount);
  const dates = table.columns.filter(({ name }) => name === table.time_column);
  return (
    isTwice(columnNames(table)) ||
    !table.foreign_keys.every(isKeyed) ||
    !table.columns.every(isFormed) ||
    !dates.every((column) => column.semantic_type === "timestamp")
  );
}

/** Whether a column has what its type needs, and its values lie where they must. */
function hasItsRange(column, textCount) {
  switch (column.semantic_type) {
    case "numerical":
    case "timestamp":
      return column.mean !== undefined && column.deviation !== undefined && !(column.deviation < 0);
    case "categorical": {
      const { cat_emb_start: start, categories } = column;
      if (start === undefined || categories === undefined || Number(start) + categories.length > IDS) return false;
      return present(column).every((value) => value < categories.length);
    }
    case "text":
      return present(column).every((value) => value < textCount);
    default:
      return true;
  }
}

/** The values that are not NULL, as numbers. */
function present({ values, is_null: isNull }) {
  const nulls = elements(isNull);
  return Array.from(elements(values), Number).filter((_, row) => !nulls[row]);
}

function hasNonFinite(column) {
  const { mean, deviation } = column;
  if (mean === undefined || deviation === undefined) return false;
  const isFinite = (value) => Number.isFinite(value) && Number.isFinite(score(value, mean, deviation));
  return !Number.isFinite(mean) || !Number.isFinite(deviation) || !present(column).every(isFinite);
}

function hasDanglingKey(table, counts) {
  const leadsNowhere = ({ table: other, rows }) =>
    elements(rows).some((row) => row < -1n || row >= counts.get(other));
  return table.foreign_keys.some(leadsNowhere);
}
