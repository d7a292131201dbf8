/** The sampler that counts, and the seed of a file from which it begins (requirement Q13; rulings QA02, QA03). */
import { bytesOf, tensorOf } from "../batch/tensors.js";
import { crc32 } from "../crc.js";

const MULTIPLIER = 1000003n;
const PERIOD = 127;

const crcOf = (text) => BigInt(crc32(Buffer.from(text)));

/** The seed of one file. */
export function fileSeed(seed, split, seq) {
  return BigInt.asUintN(64, (seed * MULTIPLIER) ^ crcOf(split) ^ seq);
}

/** The bits of a float16 that is an integer below 2048. */
function float16Bits(number) {
  if (number === 0) return 0;
  const exponent = Math.floor(Math.log2(number));
  return ((exponent + 15) << 10) | ((number - 2 ** exponent) << (10 - exponent));
}

/** A number below the period as an element of a dtype. */
function cast(number, dtype) {
  if (dtype === "int64" || dtype === "uint64") return BigInt(number);
  if (dtype === "float16") return float16Bits(number);
  return dtype === "bool" ? Number(number !== 0) : number;
}

/** The tensor of one field over a whole file: element k in C order is (seed + crc32(name) + k) mod 127. */
export function countedTensor({ name, dtype, shape }, rowCount, seed) {
  const first = Number((seed + crcOf(name)) % BigInt(PERIOD));
  const period = Array.from({ length: PERIOD }, (_, k) => cast((first + k) % PERIOD, dtype));
  const sides = [rowCount, ...shape.map(Number)];
  const size = sides.reduce((product, side) => product * side, bytesOf(dtype));
  return { dtype, shape: sides, data: Buffer.alloc(size, tensorOf(dtype, [PERIOD], period).data) };
}
