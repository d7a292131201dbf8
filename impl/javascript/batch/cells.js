/** The cells of a batch, position by position, in the tensors of the seed (seed 004 §1 to §3; BA15, BA17, BA19). */
import { existsSync, readFileSync } from "node:fs";
import { defaultFailure } from "../errors.js";
import { list, struct, tensor, uint32, uint64List } from "../wire.js";
import { MOST, databaseFault, lengthFault, sequencesFault } from "./faults.js";
import { numberedTables } from "./graph.js";
import { DATABASE, elements, isShapedLike, partsOf, tensorOf } from "./tensors.js";

/** The z-score of a number in binary32, 0 where nothing deviates; each step before is one of binary64 (seed 004 §2). */
export function score(value, mean, deviation) {
  return deviation === 0 ? 0 : Math.fround((value - mean) / deviation);
}

const WIDTH = 15;
const SECOND = 1_000_000n;
const DAY = 86_400n;
const ERA = 146_097; // days in 400 years
const TO_ERA = 719_468; // days from 0000-03-01 to 1970-01-01
const PLACES = ["../../../spec/batch/tables/cyclic.json", "../../../conformance/_data/spec/batch/tables/cyclic.json"];

let tables;

/** The contract's sines and cosines, which no library may compute; read when the first time is encoded. */
function cyclicTables() {
  tables ??= JSON.parse(readFileSync(PLACES.map((place) => new URL(place, import.meta.url)).find(existsSync))).tables
    .map(({ field, sin, cos }) => ({ field, sin: sin.map(binary32), cos: cos.map(binary32) }));
  return tables;
}

const binary32 = (digits) => Buffer.from(digits, "hex").readFloatBE();

/** The quotient and the remainder of a floor division. */
function floorDivide(value, divisor) {
  const remainder = ((value % divisor) + divisor) % divisor;
  return [(value - remainder) / divisor, remainder];
}

/** The seven fields of a time in microseconds, each counted from zero; Monday is 0. */
function fieldsOf(microseconds) {
  const [seconds] = floorDivide(microseconds, SECOND);
  const [days, secondOfDay] = floorDivide(seconds, DAY).map(Number);
  // Years that begin in March: their leap day is their last.
  const [, day] = floorDivide(days + TO_ERA, ERA);
  const yearOfEra = Math.floor((day - Math.floor(day / 1460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365);
  const sinceMarch = day - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * sinceMarch + 2) / 153);
  const year = yearOfEra + (marchMonth >= 10 ? 1 : 0);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const toMarch = isLeap ? 60 : 59;
  return {
    second: secondOfDay % 60,
    minute: Math.floor(secondOfDay / 60) % 60,
    hour: Math.floor(secondOfDay / 3600),
    weekday: floorDivide(days + 3, 7)[1],
    day_of_month: sinceMarch - Math.floor((153 * marchMonth + 2) / 5),
    month: (marchMonth + 2) % 12,
    day_of_year: marchMonth >= 10 ? sinceMarch - 306 : sinceMarch + toMarch,
  };
}

/** The fifteen numbers of a time. */
function encodeTimestamp(microseconds, { mean, deviation }) {
  const fields = fieldsOf(microseconds);
  const pairs = cyclicTables().flatMap(({ field, sin, cos }) => [sin[fields[field]], cos[fields[field]]]);
  return [...pairs, score(Number(microseconds), mean, deviation)];
}

/** All positions of all sequences; one that nothing was written to is padding. */
export class Cells {
  constructor(count, length) {
    this.shape = [count, length];
    const size = count * length;
    this.semantic_types = new Int8Array(size);
    this.column_ids = new Int32Array(size);
    this.seq_row_ids = new Uint16Array(size);
    this.is_null = new Uint8Array(size);
    this.numeric_values = new Float32Array(size);
    this.timestamp_values = new Float32Array(size * WIDTH);
    this.bool_values = new Uint8Array(size);
    this.categorical_embed_ids = new Uint32Array(size);
    this.text_embed_ids = new Uint32Array(size);
    this.is_target = new Uint8Array(size);
    this.is_padding = new Uint8Array(size).fill(1);
  }

  /** Writes the rows of a sequence, each with its columns in order, up to the sequence's end (ruling BA09). */
  writeSequence(sequence, tables, rowIds) {
    const [, length] = this.shape;
    let position = 0;
    for (const [seqRowId, rowIdx] of rowIds.entries()) {
      const table = tables.find(({ firstRow, rowCount }) => firstRow <= rowIdx && rowIdx < firstRow + rowCount);
      for (const column of table.cellColumns) {
        if (position === length) return;
        this.write(sequence * length + position, seqRowId, column, rowIdx - table.firstRow);
        position += 1;
      }
    }
  }

  /** Writes one cell: its place, and its value in the slot of its type; a null has none (requirement B15). */
  write(at, seqRowId, column, row) {
    this.is_padding[at] = 0;
    this.semantic_types[at] = column.code;
    this.column_ids[at] = column.id;
    this.seq_row_ids[at] = seqRowId;
    if (column.semantic_type === "identifier") return; // never null, and never a value
    if (column.nulls[row]) {
      this.is_null[at] = 1;
      return;
    }
    const value = column.values[row];
    switch (column.semantic_type) {
      case "numerical": this.numeric_values[at] = score(value, column.mean, column.deviation); break;
      case "timestamp": this.timestamp_values.set(encodeTimestamp(value, column), at * WIDTH); break;
      case "boolean": this.bool_values[at] = value; break;
      case "categorical": this.categorical_embed_ids[at] = Number(column.cat_emb_start) + value; break;
      case "text": this.text_embed_ids[at] = value; break;
    }
  }

