/** Several parts in turns by a declared pattern; the strategy lives in the source (requirement S17). */
import { SLICE, SlicedSource, cut } from "./slice.js";

const slicesIn = (tokens) => (tokens + SLICE - 1n) / SLICE;
const least = (left, right) => (left < right ? left : right);

/**
 * Finds the round of turns that a position lies in, and plays the turns from there.
 *
 * A slice stops at the end of its part; the part then begins again, or, if it stops, has no more turns.
 */
export class InterleavedSource extends SlicedSource {
  constructor(parts, declaration) {
    const pattern = Array.from(declaration.pattern);
    const served = [...new Set(pattern)].map((index) => parts[index]);
    const isEndless = served.some((part) => part.wraps && part.length > 0n);
    super(isEndless ? undefined : served.reduce((sum, part) => sum + part.length, 0n), declaration);
    this.parts = parts;
    this.pattern = pattern;
    this.turns = parts.map((part, index) => BigInt(pattern.filter((other) => other === index).length));
  }

  slicesOver(pass, from, to) {
    const slices = [];
    if (from >= to) return slices;
    const round = this.roundOf(from);
    const taken = this.turns.map((turns) => turns * round);
    let start = this.before(round);
    for (let turn = 0; start < to; turn = (turn + 1) % this.pattern.length) {
      const index = this.pattern[turn];
      const slice = sliceOf(this.parts[index], taken[index]);
      taken[index] += 1n;
      const end = start + slice.to - slice.from;
      if (end > start && end > from) slices.push(cut({ ...slice, pass: slice.pass + pass }, start, from, to));
      start = end;
    }
    return slices;
  }

  /** The last round that begins at a position or before it, found bit by bit: every round has a token until the end. */
  roundOf(position) {
    let round = 0n;
    for (let bit = 1n << BigInt(position.toString(2).length); bit > 0n; bit >>= 1n) {
      if (this.before(round + bit) <= position) round += bit;
    }
    return round;
  }

  /** The tokens that all parts have served before a round. */
  before(round) {
    return this.parts.reduce((sum, part, index) => sum + tokensIn(part, this.turns[index] * round), 0n);
  }

  close() {
    for (const part of this.parts) part.close();
  }
}

/** The slice of a part that so many others come before; empty where it has no more. */
function sliceOf(source, count) {
  const slices = slicesIn(source.length);
  const goesOn = source.wraps && slices > 0n;
  const from = goesOn ? (count % slices) * SLICE : least(count * SLICE, source.length);
  return { source, pass: goesOn ? count / slices : 0n, from, to: least(from + SLICE, source.length) };
}

/** The tokens in the first slices of a part. */
function tokensIn(part, count) {
  const { pass, from } = sliceOf(part, count);
  return pass * part.length + from;
}
