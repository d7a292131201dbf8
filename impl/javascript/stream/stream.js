/** One rank's stream: chunk after chunk, and the cursor from which it goes on (seed 003 §Stream, §Coupling). */
import { defaultFailure } from "../errors.js";
import { optional, string, struct, uint64, uint64List } from "../wire.js";

const FIRING_COUNTS = "Stream.FiringCounts";

/** Whether there is at least one level and none of them fires after zero tokens. */
export function isSchedule(frequencies) {
  return frequencies.length > 0 && !frequencies.includes(0n);
}

/** Whether a chunk is so small that the first level does not fire in it. */
function isBelowFirst(chunkSize, frequencies) {
  return chunkSize < 1n || chunkSize < frequencies[0];
}

/** The warnings that a legal chunk size deserves. */
export function warningsFor(chunkSize, frequencies) {
  const slowest = frequencies.reduce((most, frequency) => (frequency > most ? frequency : most));
  const warnings = [];
  if (chunkSize < slowest) warnings.push("CHUNK_BELOW_MAX_FREQUENCY");
  if (chunkSize % slowest !== 0n) warnings.push("CHUNK_NOT_MULTIPLE");
  return warnings;
}

/** How often one level fires while the clock runs from `clock` to `clock + size`. */
function byTokens(clock, size, frequency) {
  // After `due` more tokens it fires for the first time, then after each further `frequency`.
  const due = frequency - (clock % frequency);
  return size < due ? 0n : 1n + (size - due) / frequency;
}

function byStep(step, size, frequency) {
  return step % frequency === 0n || size >= frequency ? 1n : 0n;
}

function countFirings({ clock, chunk_size: size, cms_frequencies: frequencies, variant }) {
  if (!isSchedule(frequencies)) throw defaultFailure("CONTRACT_VIOLATION", FIRING_COUNTS);
  if (size === 0n) throw defaultFailure("CHUNK_TOO_SMALL", FIRING_COUNTS);
  const isStep = variant === "step";
  if (!isStep && size > MAX_UINT64 - clock) throw defaultFailure("COUNTER_OVERFLOW", FIRING_COUNTS);
  const count = isStep ? byStep : byTokens;
  return { counts: frequencies.map((frequency) => count(clock, size, frequency)) };
}

/** Chunk sizes against the CMS schedule: which levels fire, and how often (requirements S10-S14; ruling SA20). */
export const firingCounts = {
  name: FIRING_COUNTS,
  inputs: struct({ clock: uint64, chunk_size: uint64, cms_frequencies: uint64List, variant: optional(string) }),
  outputs: struct({ counts: uint64List }),
  run: countFirings,
};

/** FNV-1a with 64 bits over token ids as little-endian u32 (requirement S31; ruling SA10). */

const BASIS = 14695981039346656037n;
const PRIME = 1099511628211n;

/** The hash of a chunk's tokens; zero where there are none (ruling SA11). */
export function contentHash(tokens) {
  if (tokens.length === 0) return 0n;
  const words = Buffer.alloc(4 * tokens.length);
  tokens.forEach((token, at) => words.writeUInt32LE(token, 4 * at));
  let hash = BASIS;
  for (const byte of words) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  return hash;
}

/**
 * The place of a stream: `{ pass, index }`, the pass over the data and the next unread token of it (ruling SA01).
 *
 * A source says its `length`, undefined where it has no end, and whether it `wraps`.
 */

const least = (left, right) => (left < right ? left : right);
const chunksIn = (tokens, size) => (tokens + size - 1n) / size;

/** Where the chunk at a place ends; it never spans the end of the data (ruling SA05). */
export function endOfChunk(source, place, size) {
  if (source.isSupplied) return source.endOfChunk(place, size);
  const { index } = place;
  return source.length === undefined ? index + size : least(index + size, source.length);
}

