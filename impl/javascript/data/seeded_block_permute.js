/** UML_OS.Data.SeededBlockPermute_v1: the order in which an epoch visits its full blocks. */
import { DEFAULT_FAILURE, defaultFailure } from "../errors.js";
import { DrawStream } from "../philox.js";
import { bytes16, struct, uint64, uint64List } from "../wire.js";

const NAME = "UML_OS.Data.SeededBlockPermute_v1";

/**
 * Shuffles 0..numBlocks-1 by a forward Fisher-Yates with one draw per step (seed 000 §5; ruling NA04).
 *
 * The order holds at most 8 bytes per block (ruling NA20): 32-bit block ids, since no order above 2^32 fits anyway.
 */
export function blockOrder(numBlocks, epochSeed) {
  const order = new Uint32Array(numBlocks);
  for (let block = 0; block < numBlocks; block += 1) order[block] = block;
  const draws = new DrawStream(epochSeed);
  for (let i = 0; i < numBlocks - 1; i += 1) {
    const j = i + draws.nextModulo(numBlocks - i);
    const block = order[i];
    order[i] = order[j];
    order[j] = block;
  }
  return order;
}

function run({ num_blocks: numBlocks, epoch_seed: epochSeed }) {
  if (numBlocks === 0n || epochSeed.length !== 16) throw defaultFailure("CONTRACT_VIOLATION", NAME);
  return { block_order: BigUint64Array.from(blockOrder(Number(numBlocks), epochSeed), BigInt) };
}

export const seededBlockPermute = {
  name: NAME,
  inputs: struct({ num_blocks: uint64, epoch_seed: bytes16 }),
  outputs: struct({ block_order: uint64List }),
  failure: DEFAULT_FAILURE,
  run,
};
