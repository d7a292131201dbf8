/** Hands out the batches of every split in order (seed 001, DatasetConsumer API). */
import { join } from "node:path";
import { kindAt, namesIn, shownName } from "../checkpoint/durable.js";
import { compareBytewise } from "../digest.js";
import { metadataOf, readMetadataItem } from "./metadata.js";
import { CODECS, QUEUE, SPLITS, isLegacyName, isSplit } from "./names.js";
import { LegacySource, QueueSource } from "./sources.js";
import { Refusal } from "./types.js";

/** The position in one split: the file in hand, its next row, and what was handed out (requirements Q29, Q31, Q39). */
class SplitReader {
  #file;
  #row = 0;
  #batch = 0;
  #handedOut = 0n;

  constructor(source) {
    this.source = source;
  }

  /** Whether the next batch does not wait. */
  isReady() {
    this.source.tidy();
    return this.#file !== undefined || this.source.isThere();
  }

  /** The fields of the next batch; undefined where no file is there. */
  next(size) {
    this.source.tidy();
    this.#file ??= this.source.take();
    if (this.#file === undefined) return undefined;
    const { fields, stop } = this.#file.batch(this.#row, size);
    this.#handedOut += 1n;
    this.#batch += 1;
    this.#row = stop;
    if (stop === this.#file.rowCount) {
      const finished = this.#file;
      this.#begin(undefined);
      this.source.finish(finished);
    }
    return fields;
  }

  #begin(file) {
    this.#file = file;
    this.#row = this.#batch = 0;
  }

  reset() {
    this.#begin(this.source.reset() ? undefined : this.#file);
  }

  stats({ high, low }) {
    const backlog = BigInt(this.source.backlog());
    const stats = {
      batches: this.#handedOut,
      files_loaded: this.source.counts.loaded,
      files_finished: this.source.counts.finished,
      files_quarantined: this.source.counts.quarantined,
      files_held: BigInt(this.source.held(this.#file)),
      files_undeleted: BigInt(this.source.undeleted),
      backlog,
      above_high: backlog > high,
      below_low: backlog <= low,
      current_batch: BigInt(this.#batch),
      current_row: BigInt(this.#row),
    };
    return this.#file === undefined ? stats : { ...stats, current_file: shownName(this.#file.name) };
  }
}

const DEFAULTS = { prefer_queue: true, cache_files: 1n, high_watermark: 2n, low_watermark: 0n };

/** Whether the queue is read: it is there, or nothing else is (rulings QA19, QA28). */
function readsQueue(root, prefersQueue) {
  if (!prefersQueue) return false;
  return kindAt(join(root, QUEUE)) !== undefined || !namesIn(root).some((name) => isLegacyName(name));
}

export class Consumer {
  #readers = new Map();
  #warnings = new Set();

  constructor(root, given) {
    const config = { ...DEFAULTS, ...given };
    if (config.cache_files === 0n) throw new Refusal("CONFIG_INVALID");
    const item = readMetadataItem(root);
    if (item === undefined) throw new Refusal("META_MISSING");
    this.metadata = metadataOf(item);
    if (this.metadata === undefined) throw new Refusal("META_INVALID");
    if (config.codec !== undefined && !CODECS.includes(config.codec)) throw new Refusal("CONFIG_INVALID");
    if (this.metadata.ignores) this.#warnings.add("KEY_IGNORED");
    Object.assign(this, { root, config, isOpen: true });
    this.setBatchSize(config.batch_size ?? this.metadata.batchSize);
    this.mode = readsQueue(root, config.prefer_queue) ? "queue" : "legacy";
    for (const split of SPLITS) this.#reader(split);
  }

  get schema() {
    return this.metadata.schema;
  }

  /** The position in a split, from the first time that it is asked for. */
  #reader(split) {
    const Source = this.mode === "queue" ? QueueSource : LegacySource;
    if (!this.#readers.has(split)) {
      const { schema } = this;
      const cacheFiles = Number(this.config.cache_files);
      const { codec } = this.config;
      const source = new Source(this.root, split, { schema, cacheFiles, codec, warnings: this.#warnings });
      this.#readers.set(split, new SplitReader(source));
    }
    return this.#readers.get(split);
  }

  judgeSplit(split) {
    if (!isSplit(split)) throw new Refusal("CONFIG_INVALID");
  }

  /** One look for the next batch; undefined where it has to be waited for. */
  nextBatch(split) {
    const fields = this.#reader(split).next(Number(this.batchSize));
    if (fields === undefined) return undefined;
    const names = this.schema.map(({ name }) => name).sort();
    return { form: names.join("/") === "x/y" ? "pair" : "dict", fields };
  }

  /** One look whether it is there. */
  isReady(split) {
    return this.#reader(split).isReady();
  }

  setBatchSize(size) {
    if (size === 0n) throw new Refusal("CONFIG_INVALID");
    this.batchSize = size;
    if (size !== this.metadata.batchSize) this.#warnings.add("BATCH_SIZE_MISMATCH");
  }

  /** Begins a split again, or all of them. */
  reset(split) {
    const readers = split === undefined ? [...this.#readers.values()] : [this.#reader(split)];
    for (const reader of readers) reader.reset();
  }

  stats() {
    const { high_watermark: high, low_watermark: low } = this.config;
    const splits = new Map([...this.#readers].map(([split, reader]) => [split, reader.stats({ high, low })]));
    const warnings = [...this.#warnings].sort(compareBytewise);
    return { mode: this.mode, batch_size: this.batchSize, warnings, splits };
  }
}

/** Looks again and again, with pauses that double (requirements Q26, Q27; ruling QA24). */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1000;

/** Sleeps without keeping a process alive that has nothing else to do. */
function pause(milliseconds) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}

/**
 * What the first look that finds something finds, or a promise of it; undefined where the time is over.
 *
 * Without a timeout it waits for ever; the first look is made at once, so that 0 is one look.
 */
export function lookUntil(look, timeoutMs) {
  const begun = performance.now();
  const found = look();
  return found !== undefined || timeoutMs === 0n ? found : lookAgain(look, begun + Number(timeoutMs ?? Infinity));
}

async function lookAgain(look, deadline) {
  for (let longest = FIRST_PAUSE_MS; ; longest = Math.min(2 * longest, LONGEST_PAUSE_MS)) {
    const left = deadline - performance.now();
    if (left <= 0) return undefined;
    await pause(Math.min(longest, left));
    const found = look();
    if (found !== undefined) return found;
  }
}
