/** The guards of NextBatch in the order that decides between several faults (ruling NA13). */
import { MAX_BLOCK } from "./seeded_intra_block_map.js";

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
