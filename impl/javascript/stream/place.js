/**
 * Where a stream stands: `{ pass, index }`, the pass over the data and the next unread token of it (ruling SA01).
 *
 * A source says its `length`, undefined where it has no end, and whether it `wraps`.
 */

const least = (left, right) => (left < right ? left : right);
const chunksIn = (tokens, size) => (tokens + size - 1n) / size;

/** Where the chunk at a place ends; it never spans the end of the data (ruling SA05). */
export function endOfChunk(source, { index }, size) {
  return source.length === undefined ? index + size : least(index + size, source.length);
}

/** The place behind `count` chunks of one size. */
export function placeAfter(source, { pass, index }, size, count) {
  const { length, wraps } = source;
  if (length === undefined) return { pass, index: index + size * count };
  if (!wraps || length === 0n) return { pass, index: least(index + size * count, length) };
  const left = chunksIn(length - index, size);
  if (count < left) return { pass, index: index + size * count };
  const whole = chunksIn(length, size);
  const beyond = count - left;
  return { pass: pass + 1n + beyond / whole, index: (beyond % whole) * size };
}
