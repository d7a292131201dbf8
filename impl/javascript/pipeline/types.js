/** The shapes that the methods of the pipeline exchange. */
import { bool, float64, list, optional, string, struct, tensor, uint64, value } from "../wire.js";

export const PROVIDER_CONFIG = struct({
  batch_size: uint64,
  block_size: optional(uint64),
  target_size: optional(uint64),
  batches_per_file: optional(uint64),
  max_backlog_files: optional(uint64),
  sleep_seconds: optional(float64),
  seed: optional(uint64),
  verbose: optional(bool),
  codec: string,
  meta: value,
  sampler: string,
  splits: optional(list(string)),
});

export const CONSUMER_CONFIG = struct({
  prefer_queue: optional(bool),
  cache_files: optional(uint64),
  high_watermark: optional(uint64),
  low_watermark: optional(uint64),
  batch_size: optional(uint64),
  codec: optional(string),
});

export const BATCH_FIELD = struct({ name: string, tensor });

export const FIELD_SPEC = struct({ name: string, dtype: string, shape: list(uint64), role: optional(string) });

export const SPLIT_STATS = struct({
  batches: uint64,
  files_loaded: uint64,
  files_finished: uint64,
  files_quarantined: uint64,
  files_held: uint64,
  files_undeleted: uint64,
  backlog: uint64,
  above_high: bool,
  below_low: bool,
  current_file: optional(string),
  current_batch: uint64,
  current_row: uint64,
});

/** What stops a step of the queue: a code of the contract, or a file that is none. */

/** The step is refused with a code; the machine adds the name of the operation. */
export class Refusal extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** The bytes are no batch file, no archive or no metadata (rulings QA14, QA21). */
export class Damaged extends Error {}

/** The file is whole, but something in it is not this queue's (ruling QA35). */
export class Foreign extends Error {}
