/** Fills the queues of its splits: whole files, as many as may wait and no more (seed 001, DataProvider Base API). */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { bytesOf, tensorOf } from "../batch/tensors.js";
import { Pairs } from "../cbor.js";
import {
  discard,
  ensureDirectory,
  isFolder,
  kindAt,
  pathIn,
  publish,
  removeTree,
  syncDirectory,
  syncFile,
} from "../checkpoint/durable.js";
import { fieldOf } from "../checkpoint/subject.js";
import { crc32 } from "../digest.js";
import { writeBatchFile } from "./batch_file.js";
import {
  hasRequiredKeys,
  isSamePlain,
  metadataOf,
  metadataPath,
  readMetadataItem,
  writeMetadataItem,
  withDicts,
} from "./metadata.js";
import { CODECS, QUEUE, QueueFolder, SPLITS, isSplit, temporaryFileName, visibleFileName } from "./names.js";
import { Refusal } from "./types.js";

const MULTIPLIER = 1000003n;
const PERIOD = 127;

const crcOf = (text) => BigInt(crc32(Buffer.from(text)));

/** The seed of one file. */
function fileSeed(seed, split, seq) {
  return BigInt.asUintN(64, (seed * MULTIPLIER) ^ crcOf(split) ^ seq);
}

/** The bits of a float16 that is an integer below 2048. */
function float16Bits(number) {
  if (number === 0) return 0;
  const exponent = Math.floor(Math.log2(number));
  return ((exponent + 15) << 10) | ((number - 2 ** exponent) << (10 - exponent));
}

/** A number below the period as an element of a dtype. */
function cast(number, dtype) {
  if (dtype === "int64" || dtype === "uint64") return BigInt(number);
  if (dtype === "float16") return float16Bits(number);
  return dtype === "bool" ? Number(number !== 0) : number;
}

/** The tensor of one field over a whole file: element k in C order is (seed + crc32(name) + k) mod 127. */
function countedTensor({ name, dtype, shape }, rowCount, seed) {
  const first = Number((seed + crcOf(name)) % BigInt(PERIOD));
  const period = Array.from({ length: PERIOD }, (_, k) => cast((first + k) % PERIOD, dtype));
  const sides = [rowCount, ...shape.map(Number)];
  const size = sides.reduce((product, side) => product * side, bytesOf(dtype));
  return { dtype, shape: sides, data: Buffer.alloc(size, tensorOf(dtype, [PERIOD], period).data) };
}

/** Neither a seq nor a time of 64 bits reaches it. */
const SEQ_LIMIT = 1n << 64n;
const DEFAULTS = {
  batches_per_file: 100n, max_backlog_files: 2n, sleep_seconds: 2, seed: 1337n, splits: SPLITS,
};
const NUMBERS = ["batch_size", "batches_per_file", "max_backlog_files", "block_size", "target_size"];
const COMPLETED = ["batch_size", "block_size", "target_size"];

function judgeConfig(config) {
  const isSleep = config.sleep_seconds > 0 && Number.isFinite(config.sleep_seconds);
  if (NUMBERS.some((name) => config[name] === 0n) || !isSleep) throw new Refusal("CONFIG_INVALID");
  if (config.splits.length === 0 || !config.splits.every(isSplit)) throw new Refusal("CONFIG_INVALID");
}

/** The metadata with the sizes of the configuration where it says none. */
function completedMetadata(config) {
  if (!(config.meta instanceof Pairs)) throw new Refusal("META_INVALID");
  const { entries } = withDicts(config.meta);
  const keys = new Set(entries.map(([key]) => key));
  const missing = COMPLETED.filter((name) => config[name] !== undefined && !keys.has(name));
  return new Pairs([...entries, ...missing.map((name) => [name, config[name]])]);
}

/** Whether metadata says another size than the configuration (ruling QA18). */
function contradicts(item, config) {
  return COMPLETED.some((name) => config[name] !== undefined && fieldOf(item, name) !== config[name]);
}

/**
 * The metadata's item and its schema; the file of an earlier provider must hold the same.
 *
 * The keys come first, then the codec, then what is under the keys: so the guards and the refusals are ordered.
 */
