/**
 * Philox4x32-10 and the draws made from it (seed 000 §0.B; rulings NA02, NA03, NA04).
 *
 * Everything is 32-bit words held in numbers: a BigInt multiply per round would cost fifty times as much.
 */

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;

/** The upper 32 bits of the product of two 32-bit words. */
function multiplyHigh(a, b) {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  return (aHigh * bHigh + (middle >>> 16) + ((aLow * bHigh + (middle & 0xffff)) >>> 16)) >>> 0;
}

/** Encrypts the counter (c0..c3) under the key (k0, k1) and writes the four words to `block`. */
export function philox4x32(c0, c1, c2, c3, k0, k1, block) {
  for (let round = 0; round < ROUNDS; round += 1) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low0 = Math.imul(MULTIPLIER_0, c0);
    const low1 = Math.imul(MULTIPLIER_1, c2);
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1 >>> 0;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0 >>> 0;
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }
  block[0] = c0;
  block[1] = c1;
  block[2] = c2;
  block[3] = c3;
}

/** Splits a 16-byte seed into its four little-endian words: two of key, two of counter (ruling NA02). */
export function seedWords(seed) {
  const view = new DataView(seed.buffer, seed.byteOffset, seed.byteLength);
  return [0, 4, 8, 12].map((offset) => view.getUint32(offset, true));
}

/**
 * The remainder of the 64-bit value `high * 2^32 + low` by a divisor of at most 2^32.
 *
 * Two steps of 16 bits keep every intermediate below 2^48, where a number is exact.
 */
export function remainder64(low, high, divisor) {
  const upper = ((high % divisor) * 0x10000 + (low >>> 16)) % divisor;
  return (upper * 0x10000 + (low & 0xffff)) % divisor;
}

/** The draws of one seed: each increments the 128-bit counter, then encrypts it (ruling NA04). */
export class DrawStream {
  constructor(seed) {
    const [k0, k1, base0, base1] = seedWords(seed);
    this.k0 = k0;
    this.k1 = k1;
    this.counter = new Uint32Array([base0, base1, 0, 0]);
    this.block = new Uint32Array(4);
  }

  /** Makes the next draw and returns its four words; the draw's value is w0 + 2^32 * w1 (ruling NA03). */
  next() {
    const { counter, block } = this;
    for (let word = 0; word < 4; word += 1) {
      counter[word] += 1;
      if (counter[word] !== 0) break;
    }
    philox4x32(counter[0], counter[1], counter[2], counter[3], this.k0, this.k1, block);
    return block;
  }

  /** Makes the next draw and reduces its value modulo `bound`, at most 2^32. */
  nextModulo(bound) {
    const block = this.next();
    return remainder64(block[0], block[1], bound);
  }
}
