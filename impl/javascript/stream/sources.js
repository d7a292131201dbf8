/** The token sources of a stream: stored, interactive, shuffled and interleaved inputs, and how each is opened. */
import { encodeCanonical } from "../cbor.js";
import { blockOrder } from "../data/blocks.js";
import { sha256OfCbor } from "../digest.js";
import { SLICE, SlicedSource, cut } from "./stream.js";
import { SuppliedSource } from "./supplied.js";
import { openTokenFile } from "./token_file.js";

/** What a user types, token by token; it cannot be repeated (requirement S18). */
export class InteractiveSource {
  isSeekable = false;
  wraps = false;

  constructor() {
    this.base = 0n;
    this.said = [];
    this.breakOffsets = new Set();
    this.hasEnded = false;
  }

  get heard() {
    return this.base + BigInt(this.said.length);
  }

  /** Where the data end, as far as anybody knows: what was not said yet may be said. */
  get length() {
    return this.heard;
  }

  get totalTokens() {
    return undefined;
  }

  push(tokens, isBreak) {
    for (const token of tokens) this.said.push(token);
    if (isBreak) this.breakOffsets.add(this.heard);
  }

  isReady(wanted) {
    return this.hasEnded || this.heard >= wanted;
  }

  tokens(pass, from, to) {
    const tokens = Uint32Array.from(this.said.slice(Number(from - this.base), Number(to - this.base)));
    this.forget(to);
    return tokens;
  }

  breaks(pass, from, to) {
    if (to > from && this.hasEnded && to === this.heard) return true;
    return [...this.breakOffsets].some((offset) => from < offset && offset <= to);
  }

  forget(to) {
    this.said.splice(0, Number(to - this.base));
    this.base = to;
  }

  randomState() {
    return undefined;
  }

  /** What was said and not served is the beginning of the new context. */
  restart(position) {
    this.forget(position);
    this.resume(0n);
  }

  resume(position) {
    const shift = position - this.base;
    this.breakOffsets = new Set([...this.breakOffsets].filter((at) => at > this.base).map((at) => at + shift));
    this.base = position;
  }

  close() {}
}

const slicesIn = (tokens) => (tokens + SLICE - 1n) / SLICE;
const least = (left, right) => (left < right ? left : right);

/**
 * Finds the round of turns that a position lies in, and plays the turns from there.
 *
 * A slice stops at the end of its part; the part then begins again, or, if it stops, has no more turns.
 */
class InterleavedSource extends SlicedSource {
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

class ShuffledSource extends SlicedSource {
  constructor(part, declaration) {
    super(part.length, declaration);
    this.part = part;
    this.seed = declaration.seed;
    this.orders = new Map();
  }

  slicesOver(pass, from, to) {
    const slices = [];
    const order = this.orderOf(pass);
    for (let start = from - (from % SLICE); start < to; start += SLICE) {
      const slot = start / SLICE;
      const first = SLICE * (slot < order.length ? BigInt(order[Number(slot)]) : slot);
      const last = first + SLICE < this.length ? first + SLICE : this.length;
      slices.push(cut({ source: this.part, pass: 0n, from: first, to: last }, start, from, to));
    }
    return slices;
  }

  randomState(pass) {
    return encodeCanonical([this.seed, pass]);
  }

  orderOf(pass) {
    const known = this.orders.get(pass);
    if (known !== undefined) return known;
    const full = Number(this.length / SLICE);
    const drawn = pass === 0n ? this.seed : sha256OfCbor(["stream_shuffle", this.seed, pass]).subarray(0, 16);
    const order = full === 0 ? [] : blockOrder(full, drawn);
    this.orders = new Map([[pass, order]]);
    return order;
  }

  close() {
    this.part.close();
  }
}

/** Tokens that are all there: given in the call, or standing in a file (requirements S02, S06, S15). */

/** What is the same for both; `words` reads the tokens of a half-open range. */
class StoredSource {
  isSeekable = true;

  constructor(length, declaration) {
    this.length = BigInt(length);
    this.wraps = declaration.on_end !== "stop";
    this.boundaries = declaration.boundaries ?? [];
  }

  tokens(pass, from, to) {
    return this.words(Number(from), Number(to));
  }

  /** Whether a document, or the data, ends behind a token of the range (rulings SA07, SA09). */
  breaks(pass, from, to) {
    return to > from && (to === this.length || this.boundaries.some((offset) => from < offset && offset <= to));
  }

  randomState() {
    return undefined;
  }

  isReady() {
    return true;
  }

  restart() {}

  resume() {}

  close() {}
}

/** Tokens in memory. */
class GivenTokens extends StoredSource {
  constructor(declaration) {
    super(declaration.tokens.length, declaration);
    this.given = declaration.tokens;
  }

  words(from, to) {
    return this.given.slice(from, to);
  }
}

/** Tokens in an open file, see `token_file.js`. */
class FiledTokens extends StoredSource {
  constructor(file, declaration) {
    super(file.count, declaration);
    this.file = file;
  }

  words(from, to) {
    return this.file.read(from, to);
  }

  close() {
    this.file.close();
  }
}

/** Whether offsets never descend. */
function isSorted(offsets) {
  return offsets.every((offset, at) => at === 0 || offsets[at - 1] <= offset);
}

function holdsTokens({ kind, path, tokens, boundaries = [] }) {
  return (kind === "file" ? path : tokens) !== undefined && isSorted(boundaries);
}

/** Whether a declaration says everything that its kind has to say, as far as no file decides it. */
export function isComplete(declaration) {
  const { kind, seed, parts = [], pattern = [], boundaries = [], on_end: onEnd } = declaration;
  if (kind === "interactive") return onEnd === "stop" && boundaries.length === 0;
  if (kind === "iterator") return boundaries.length === 0;
  if (kind === "interleaved") {
    const isInRange = pattern.length > 0 && pattern.every((index) => index < parts.length);
    return isInRange && parts.every(holdsTokens);
  }
  if (kind === "shuffled") return seed !== undefined && parts.length === 1 && parts.every(holdsTokens);
  return holdsTokens(declaration);
}

function openStored(declaration, root) {
  return declaration.kind === "file"
    ? new FiledTokens(openTokenFile(root, declaration), declaration)
    : new GivenTokens(declaration);
}

/** Opens a complete declaration; raises UnusableFile, and leaves no file open then. */
export function openSource(declaration, root) {
  if (declaration.kind === "interactive") return new InteractiveSource();
  if (declaration.kind === "iterator") return new SuppliedSource(declaration);
  if (declaration.kind !== "interleaved" && declaration.kind !== "shuffled") return openStored(declaration, root);
  const parts = [];
  try {
    for (const part of declaration.parts) parts.push(openStored(part, root));
  } catch (error) {
    for (const part of parts) part.close();
    throw error;
  }
  return declaration.kind === "shuffled"
    ? new ShuffledSource(parts[0], declaration)
    : new InterleavedSource(parts, declaration);
}
