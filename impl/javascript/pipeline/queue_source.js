/** The files of a queue in their order, read ahead as far as memory may go (requirements Q25, Q28, Q31 to Q35). */
import { loadFile } from "./load.js";
import { QueueFolder } from "./queue_folder.js";
import { Damaged, Refusal } from "./refusal.js";

export class QueueSource {
  #undeleted = new Set();
  #ahead = new Map();

  constructor(root, split, { schema, cacheFiles, warnings }) {
    this.folder = new QueueFolder(root, split);
    Object.assign(this, { schema, cacheFiles, warnings });
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

  /** Reads a file; undefined for one that is gone or that was moved away. */
  #load({ text, batches }) {
    let file;
    try {
      file = loadFile(this.folder.at(text), text, this.schema, false);
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      if (this.folder.moveAway(text)) this.counts.quarantined += 1n;
      else this.warnings.add("QUARANTINE_FAILED");
    }
    if (file === undefined) return undefined;
    if (file.batches !== batches) this.warnings.add("NUM_BATCHES_MISMATCH");
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

  /** Reads a file ahead; false at one of another schema, which is refused when its turn comes. */
  #isReadable(name) {
    try {
      this.#load(name);
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
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
