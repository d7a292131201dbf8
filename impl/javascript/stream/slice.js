/** Slices of 256 tokens of parts, one behind the other: what interleaved and shuffled sources are made of. */

export const SLICE = 256n;

/** What a range of a sliced source holds, from `slicesOver(pass, from, to)`: `{ source, pass, from, to }` each. */
export class SlicedSource {
  isSeekable = true;

  constructor(length, declaration) {
    this.length = length;
    this.wraps = declaration.on_end !== "stop";
  }

  tokens(pass, from, to) {
    const pieces = this.slicesOver(pass, from, to).map((slice) => slice.source.tokens(slice.pass, slice.from, slice.to));
    const tokens = new Uint32Array(Number(to - from));
    let filled = 0;
    for (const piece of pieces) {
      tokens.set(piece, filled);
      filled += piece.length;
    }
    return tokens;
  }

  /** A document that ends in a part ends wherever that token comes to stand, and the last one with the data. */
  breaks(pass, from, to) {
    if (to > from && to === this.length) return true;
    return this.slicesOver(pass, from, to).some((slice) => slice.source.breaks(slice.pass, slice.from, slice.to));
  }

  randomState() {
    return undefined;
  }

  isReady() {
    return true;
  }

  restart() {}

  resume() {}
}

/** The part of a slice, standing at `start` of the whole, that lies in [from, to). */
export function cut({ source, pass, from: first, to: last }, start, from, to) {
  const end = start + last - first;
  return {
    source,
    pass,
    from: first + (from > start ? from - start : 0n),
    to: last - (end > to ? end - to : 0n),
  };
}
