import { float64, int64, list, optional, string, struct, tensor, uint32, uint64 } from "../wire.js";

/** Tensors as typed arrays, and back. */

const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Uint16Array, // as bits: JavaScript has no such number
  float32: Float32Array,
  float64: Float64Array,
};

/** How many bytes one element has. */
export function bytesOf(dtype) {
  return ARRAYS[dtype].BYTES_PER_ELEMENT;
}

/** The elements of a tensor in C order; those of 64-bit integers are BigInts, those of float16 their bits. */
export function elements({ dtype, data }) {
  // A copy of its own is aligned, wherever the bytes were in the message.
  return new ARRAYS[dtype](new Uint8Array(data).buffer);
}

/** The tensor of these elements, given in C order. */
export function tensorOf(dtype, shape, items) {
  const words = items instanceof ARRAYS[dtype] ? items : ARRAYS[dtype].from(items);
  return { dtype, shape, data: Buffer.from(words.buffer, words.byteOffset, words.byteLength) };
}

/** The parts of a tensor's elements along its first axis. */
export function partsOf(tensor) {
  const flat = elements(tensor);
  const [count, ...rest] = tensor.shape;
  const size = rest.reduce((product, side) => product * side, 1);
  return Array.from({ length: count }, (_, part) => flat.subarray(part * size, (part + 1) * size));
}

/** Whether two tensors have one shape. */
export function isShapedLike(tensor, other) {
  return tensor.shape.length === other.shape.length && tensor.shape.every((side, axis) => side === other.shape[axis]);
}

/** Where each foreign key of a row leads, -1 for nowhere; as numbers, which hold every index that can exist. */
const parents = {
  fromJson: (items) => items.map(Number),
  toJson: (items) => items.map(String),
  fromCbor: (items) => Array.from(items, Number),
  toCbor: (items) => items.map(BigInt),
};

export const GRAPH_ROW = struct({ parents, time: optional(int64), cells: uint32 });
export const GRAPH_SEED = struct({ row: uint64, time: optional(int64) });
export const CONFIG = struct({
  sequence_length: uint32,
  max_hops: optional(uint32),
  max_rows: optional(uint32),
  child_width: optional(uint32),
  children_seed: optional(uint64),
  fixed_rows: optional(uint32),
  cutoff: string,
});

const COLUMN = struct({
  name: string,
  semantic_type: string,
  values: tensor,
  is_null: tensor,
  mean: optional(float64),
  deviation: optional(float64),
  cat_emb_start: optional(uint32),
  categories: optional(list(string)),
});
const FOREIGN_KEY = struct({ column: string, table: string, rows: tensor });
const TABLE = struct({
  name: string,
  row_count: uint64,
  time_column: optional(string),
  columns: list(COLUMN),
  foreign_keys: list(FOREIGN_KEY),
});

export const DATABASE = struct({ tables: list(TABLE), text_embeddings: tensor });

/** The four tensors that say how the positions of a batch belong together. */
export const PLACED_CELLS = struct({
  column_ids: tensor,
  seq_row_ids: tensor,
  is_padding: tensor,
  fk_adj: tensor,
});
