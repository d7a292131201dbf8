/** Where a consumer reads batch files from: the queue in its order, or the baseline's files round and round. */
import { kindAt, namesIn, pathIn, readRegularFile } from "../checkpoint/durable.js";
import { compareBytewise } from "../digest.js";
import { isArchiveEnd, readBatchFile } from "./batch_file.js";
import { QueueFolder, codecOf, isLegacyName } from "./names.js";
import { Damaged, Foreign, Refusal } from "./types.js";

/** A batch file in memory, and the batches that are cut from it (requirements Q29, Q30; rulings QA07 to QA09). */
class LoadedFile {
  constructor(name, { batches, ignores, rowCount, tensors }, schema) {
    this.name = name;
    this.batches = batches;
    this.ignores = ignores;
    this.rowCount = rowCount;
    this.tensors = schema.map((field) => ({ field: field.name, ...tensors.get(field.name) }));
  }

  /** The batch that begins at a row, a short one repeated in a circle, and the row at which it stops. */
  batch(start, size) {
    const stop = Math.min(start + size, this.rowCount);
    const fields = this.tensors.map(({ field, dtype, shape, data }) => {
      const width = data.length / this.rowCount;
      const rows = data.subarray(start * width, stop * width);
      const filled = stop - start === size ? rows : Buffer.alloc(size * width, rows);
      return { name: field, tensor: { dtype, shape: [size, ...shape.slice(1)], data: filled } };
    });
    return { fields, stop };
  }
}

/** An archive of 32-bit sizes is never larger; what is, need not be read to be known as damaged. */
const MOST_BYTES = 2 ** 32;
const UNREADABLE = ["EACCES", "EPERM", "EIO", "ELOOP"];

function contentAt(path) {
  try {
    return readRegularFile(path, MOST_BYTES, isArchiveEnd);
  } catch (error) {
    // A file that memory has no room for is not to stop the others.
    if (error instanceof RangeError || error.code === "ENOENT" || UNREADABLE.includes(error.code)) return undefined;
    throw error;
  }
}

/**
 * The file at a path; undefined where there is nothing any more.
 *
 * Raises Damaged for what cannot be read, a folder or a link too, Foreign for what is not this queue's, and
 * SCHEMA_MISMATCH for a whole file of other fields.
 */
function loadFile(path, name, schema, isLegacy) {
  const content = contentAt(path);
  if (content === undefined) {
    if (kindAt(path) === undefined) return undefined;
    throw new Damaged("no file that can be read");
  }
  const found = readBatchFile(content, schema, { codec: codecOf(name), isLegacy });
  if (!found.isOfSchema) throw new Refusal("SCHEMA_MISMATCH");
  return new LoadedFile(name, found, schema);
}

/** Warns of a file of another codec than the one that was named, if one was (ruling QA29). */
function sayCodec({ codec, warnings }, text) {
  if (codec !== undefined && codec !== codecOf(text)) warnings.add("CODEC_MISMATCH");
}

export class QueueSource {
  #undeleted = new Set();
  #ahead = new Map();

  constructor(root, split, { schema, cacheFiles, codec, warnings }) {
    this.folder = new QueueFolder(root, split);
    Object.assign(this, { schema, cacheFiles, codec, warnings });
    this.counts = { loaded: 0n, finished: 0n, quarantined: 0n };
  }

  get undeleted() {
    return this.#undeleted.size;
  }

  /** How many files are in memory beside the one in hand, which is counted where there is one. */
  held(inHand) {
    return this.#ahead.size + (inHand === undefined ? 0 : 1);
  }

  backlog() {
    return this.folder.look().names.length;
  }

  /** Tries again to delete what could not be deleted (requirement Q32). */
  tidy() {
    for (const name of this.#undeleted) {
      if (this.folder.remove(name)) this.#undeleted.delete(name);
    }
  }

  /** The names that may be handed out, in their order; what was read ahead and is gone is forgotten. */
  #waiting() {
    const { names, hasOthers } = this.folder.look();
    if (hasOthers) this.warnings.add("NAME_IGNORED");
    const texts = new Set(names.map(({ text }) => text));
    for (const text of this.#ahead.keys()) {
      if (!texts.has(text)) this.#ahead.delete(text);
    }
    return names.filter(({ text }) => !this.#undeleted.has(text));
  }