function judgeMetadata(root, config) {
  const item = completedMetadata(config);
  if (!hasRequiredKeys(item)) throw new Refusal("META_INVALID");
  if (!CODECS.includes(config.codec)) throw new Refusal("CONFIG_INVALID");
  const metadata = metadataOf(item);
  // Metadata of one's own has no field with an unknown key (ruling QA33).
  if (metadata === undefined || metadata.ignores || contradicts(item, config)) throw new Refusal("META_INVALID");
  const existing = readMetadataItem(root);
  if (existing !== undefined && !isSamePlain(item, existing)) throw new Refusal("META_INVALID");
  return { item, schema: metadata.schema, isWritten: existing !== undefined };
}

const largest = (numbers, least) => numbers.reduce((most, number) => (number > most ? number : most), least);

/** Makes durable what an earlier process may have left in the cache. */
function settleMetadata(root) {
  syncFile(metadataPath(root));
  syncDirectory(root);
}

export class Provider {
  #progress = new Map();

  /** Judges everything first, and makes the folders before the metadata: who finds those finds a queue. */
  constructor(root, given) {
    this.root = root;
    this.config = { ...DEFAULTS, ...given };
    judgeConfig(this.config);
    const { item, schema, isWritten } = judgeMetadata(root, this.config);
    this.schema = schema;
    this.#makeFolders();
    if (isWritten) settleMetadata(root);
    else writeMetadataItem(root, item);
    for (const split of this.config.splits) this.#beginAt(split);
  }

  #makeFolders() {
    mkdirSync(this.root, { recursive: true });
    ensureDirectory(join(this.root, QUEUE));
    this.#requireFolder(join(this.root, QUEUE));
    for (const split of this.config.splits) {
      ensureDirectory(join(this.root, QUEUE, split));
      this.#requireFolder(join(this.root, QUEUE, split));
    }
  }

  /** Something else under the name of a folder is in the way; a link to a folder is none. */
  #requireFolder(path) {
    if (!isFolder(path)) throw new Refusal("CONFIG_INVALID");
  }

  /** Clears a split and goes on behind what is visible in it (rulings QA01, QA06, QA17). */
  #beginAt(split) {
    const folder = new QueueFolder(this.root, split);
    for (const name of folder.look().temporaries) {
      removeTree(pathIn(folder.path, name));
    }
    syncDirectory(folder.path);
    const { names } = folder.look();
    const seq = 1n + largest(names.map((name) => name.seq), -1n);
    const time = largest(names.map((name) => name.timestamp), 0n);
    this.#progress.set(split, { folder, seq, time });
  }

  /** One turn of the loop of a split: the path of the file that was written, undefined under backpressure. */
  produce(split, now) {
    const progress = this.#progress.get(split);
    if (progress === undefined) throw new Refusal("CONFIG_INVALID");
    const { folder, seq } = progress;
    const { codec } = this.config;
    folder.requireRoom();
    if (BigInt(folder.look().names.length) >= this.config.max_backlog_files) return undefined;
    if (seq >= SEQ_LIMIT) throw new Refusal("COUNTER_OVERFLOW");
    const time = now > progress.time ? now : progress.time;
    if (time >= SEQ_LIMIT) throw new Refusal("COUNTER_OVERFLOW");
    this.#requireFolder(folder.path);
    const name = visibleFileName(time, seq, this.config.batches_per_file, codec);
    if (kindAt(folder.at(name)) === "directory") throw new Refusal("CONFIG_INVALID");
    const temporary = folder.at(temporaryFileName(time, seq, codec));
    removeTree(temporary);
    try {
      publish(folder.at(name), temporary, this.#fileOf(split, seq, time));
    } catch (error) {
      // A file that is visible counts, also where its folder could not be synced; any other leaves nothing.
      if (kindAt(folder.at(name)) === undefined) discard(temporary);
      else Object.assign(progress, { seq: seq + 1n, time });
      throw error;
    }
    Object.assign(progress, { seq: seq + 1n, time });
    return `${QUEUE}/${split}/${name}`;
  }

  #fileOf(split, seq, time) {
    const { batch_size: batchSize, batches_per_file: batches, seed } = this.config;
    const ownSeed = fileSeed(seed, split, seq);
    const tensors = this.schema.map((field) => countedTensor(field, Number(batchSize * batches), ownSeed));
    const metadata = {
      batch_size: batchSize, num_batches: batches, file_idx: seq, split, produced_at: time, schema: this.schema,
    };
    return writeBatchFile(metadata, tensors, this.config.codec);
  }
}
