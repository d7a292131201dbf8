/** Tensors as typed arrays, and back. */

const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Uint16Array, // as bits: JavaScript has no such number
  float32: Float32Array,
  float64: Float64Array,
};

/** How many bytes one element has. */
export function bytesOf(dtype) {
  return ARRAYS[dtype].BYTES_PER_ELEMENT;
}

/** The elements of a tensor in C order; those of 64-bit integers are BigInts, those of float16 their bits. */
export function elements({ dtype, data }) {
  // A copy of its own is aligned, wherever the bytes stood in the message.
  return new ARRAYS[dtype](new Uint8Array(data).buffer);
}

/** The tensor of these elements, given in C order. */
export function tensorOf(dtype, shape, items) {
  const words = items instanceof ARRAYS[dtype] ? items : ARRAYS[dtype].from(items);
  return { dtype, shape, data: Buffer.from(words.buffer, words.byteOffset, words.byteLength) };
}

/** The parts of a tensor's elements along its first axis. */
export function partsOf(tensor) {
  const flat = elements(tensor);
  const [count, ...rest] = tensor.shape;
  const size = rest.reduce((product, side) => product * side, 1);
  return Array.from({ length: count }, (_, part) => flat.subarray(part * size, (part + 1) * size));
}

/** Whether two tensors have one shape. */
export function isShapedLike(tensor, other) {
  return tensor.shape.length === other.shape.length && tensor.shape.every((side, axis) => side === other.shape[axis]);
}
