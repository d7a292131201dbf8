/** The structs that the operators of the data family share (INTERFACES, "data"). */
import { bool, bytes32, float64, mapOf, optional, string, struct, uint64 } from "../types.js";

export const cursor = struct({ epoch: uint64, global_index: uint64 });

export const manifest = struct({
  datasets: mapOf(struct({ id: string, version: string, hash: bytes32, cardinality: uint64 })),
  global_batch_size: uint64,
  data: optional(struct({ sampler_block_size: optional(uint64), drop_last: optional(bool) })),
});

export const samplingMetadata = struct({
  epoch: uint64,
  global_position: uint64,
  is_shuffled: bool,
  effective_batch_size: uint64,
  produced_count: uint64,
  blocks_materialized: uint64,
  subsampling_mode: string,
  sampling_mode: string,
  effective_q: float64,
  sampler_block_size: uint64,
  sampler_config_hash: bytes32,
});

export const traceRecord = struct({
  t: uint64,
  epoch: uint64,
  global_position: uint64,
  is_shuffled: bool,
  micro_batch_size: uint64,
  global_batch_size: uint64,
  subsampling_mode: string,
  sampling_mode: string,
  sampler_config_hash: bytes32,
  effective_q: float64,
  epoch_seed_hash: bytes32,
  data_replay_t: bytes32,
  cursor_before: cursor,
  cursor_after: cursor,
  produced_count: uint64,
});
