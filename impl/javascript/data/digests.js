/** The hashes of NextBatch; each preimage is one flat canonical CBOR array (ruling NA14). */
import { sha256OfCbor } from "../digest.js";

/** The Philox seed of an epoch (seed 000 §3; requirement N10). */
export function epochSeed(replayToken, manifestHash, datasetKey, epoch) {
  return sha256OfCbor(["nextbatch_epoch_seed_v2", replayToken, manifestHash, datasetKey, epoch]).subarray(0, 16);
}

/** This call's contribution to the replay token, made from the inputs as given (seed 000 §0.B; ruling NA28). */
export function dataReplayToken(inputs) {
  const { kernel_replay_token: token, dataset_key: key, cursor_in: cursor, world_size: worldSize, rank } = inputs;
  return sha256OfCbor(["nextbatch_v2", token, key, cursor.epoch, cursor.global_index, worldSize, rank]);
}

/** The identity of the sampler's configuration, from the resolved values (seed 000 §6.9; ruling NA27). */
export function samplerConfigHash(samplingMode, blockSize, dropLast) {
  return sha256OfCbor([
    samplingMode,
    blockSize,
    dropLast,
    "epoch_seed_rule_v2",
    "intra_block_affine_coprime_v1",
    "rank_contiguous_shard_v1",
  ]);
}
