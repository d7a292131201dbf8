/** The shapes that the stream's methods exchange. */
import { bool, bytes, bytes16, list, optional, string, struct, uint32, uint64, uint64List } from "../wire.js";

/** A list of token ids, held as 32-bit words: a BigInt for each token would cost ten times the memory. */
export const tokenList = {
  fromJson: (items) => Uint32Array.from(items),
  toJson: (tokens) => Array.from(tokens),
  fromCbor: (items) => (items instanceof Uint32Array ? items : Uint32Array.from(items, Number)),
  toCbor: (tokens) => Array.from(tokens, BigInt),
};

const PART = {
  kind: string,
  path: optional(string),
  dtype: optional(string),
  tokens: optional(tokenList),
  boundaries: optional(uint64List),
  on_end: optional(string),
};

export const SOURCE = struct({
  ...PART,
  seed: optional(bytes16),
  parts: optional(list(struct(PART))),
  pattern: optional(tokenList),
});

export const CHUNK = struct({ tokens: tokenList, chunk_id: uint64, document_boundary: bool });

export const CURSOR_FIELDS = {
  dataset_index: uint64,
  chunk_id: uint64,
  pulse_id: uint64,
  rng_state: optional(bytes),
  content_hash: uint64,
  last_chunk_start: uint64,
  last_chunk_len: uint64,
  total_tokens: optional(uint64),
  rank: uint32,
  world_size: uint32,
};

export const CURSOR = struct(CURSOR_FIELDS);

export const MODEL = struct({ pulse_id: uint64, state: bytes });

/** The default failure record, with what a mismatch of pulses adds to it (requirement S26). */
export const FAILURE = struct({
  failure_code: string,
  failure_operator: string,
  stream_pulse: optional(uint64),
  model_pulse: optional(uint64),
  message: optional(string),
});
