/** The folder of one split: what is visible in it, what is moved away from it and what is deleted. */
import { mkdirSync, readdirSync, renameSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { kindAt } from "../checkpoint/durable.js";
import { QUEUE, compareNames, isTemporary, visibleName } from "./names.js";

const QUARANTINE = "quarantine";

const isGone = (error) => error.code === "ENOENT";
const isNoFolder = (error) => error.code === "ENOTDIR";

export class QueueFolder {
  constructor(root, split) {
    this.path = join(root, QUEUE, split);
    this.quarantine = join(root, QUEUE, QUARANTINE, split);
  }

  at(name) {
    return join(this.path, name);
  }

  /** The visible names in their order, the temporary ones, and whether there are others. */
  look() {
    const texts = this.#texts();
    const temporaries = texts.filter(isTemporary);
    const names = texts.map(visibleName).filter((name) => name !== undefined);
    const hasOthers = names.length + temporaries.length < texts.length;
    return { names: names.sort(compareNames), temporaries, hasOthers };
  }

  #texts() {
    try {
      return readdirSync(this.path);
    } catch (error) {
      if (isGone(error) || isNoFolder(error)) return [];
      throw error;
    }
  }

  /** Deletes a file; false where that does not work, and true where it is gone already. */
  remove(name) {
    try {
      unlinkSync(this.at(name));
    } catch (error) {
      return isGone(error);
    }
    return true;
  }

  /** Moves a file away under its own name, or the first free one behind it (ruling QA13); false where it cannot. */
  moveAway(name) {
    try {
      mkdirSync(this.quarantine, { recursive: true });
      let target = join(this.quarantine, name);
      for (let copy = 1; kindAt(target) !== undefined; copy += 1) target = join(this.quarantine, `${name}.${copy}`);
      renameSync(this.at(name), target);
    } catch {
      return false;
    }
    return true;
  }
}
