/** The shapes that the batch operators exchange (impl/reference/batch/README.md). */
import { float64, int64, list, optional, string, struct, tensor, uint32, uint64 } from "../types.js";

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
