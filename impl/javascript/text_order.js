/** Compares two texts by their UTF-8 bytes. */
export function compareBytewise(left, right) {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