/** The place behind `count` chunks of one size. */
export function placeAfter(source, place, size, count) {
  if (source.isSupplied) return source.placeAfter(place, size, count);
  const { pass, index } = place;
  const { length, wraps } = source;
  if (length === undefined) return { pass, index: index + size * count };
  if (!wraps || length === 0n) return { pass, index: least(index + size * count, length) };
  const left = chunksIn(length - index, size);
  if (count < left) return { pass, index: index + size * count };
  const whole = chunksIn(length, size);
  const beyond = count - left;
  return { pass: pass + 1n + beyond / whole, index: (beyond % whole) * size };
}

const NEXT_CHUNK = "Stream.NextChunk";
const MAX_UINT64 = (1n << 64n) - 1n;

/** The length of a pass where it is known before anything is read (ruling SA13). */
export function totalTokens(source) {
  return source.isSeekable ? source.length : undefined;
}

export class Stream {
  constructor(source, { rank, worldSize, frequencies }) {
    Object.assign(this, { source, rank, worldSize, frequencies });
    this.place = { pass: 0n, index: 0n };
    this.chunkId = 0n;
    this.pulseId = 0n;
    this.last = { start: 0n, length: 0n, hash: 0n };
    this.isStepOpen = false;
  }

  /** The chunk of this rank in the next round; undefined where there is none (rulings SA02-SA07, SA18). */
  nextChunk(size) {
    if (isBelowFirst(size, this.frequencies)) throw defaultFailure("CHUNK_TOO_SMALL", NEXT_CHUNK);
    if (this.isStepOpen) throw defaultFailure("STEP_OPEN", NEXT_CHUNK);
    const { source, place, worldSize, rank } = this;
    const chunkId = this.chunkId === 0n ? rank + 1n : this.chunkId + worldSize;
    if (chunkId > MAX_UINT64) throw defaultFailure("COUNTER_OVERFLOW", NEXT_CHUNK);
    if (!source.isReady(place.index + size * worldSize)) return undefined;
    const next = placeAfter(source, place, size, worldSize);
    if (next.index > MAX_UINT64 || next.pass > MAX_UINT64) throw defaultFailure("COUNTER_OVERFLOW", NEXT_CHUNK);
    const chunk = this.#serve(placeAfter(source, place, size, rank), size, chunkId);
    this.place = next;
    if (source.isSupplied) source.settle(next);
    return chunk;
  }

  #serve(own, size, chunkId) {
    const end = endOfChunk(this.source, own, size);
    if (end === own.index) return undefined;
    const isBoundary = this.source.breaks(own.pass, own.index, end);
    const tokens = this.source.tokens(own.pass, own.index, end);
    this.chunkId = chunkId;
    this.last = { start: own.index, length: end - own.index, tokens };
    this.isStepOpen = true;
    return { tokens, chunk_id: chunkId, document_boundary: isBoundary };
  }

  advance(pulseId) {
    this.pulseId = pulseId;
    this.isStepOpen = false;
  }

  /** Back to the first token of this pass; everything else goes on (ruling SA03). */
  reset() {
    this.source.restart(this.place.index);
    this.place = { pass: this.place.pass, index: 0n };
  }

  cursor() {
    this.last.hash ??= contentHash(this.last.tokens);
    const cursor = {
      dataset_index: this.place.index,
      chunk_id: this.chunkId,
      pulse_id: this.pulseId,
      content_hash: this.last.hash,
      last_chunk_start: this.last.start,
      last_chunk_len: this.last.length,
      rank: this.rank,
      world_size: this.worldSize,
    };
    const state = this.source.randomState(this.place.pass);
    const total = totalTokens(this.source);
    if (state !== undefined) cursor.rng_state = state;
    if (total !== undefined) cursor.total_tokens = total;
    return cursor;
  }

  /** Takes over where a cursor says that another stream was. */
  resume(cursor, pass) {
    this.source.resume(cursor.dataset_index, pass);
    this.place = { pass, index: cursor.dataset_index };
    this.chunkId = cursor.chunk_id;
    this.pulseId = cursor.pulse_id;
    this.last = { start: cursor.last_chunk_start, length: cursor.last_chunk_len, hash: cursor.content_hash };
  }
}

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

  /** A document that ends in a part ends wherever that token goes, and the last one with the data. */
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
