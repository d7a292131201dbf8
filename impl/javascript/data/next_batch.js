/** UML_OS.Data.NextBatch_v2: the next micro-batch of original sample indices, from an explicit cursor. */
import { sha256OfCbor } from "../digest.js";
import { ContractFailure } from "../errors.js";
import { bytes32, mapOf, optional, string, struct, uint32, uint64, uint64List } from "../wire.js";
import { MAX_BLOCK, blockMap, blockOrder, mappedOffset } from "./blocks.js";
import { IndexList, cursor, manifest, samplingMetadata, traceRecord } from "./types.js";

const MAX_UINT64 = (1n << 64n) - 1n;

const least = (a, b) => (a < b ? a : b);

/** Each guard states what must hold of a resolved call; the first that does not hold gives the code. */
const GUARDS = [
  { code: "INVALID_DATASET_KEY", holds: ({ dataset }) => dataset !== undefined },
  { code: "CARDINALITY_MISMATCH", holds: ({ cardinality }) => cardinality > 0n },
  { code: "CARDINALITY_MISMATCH", holds: isRegistered },
  { code: "CONTRACT_VIOLATION", holds: ({ worldSize, rank }) => worldSize > 0n && rank < worldSize },
  { code: "BATCH_SIZE_INCONSISTENT", holds: isDivisibleBatch },
  { code: "BATCH_SIZE_INCONSISTENT", holds: ({ blockSize }) => blockSize > 0n },
  { code: "CONTRACT_VIOLATION", holds: ({ blockSize, cardinality }) => least(blockSize, cardinality) <= MAX_BLOCK },
  { code: "INVALID_STAGE_TYPE", holds: ({ mode }) => mode !== undefined },
  { code: "CONTRACT_VIOLATION", holds: isAccountedMode },
  { code: "BATCH_SIZE_INCONSISTENT", holds: hasFullBatch },
  { code: "GLOBAL_POSITION_EXCEEDS_CARDINALITY", holds: ({ position, cardinality }) => position < cardinality },
  { code: "COUNTER_OVERFLOW", holds: ({ position, batchSize }) => position + batchSize <= MAX_UINT64 },
  { code: "COUNTER_OVERFLOW", holds: ({ epoch }) => epoch < MAX_UINT64 },
];

/** The cardinality is the one registered for the dataset's hash; without a registry there is no check (NA29). */
function isRegistered({ registry, dataset, cardinality }) {
  return registry === undefined || registry.get(dataset.hash.toString("hex")) === cardinality;
}

/** Every rank gets the same number of samples, at least one; 0 % W is 0, so an empty batch is named apart (NA08). */
function isDivisibleBatch({ batchSize, worldSize }) {
  return batchSize > 0n && batchSize % worldSize === 0n;
}

/** The emitted subsampling mode is the one the accountant assumes, where it says so (requirement N40). */
function isAccountedMode({ accountantMode, mode }) {
  return accountantMode === undefined || accountantMode === mode.subsampling;
}

/** A train epoch that drops its last partial batch still has one batch (requirement N06). */
function hasFullBatch({ mode, dropLast, batchSize, cardinality }) {
  return !(mode.isShuffled && dropLast && batchSize > cardinality);
}

/** The code of the first guard that does not hold, or undefined. */
export function refusal(call) {
  return GUARDS.find(({ holds }) => !holds(call))?.code;
}

const NAME = "UML_OS.Data.NextBatch_v2";
const DEFAULT_BLOCK_SIZE = 1_048_576n;

const SEQUENTIAL = { isShuffled: false, subsampling: "NONE", sampling: "SEQUENTIAL_V1" };
const SHUFFLED = {
  isShuffled: true,
  subsampling: "SHUFFLE_WITHOUT_REPLACEMENT",
  sampling: "SHUFFLE_WITHOUT_REPLACEMENT_BLOCK_AFFINE_V1",
};
const MODES = new Map([["train", SHUFFLED], ["eval", SEQUENTIAL], ["infer", SEQUENTIAL]]);

/** Names the inputs once, with the defaults of absent fields filled in (ruling NA27). */
function resolve(inputs) {
  const dataset = inputs.manifest.datasets.get(inputs.dataset_key);
  return {
    dataset,
    cardinality: dataset?.cardinality,
    registry: inputs.dataset_registry,
    worldSize: inputs.world_size,
    rank: inputs.rank,
    batchSize: inputs.manifest.global_batch_size,
    blockSize: inputs.manifest.data?.sampler_block_size ?? DEFAULT_BLOCK_SIZE,
    dropLast: inputs.manifest.data?.drop_last ?? false,
    mode: MODES.get(inputs.stage_type),
    accountantMode: inputs.accountant_subsampling_mode,
    epoch: inputs.cursor_in.epoch,
    position: inputs.cursor_in.global_index,
  };
}

/** The end of the epoch: N, or under drop_last in training the last position of a full batch (seed 000 §6.10). */
function epochLimit({ mode, dropLast, cardinality, batchSize }) {
  return mode.isShuffled && dropLast ? cardinality - (cardinality % batchSize) : cardinality;
}

/** How many of `wanted` positions from `first` on lie before `limit`. */
function countBefore(limit, first, wanted) {
  if (first >= limit) return 0n;
  return limit - first < wanted ? limit - first : wanted;
}

/** Positions as they are: eval and infer (ruling NA01 ends them at N). */
function sequentialIndices(first, count) {
  const list = new IndexList(Number(count));
  list.appendRun(first, 0, 1, Number(count), Number(count));
  return list.indices;
}

