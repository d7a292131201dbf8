/** Arrays of NPY 1.0: C order, little endian, plain numbers (requirement Q06). */
import { bytesOf } from "../batch/tensors.js";
import { Damaged } from "./refusal.js";

const MAGIC = Buffer.from("\x93NUMPY\x01\x00", "latin1");
const ALIGNMENT = 64;
const HEAD_BYTES = MAGIC.length + 2;
const DESCRIPTIONS = new Map([
  ["bool", "|b1"], ["uint8", "|u1"], ["uint16", "<u2"], ["uint32", "<u4"], ["uint64", "<u8"],
  ["int8", "|i1"], ["int16", "<i2"], ["int32", "<i4"], ["int64", "<i8"],
  ["float16", "<f2"], ["float32", "<f4"], ["float64", "<f8"],
]);
const DTYPES = new Map([...DESCRIPTIONS].map(([dtype, description]) => [description, dtype]));

// Only the text that NumPy writes, with as many blanks behind it as one likes (ruling QA34).
const HEADER = /^\{'descr': '([|<][a-z][0-9])', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n$/;
const SIDES = /^(?: *(?:0+|[1-9][0-9]*) *,)* *(?:0+|[1-9][0-9]*)? *$/;
const MOST_HEADER_BYTES = 4096;

/** The file of one tensor, its header padded so that the elements are aligned. */
export function writeArray({ dtype, shape, data }) {
  const sides = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${DESCRIPTIONS.get(dtype)}', 'fortran_order': False, 'shape': (${sides}), }`;
  const size = Math.ceil((HEAD_BYTES + text.length + 1) / ALIGNMENT) * ALIGNMENT - HEAD_BYTES;
  const length = Buffer.alloc(2);
  length.writeUInt16LE(size);
  return Buffer.concat([MAGIC, length, Buffer.from(`${text.padEnd(size - 1)}\n`, "latin1"), data]);
}

/** The sides that the text of a tuple lists; a single one without a comma is no tuple. */
function sidesOf(text) {
  if (!SIDES.test(text)) throw new Damaged("not the shape of an array");
  const sides = text.split(",").map((side) => side.trim());
  if (sides.at(-1) === "") sides.pop();
  else if (sides.length === 1) throw new Damaged("the shape is no tuple");
  return sides.map(BigInt);
}

function readHeader(text) {
  const [, description, shape] = HEADER.exec(text) ?? [];
  const dtype = DTYPES.get(description);
  if (dtype === undefined) throw new Damaged("not the header of an array of plain numbers");
  return { dtype, shape: sidesOf(shape) };
}

/** The tensor that a file holds; raises Damaged for any other file. */
export function readArray(content) {
  if (content.length < HEAD_BYTES || !content.subarray(0, MAGIC.length).equals(MAGIC)) throw new Damaged("no array");
  const start = HEAD_BYTES + content.readUInt16LE(MAGIC.length);
  if (start > Math.min(content.length, HEAD_BYTES + MOST_HEADER_BYTES)) throw new Damaged("the header is cut off");
  const { dtype, shape } = readHeader(content.toString("latin1", HEAD_BYTES, start));
  const data = content.subarray(start);
  const size = shape.reduce((product, side) => product * side, BigInt(bytesOf(dtype)));
  if (size !== BigInt(data.length)) throw new Damaged("another number of elements than declared");
  if (dtype === "bool" && !data.every((byte) => byte <= 1)) throw new Damaged("a byte that is no bool");
  return { dtype, shape: shape.map(Number), data };
}
