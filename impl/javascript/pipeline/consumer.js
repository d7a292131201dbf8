/** Hands out the batches of every split in order (seed 001, DatasetConsumer API). */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { kindAt } from "../checkpoint/durable.js";
import { compareBytewise } from "../text_order.js";
import { LegacySource } from "./legacy_source.js";
import { metadataOf, readMetadataItem } from "./metadata.js";
import { QUEUE, SPLITS, isLegacyName, isSplit } from "./names.js";
import { QueueSource } from "./queue_source.js";
import { Refusal } from "./refusal.js";
import { SplitReader } from "./split_reader.js";

const DEFAULTS = { prefer_queue: true, cache_files: 1n, high_watermark: 2n, low_watermark: 0n };

/** Whether the queue is read: it is there, or nothing else is (rulings QA19, QA28). */
function readsQueue(root, prefersQueue) {
  if (!prefersQueue) return false;
  return kindAt(join(root, QUEUE)) !== undefined || !readdirSync(root).some((name) => isLegacyName(name));
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
    if (config.codec !== "npz") throw new Refusal("CONFIG_INVALID");
    Object.assign(this, { root, config, isOpen: true });
    this.setBatchSize(config.batch_size ?? this.metadata.batchSize);
    this.mode = readsQueue(root, config.prefer_queue) ? "queue" : "legacy";
    for (const split of SPLITS) this.#reader(split);
  }

  get schema() {
    return this.metadata.schema;
  }

  /** Where a split stands, from the first time that it is asked for. */
  #reader(split) {
    const Source = this.mode === "queue" ? QueueSource : LegacySource;
    if (!this.#readers.has(split)) {
      const { schema } = this;
      const cacheFiles = Number(this.config.cache_files);
      const source = new Source(this.root, split, { schema, cacheFiles, warnings: this.#warnings });
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
