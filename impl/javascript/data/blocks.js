/** The order in which an epoch visits its full blocks, and the samples inside one (seed 000 §5). */
import { defaultFailure } from "../errors.js";
import { DrawStream, philox4x32, remainder64, seedWords } from "../philox.js";
import { bytes16, struct, uint64, uint64List } from "../wire.js";

const PERMUTE = "UML_OS.Data.SeededBlockPermute_v1";

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

function permute({ num_blocks: numBlocks, epoch_seed: epochSeed }) {
  if (numBlocks === 0n || epochSeed.length !== 16) throw defaultFailure("CONTRACT_VIOLATION", PERMUTE);
  return { block_order: BigUint64Array.from(blockOrder(Number(numBlocks), epochSeed), BigInt) };
}

/** UML_OS.Data.SeededBlockPermute_v1: the order in which an epoch visits its full blocks. */
export const seededBlockPermute = {
  name: PERMUTE,
  inputs: struct({ num_blocks: uint64, epoch_seed: bytes16 }),
  outputs: struct({ block_order: uint64List }),
  run: permute,
};

const MAP = "UML_OS.Data.SeededIntraBlockMap_v1";

/** The largest block in which a*position + c stays below 2^64 (ruling NA18). */
export const MAX_BLOCK = 1n << 32n;

function greatestCommonDivisor(a, b) {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/**
 * Chooses the multiplier: the first of 1 + (k0 mod (m-1)), its successor, and so on, that is coprime to m.
 *
 * The contract lets the search go round from m-1 to 1, but m-1 is coprime to m, so it never has to (requirement N16).
 */
function coprimeMultiplier(low, high, m) {
  let a = 1 + remainder64(low, high, m - 1);
  while (greatestCommonDivisor(a, m) !== 1) a += 1;
  return a;
}

/** Derives a block's map: position p goes to start + (a*p + c) mod m (seed 000 §5; ruling NA05). */
export function blockMap(blockId, blockSize, epochSeed, cardinality) {
  const start = blockId * blockSize;
  const rest = cardinality - start;
  const m = Number(rest < blockSize ? rest : blockSize);
  if (m === 1) return { start, m, a: 1, c: 0 };
  const [k0, k1, base0, base1] = seedWords(epochSeed);
  const words = new Uint32Array(4);
  philox4x32(base0, base1, Number(blockId & 0xffffffffn), Number(blockId >> 32n), k0, k1, words);
  return { start, m, a: coprimeMultiplier(words[0], words[1], m), c: remainder64(words[2], words[3], m) };
}

/** The offset inside the block that a position goes to; the product needs 64 bits, hence BigInt. */
export function mappedOffset({ m, a, c }, localPos) {
  return (BigInt(a) * localPos + BigInt(c)) % BigInt(m);
}

function mapPosition(inputs) {
  const { block_id: blockId, local_pos: localPos, block_size: blockSize, epoch_seed: epochSeed, cardinality } = inputs;
  const start = blockId * blockSize;
  const rest = cardinality - start;
  const m = rest < blockSize ? rest : blockSize;
  const legal = blockSize > 0n && rest > 0n && m <= MAX_BLOCK && localPos < m && epochSeed.length === 16;
  if (!legal) throw defaultFailure("CONTRACT_VIOLATION", MAP);
  const map = blockMap(blockId, blockSize, epochSeed, cardinality);
  return { original_index: map.start + mappedOffset(map, localPos) };
}

/** UML_OS.Data.SeededIntraBlockMap_v1: an affine bijection of the positions inside one block. */
export const seededIntraBlockMap = {
  name: MAP,
  inputs: struct({
    block_id: uint64,
    local_pos: uint64,
    block_size: uint64,
    epoch_seed: bytes16,
    cardinality: uint64,
  }),
  outputs: struct({ original_index: uint64 }),
  run: mapPosition,
};
