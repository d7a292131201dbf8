/** The baseline's files in the root, in the order of their names, round and round (requirements Q43, Q44). */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { compareBytewise } from "../text_order.js";
import { loadFile } from "./load.js";
import { isLegacyName } from "./names.js";
import { Damaged, Refusal } from "./refusal.js";

export class LegacySource {
  #last;
  // The latest files that were read, the latest of them last; the one in hand is among them.
  #recent = new Map();

  constructor(root, split, { schema, cacheFiles }) {
    Object.assign(this, { root, split, schema, cacheFiles });
    this.counts = { loaded: 0n, finished: 0n, quarantined: 0n };
    this.undeleted = 0;
  }

  held() {
    return this.#recent.size;
  }

  #names() {
    return readdirSync(this.root).filter((name) => isLegacyName(name, this.split)).sort(compareBytewise);
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
    const file = loadFile(join(this.root, name), name, this.schema, true);
    if (file !== undefined) this.counts.loaded += 1n;
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
      if (error instanceof Damaged) return true;
      throw error;
    }
  }

  take() {
    try {
      return this.#next();
    } catch (error) {
      throw error instanceof Damaged ? new Refusal("LEGACY_INVALID") : error;
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