  /** Reads a file whose turn it is; undefined for one that is gone or that was moved away. */
  #load(name) {
    try {
      return this.#read(name);
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      this.folder.requireRoom();
      if (this.folder.moveAway(name.text)) this.counts.quarantined += 1n;
      else this.warnings.add("QUARANTINE_FAILED");
      return undefined;
    }
  }

  /** Reads a file; undefined for one that is gone. */
  #read({ text, batches }) {
    let file;
    try {
      file = loadFile(this.folder.at(text), text, this.schema, false);
    } catch (error) {
      throw error instanceof Foreign ? new Refusal("SCHEMA_MISMATCH") : error;
    }
    if (file === undefined) return undefined;
    if (file.batches !== undefined && file.batches !== batches) this.warnings.add("NUM_BATCHES_MISMATCH");
    if (file.ignores) this.warnings.add("KEY_IGNORED");
    sayCodec(this, text);
    this.counts.loaded += 1n;
    this.#ahead.set(text, file);
    return file;
  }

  /** Forgets the last of what was read ahead until there is room for one more file. */
  #makeRoom(names) {
    for (const { text } of names.toReversed()) {
      if (this.#ahead.size < this.cacheFiles) return;
      this.#ahead.delete(text);
    }
  }

  /** The first file that can be read, which is in memory then; undefined where there is none. */
  #first() {
    const names = this.#waiting();
    for (const name of names) {
      const isAhead = this.#ahead.has(name.text);
      if (!isAhead) this.#makeRoom(names);
      const file = isAhead ? this.#ahead.get(name.text) : this.#load(name);
      if (file !== undefined) return file;
    }
    return undefined;
  }

  /** Whether there is a file that can be read. */
  isThere() {
    return this.#first() !== undefined;
  }

  /** Takes the first file in hand and reads those behind it; undefined where there is none. */
  take() {
    const file = this.#first();
    if (file === undefined) return undefined;
    this.#ahead.delete(file.name);
    this.#readAhead(file);
    return file;
  }

  #readAhead(file) {
    if (this.cacheFiles === 1) return;
    const names = this.#waiting();
    const behind = names.slice(1 + names.findIndex(({ text }) => text === file.name));
    for (const name of behind) {
      if (1 + this.#ahead.size >= this.cacheFiles) return;
      if (!this.#ahead.has(name.text) && !this.#isReadable(name)) return;
    }
  }

  /** Reads a file ahead; false at a damaged one and at one of another schema, which are judged when their turn comes. */
  #isReadable(name) {
    try {
      this.#read(name);
      return true;
    } catch (error) {
      if (error instanceof Refusal || error instanceof Damaged) return false;
      throw error;
    }
  }

  /** Deletes a file whose rows were all handed out, the last thing that a call does (ruling QA10). */
  finish(file) {
    this.counts.finished += 1n;
    if (this.folder.remove(file.name)) return;
    this.#undeleted.add(file.name);
    this.warnings.add("DELETE_FAILED");
  }

  /** Resetting keeps the file in hand (ruling QA26). */
  reset() {
    return false;
  }
}

export class LegacySource {
  #last;
  // The latest files that were read, the latest of them last; the one in hand is among them.
  #recent = new Map();

  constructor(root, split, { schema, cacheFiles, codec, warnings }) {
    Object.assign(this, { root, split, schema, cacheFiles, codec, warnings });
    this.counts = { loaded: 0n, finished: 0n, quarantined: 0n };
    this.undeleted = 0;
  }

  held() {
    return this.#recent.size;
  }

  #names() {
    return namesIn(this.root).filter((name) => isLegacyName(name, this.split)).sort(compareBytewise);
  }

  backlog() {
    return this.#names().length;
  }

  tidy() {}

  #load(name) {
    const file = this.#recent.get(name) ?? this.#read(name);
    if (file === undefined) return undefined;
    this.#recent.delete(name);
    this.#recent.set(name, file);
    return file;
  }

  #read(name) {
    const [oldest] = this.#recent.keys();
    if (this.#recent.size >= this.cacheFiles) this.#recent.delete(oldest);
    const file = loadFile(pathIn(this.root, name), name, this.schema, true);
    if (file === undefined) return undefined;
    sayCodec(this, name);
    this.counts.loaded += 1n;
    return file;
  }

  /** The file behind the last one, or the first one again; undefined where there is none. */
  #next() {
    const names = this.#names();
    const name = names.find((text) => this.#last !== undefined && compareBytewise(text, this.#last) > 0) ?? names[0];
    return name === undefined ? undefined : this.#load(name);
  }

  /** Whether the next call does not wait; one that is refused for an unreadable file does not wait either. */
  isThere() {
    try {
      return this.#next() !== undefined;
    } catch (error) {
      if (error instanceof Damaged || error instanceof Foreign) return true;
      throw error;
    }
  }

  take() {
    try {
      return this.#next();
    } catch (error) {
      throw error instanceof Damaged || error instanceof Foreign ? new Refusal("LEGACY_INVALID") : error;
    }
  }

  /** A file stays when it was handed out. */
  finish(file) {
    this.counts.finished += 1n;
    this.#last = file.name;
  }

  /** Resetting begins at the first file again. */
  reset() {
    this.#last = undefined;
    return true;
  }
}
