/** One rank's stream: chunk after chunk, and the cursor from which it goes on (seed 003 §Stream, §Coupling). */
import { defaultFailure } from "../errors.js";
import { contentHash } from "./content_hash.js";
import { isBelowFirst } from "./frequencies.js";
import { endOfChunk, placeAfter } from "./place.js";

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

  /** Takes over where a cursor says that another stream stood. */
  resume(cursor, pass) {
    this.source.resume(cursor.dataset_index);
    this.place = { pass, index: cursor.dataset_index };
    this.chunkId = cursor.chunk_id;
    this.pulseId = cursor.pulse_id;
    this.last = { start: cursor.last_chunk_start, length: cursor.last_chunk_len, hash: cursor.content_hash };
  }
}
