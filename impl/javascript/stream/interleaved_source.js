/** Several parts in turns by a declared pattern; the strategy lives in the source (requirement S17). */
import { SLICE, SlicedSource, cut } from "./slice.js";

/**
 * Plays the turns one after the other and remembers what each one served.
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
    this.at = parts.map(() => ({ pass: 0n, index: 0n }));
    this.turn = 0;
    this.played = [];
    this.end = 0n;
  }

  slicesOver(pass, from, to) {
    const slices = [];
    if (from >= to) return slices;
    while (this.end < to) this.play();
    for (let k = this.slotOf(from); k < this.played.length && this.played[k].start < to; k += 1) {
      const { start, slice } = this.played[k];
      slices.push(cut({ ...slice, pass: slice.pass + pass }, start, from, to));
    }
    return slices;
  }

  /** The slot that holds the token at a position. */
  slotOf(position) {
    let low = 0;
    let high = this.played.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.played[middle].start <= position) low = middle;
      else high = middle;
    }
    return low;
  }

  play() {
    const index = this.pattern[this.turn % this.pattern.length];
    this.turn += 1;
    const source = this.parts[index];
    const { pass, index: from } = this.at[index];
    const left = source.length - from;
    if (left === 0n) return;
    const count = left < SLICE ? left : SLICE;
    const isOver = count === left && source.wraps;
    this.at[index] = isOver ? { pass: pass + 1n, index: 0n } : { pass, index: from + count };
    this.played.push({ start: this.end, slice: { source, pass, from, to: from + count } });
    this.end += count;
  }

  close() {
    for (const part of this.parts) part.close();
  }
}