/** Positions through the block order and each block's affine map; the short tail keeps its place (requirement N12). */
function shuffledIndices(first, count, { blockSize, cardinality }, seed) {
  const fullBlocks = cardinality / blockSize;
  const order = blockOrder(Number(fullBlocks), seed);
  const list = new IndexList(Number(count));
  const end = first + count;
  for (let position = first; position < end;) {
    const visit = position / blockSize;
    const localPos = position % blockSize;
    const blockId = visit === fullBlocks ? fullBlocks : BigInt(order[Number(visit)]);
    const map = blockMap(blockId, blockSize, seed, cardinality);
    const run = countBefore(BigInt(map.m), localPos, end - position);
    list.appendRun(map.start, Number(mappedOffset(map, localPos)), map.a, map.m, Number(run));
    position += run;
  }
  return list.indices;
}

/** The cursor after the call: advanced once, rolled over at the end of the epoch (seed 000 §6.12-13). */
function advance({ epoch, position }, produced, limit) {
  const next = position + produced;
  return next >= limit ? { epoch: epoch + 1n, global_index: 0n } : { epoch, global_index: next };
}

function run(inputs) {
  const call = resolve(inputs);
  const replayToken = dataReplayToken(inputs);
  const code = refusal(call);
  if (code !== undefined) throw failure(code, inputs, replayToken);

  const { mode, epoch, position, batchSize, blockSize, cardinality } = call;
  const seed = epochSeed(inputs.kernel_replay_token, inputs.manifest_hash, inputs.dataset_key, epoch);
  const microBatchSize = batchSize / call.worldSize;
  const limit = epochLimit(call);
  const first = position + call.rank * microBatchSize;
  const count = countBefore(limit, first, microBatchSize);
  const indices = mode.isShuffled ? shuffledIndices(first, count, call, seed) : sequentialIndices(first, count);
  const produced = countBefore(limit, position, batchSize);
  const cursorNext = advance(call, produced, limit);

  // Both counts are rounded to binary64 before the division, as the seed writes it (requirement N29).
  const effectiveQ = Number(batchSize) / Number(cardinality);
  const configHash = samplerConfigHash(mode.sampling, blockSize, call.dropLast);
  return {
    batch_sample_indices: indices,
    cursor_next: cursorNext,
    sampling_metadata: {
      epoch,
      global_position: position,
      is_shuffled: mode.isShuffled,
      effective_batch_size: batchSize,
      produced_count: produced,
      blocks_materialized: mode.isShuffled ? cardinality / blockSize : 0n,
      subsampling_mode: mode.subsampling,
      sampling_mode: mode.sampling,
      effective_q: effectiveQ,
      sampler_block_size: blockSize,
      sampler_config_hash: configHash,
    },
    trace_record: {
      t: inputs.t,
      epoch,
      global_position: position,
      is_shuffled: mode.isShuffled,
      micro_batch_size: microBatchSize,
      global_batch_size: batchSize,
      subsampling_mode: mode.subsampling,
      sampling_mode: mode.sampling,
      sampler_config_hash: configHash,
      effective_q: effectiveQ,
      epoch_seed_hash: sha256OfCbor(seed),
      data_replay_t: replayToken,
      cursor_before: inputs.cursor_in,
      cursor_after: cursorNext,
      produced_count: produced,
    },
  };
}

/** The failure record of NextBatch, the same five fields for every code (requirement N34). */
function failure(code, inputs, replayToken) {
  return new ContractFailure(code, {
    t: inputs.t,
    failure_code: code,
    failure_operator: NAME,
    dataset_key: inputs.dataset_key,
    data_replay_t: replayToken,
  });
}

export const nextBatch = {
  name: NAME,
  inputs: struct({
    manifest,
    dataset_key: string,
    world_size: uint32,
    rank: uint32,
    stage_type: string,
    cursor_in: cursor,
    kernel_replay_token: bytes32,
    manifest_hash: bytes32,
    t: uint64,
    dataset_registry: optional(mapOf(uint64)),
    accountant_subsampling_mode: optional(string),
  }),
  outputs: struct({
    batch_sample_indices: uint64List,
    cursor_next: cursor,
    sampling_metadata: samplingMetadata,
    trace_record: traceRecord,
  }),
  failure: struct({
    t: uint64,
    failure_code: string,
    failure_operator: string,
    dataset_key: string,
    data_replay_t: bytes32,
  }),
  run,
};

/** The Philox seed of an epoch (seed 000 §3; requirement N10). */
export function epochSeed(replayToken, manifestHash, datasetKey, epoch) {
  return sha256OfCbor(["nextbatch_epoch_seed_v2", replayToken, manifestHash, datasetKey, epoch]).subarray(0, 16);
}

/** This call's contribution to the replay token, made from the inputs as given (seed 000 §0.B; ruling NA28). */
function dataReplayToken(inputs) {
  const { kernel_replay_token: token, dataset_key: key, cursor_in: cursor, world_size: worldSize, rank } = inputs;
  return sha256OfCbor(["nextbatch_v2", token, key, cursor.epoch, cursor.global_index, worldSize, rank]);
}

/** The identity of the sampler's configuration, from the resolved values (seed 000 §6.9; ruling NA27). */
function samplerConfigHash(samplingMode, blockSize, dropLast) {
  return sha256OfCbor([
    samplingMode,
    blockSize,
    dropLast,
    "epoch_seed_rule_v2",
    "intra_block_affine_coprime_v1",
    "rank_contiguous_shard_v1",
  ]);
}
