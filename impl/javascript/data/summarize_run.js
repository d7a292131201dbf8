/** UML_OS.Data.SummarizeRun_v1: the header and the totals of a run's trace (seed 000 §7). */
import { defaultFailure } from "../errors.js";
import { bool, list, mapOf, string, struct, uint64 } from "../wire.js";
import { traceRecord } from "./types.js";

const NAME = "UML_OS.Data.SummarizeRun_v1";
const MAX_UINT64 = (1n << 64n) - 1n;

function run(inputs) {
  const records = inputs.trace_records;
  const total = records.reduce((sum, record) => sum + record.produced_count, 0n);
  if (total > MAX_UINT64) throw defaultFailure("COUNTER_OVERFLOW", NAME);
  return {
    run_header: {
      dataset_key: inputs.dataset_key,
      cardinality: inputs.cardinality,
      sampler_block_size: inputs.sampler_block_size,
      is_shuffled_per_stage: new Map([["train", true], ["eval", false], ["infer", false]]),
    },
    run_end: { final_epoch: records.at(-1)?.cursor_after.epoch ?? 0n, total_samples_seen: total },
  };
}

export const summarizeRun = {
  name: NAME,
  inputs: struct({
    dataset_key: string,
    cardinality: uint64,
    sampler_block_size: uint64,
    trace_records: list(traceRecord),
  }),
  outputs: struct({
    run_header: struct({
      dataset_key: string,
      cardinality: uint64,
      sampler_block_size: uint64,
      is_shuffled_per_stage: mapOf(bool),
    }),
    run_end: struct({ final_epoch: uint64, total_samples_seen: uint64 }),
  }),
  run,
};