  /** The tensors by name, without the target. */
  tensors() {
    const of = (dtype, name, shape = this.shape) => [name, tensorOf(dtype, shape, this[name])];
    return Object.fromEntries([
      of("int8", "semantic_types"),
      of("int32", "column_ids"),
      of("uint16", "seq_row_ids"),
      of("bool", "is_null"),
      of("float32", "numeric_values"),
      of("float32", "timestamp_values", [...this.shape, WIDTH]),
      of("bool", "bool_values"),
      of("uint32", "categorical_embed_ids"),
      of("uint32", "text_embed_ids"),
      of("bool", "is_padding"),
    ]);
  }
}

/** One object per sequence: its positions, its rows, and whether one of its rows refers to another. */
export function sequencesOf({ column_ids: columns, seq_row_ids: rows, is_padding: padding, fk_adj: edges }, operator) {
  const [count, length] = columns.shape;
  const isOneShape = columns.shape.length === 2 && isShapedLike(rows, columns) && isShapedLike(padding, columns);
  const isSquare = edges.shape.length === 3 && edges.shape[0] === count && edges.shape[1] === edges.shape[2];
  if (!isOneShape || !isSquare) throw defaultFailure("CONTRACT_VIOLATION", operator);
  const size = edges.shape[1];
  if (length > MOST || size > MOST) throw defaultFailure("LIMIT_EXCEEDED", operator);
  const parts = [columns, rows, padding, edges].map(partsOf);
  const sequences = Array.from({ length: count }, (_, sequence) => {
    const [columnIds, rowIds, paddings, flags] = parts.map((part) => part[sequence]);
    return { length, columnIds, rowIds, paddings, refers: (from, to) => flags[from * size + to] === 1 };
  });
  const isOutside = ({ rowIds, paddings }) => rowIds.some((row, position) => !paddings[position] && row >= size);
  if (sequences.some(isOutside)) throw defaultFailure("CONTRACT_VIOLATION", operator);
  return sequences;
}

const LINEARIZE_CELLS = "Batch.LinearizeCells";

export const CELL_TENSORS = {
  semantic_types: tensor,
  column_ids: tensor,
  seq_row_ids: tensor,
  is_null: tensor,
  numeric_values: tensor,
  timestamp_values: tensor,
  bool_values: tensor,
  categorical_embed_ids: tensor,
  text_embed_ids: tensor,
  is_padding: tensor,
};

function linearize({ database, row_ids: rowIds, sequence_length: length }) {
  const rowCount = database.tables.reduce((count, table) => count + table.row_count, 0n);
  const fault = databaseFault(database) ?? lengthFault(length) ?? sequencesFault(rowCount, rowIds);
  if (fault !== undefined) throw defaultFailure(fault, LINEARIZE_CELLS);
  const tables = numberedTables(database);
  const cells = new Cells(rowIds.length, Number(length));
  rowIds.forEach((ids, sequence) => cells.writeSequence(sequence, tables, Array.from(ids, Number)));
  return cells.tensors();
}

/** Batch.LinearizeCells: the rows of each sequence as cells, row by row, cut or padded to one length (BA09, BA15). */
export const linearizeCells = {
  name: LINEARIZE_CELLS,
  inputs: struct({ database: DATABASE, row_ids: list(uint64List), sequence_length: uint32 }),
  outputs: struct(CELL_TENSORS),
  run: linearize,
};

const REMAP_TEXT = "Batch.RemapText";
const TEXT = 5;

/** The batch-local ids, and the embeddings that they index. */
export function remap(inputs, operator) {
  const { text_embed_ids: globalIds, semantic_types: types, is_null: nulls, is_padding: paddings } = inputs;
  const embeddings = inputs.text_embeddings;
  const isOneShape = [types, nulls, paddings].every((tensorOfCells) => isShapedLike(tensorOfCells, globalIds));
  if (globalIds.shape.length !== 2 || !isOneShape || embeddings.shape.length !== 2) {
    throw defaultFailure("CONTRACT_VIOLATION", operator);
  }
  const [codes, areNull, arePadding] = [types, nulls, paddings].map(elements);
  const isText = (position) => codes[position] === TEXT && !areNull[position] && !arePadding[position];
  const texts = elements(globalIds);
  const isUnknown = (text, position) => isText(position) && text >= embeddings.shape[0];
  if (texts.some(isUnknown)) throw defaultFailure("CONTRACT_VIOLATION", operator);
  const localIds = new Map();
  const local = texts.map((text, position) => {
    if (!isText(position)) return 0;
    if (!localIds.has(text)) localIds.set(text, localIds.size);
    return localIds.get(text);
  });
  const rows = partsOf(embeddings);
  const gathered = [...localIds.keys()].flatMap((text) => [...rows[text]]);
  return {
    text_embed_ids: tensorOf("uint32", globalIds.shape, local),
    text_batch_embeddings: tensorOf("float16", [localIds.size, embeddings.shape[1]], gathered),
  };
}

/** Batch.RemapText: the texts of a batch under dense ids, each embedding once (seed 004 §6; rulings BA20 to BA22). */
export const remapText = {
  name: REMAP_TEXT,
  inputs: struct({
    text_embed_ids: tensor,
    semantic_types: tensor,
    is_null: tensor,
    is_padding: tensor,
    text_embeddings: tensor,
  }),
  outputs: struct({ text_embed_ids: tensor, text_batch_embeddings: tensor }),
  run: (inputs) => remap(inputs, REMAP_TEXT),
};
