/** The names of splits and batch files (requirements Q02, Q03, Q25, Q49; rulings QA05, QA16). */
import { mkdirSync, renameSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { kindAt, namesIn } from "../checkpoint/durable.js";
import { compareBytewise } from "../digest.js";
import { Refusal } from "./types.js";

const SPLIT = /^(train|val)(_rank(0|[1-9][0-9]*))?$/;
const VISIBLE = /^([0-9]+)-([0-9]+)-([0-9]+)\.(?:pt|npz)$/;
const TEMPORARY = ".tmp-";
const SEQ_DIGITS = 6;

export const CODECS = ["pt", "npz"];
// So many files of a split may be moved away; then a person has to look (ruling QA35).
const MOST_QUARANTINED = 16;

/** The codec of a file by the ending of its name. */
export function codecOf(text) {
  return text.slice(text.lastIndexOf(".") + 1);
}

export const QUEUE = "queue";
export const SPLITS = ["train", "val"];

export function isSplit(text) {
  return SPLIT.test(text);
}

function isTemporary(text) {
  return text.startsWith(TEMPORARY);
}

/** The numbers that a visible file's name holds; undefined for every other name. */
function visibleName(text) {
  const found = VISIBLE.exec(text);
  if (found === null) return undefined;
  const [timestamp, seq, batches] = found.slice(1).map(BigInt);
  return { text, timestamp, seq, batches };
}

function compareNumbers(left, right) {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Orders names by time, then seq, as numbers; equal ones by their bytes. */
function compareNames(left, right) {
  return (
    compareNumbers(left.timestamp, right.timestamp) ||
    compareNumbers(left.seq, right.seq) ||
    compareBytewise(left.text, right.text)
  );
}

function numbered(timestamp, seq) {
  return `${timestamp}-${String(seq).padStart(SEQ_DIGITS, "0")}`;
}

/** The name under which a file is written. */
export function temporaryFileName(timestamp, seq, codec) {
  return `${TEMPORARY}${numbered(timestamp, seq)}.${codec}`;
}

/** The name under which it is seen. */
export function visibleFileName(timestamp, seq, batches, codec) {
  return `${numbered(timestamp, seq)}-${batches}.${codec}`;
}

/** Whether a name is that of one of the baseline's files of a split, or of either split (ruling QA28). */
export function isLegacyName(text, split) {
  const at = text.indexOf("_batches_");
  if (at < 0 || !CODECS.some((codec) => text.endsWith(`.${codec}`))) return false;
  const owner = text.slice(0, at);
  return split === undefined ? SPLITS.includes(owner) : owner === split;
}

const QUARANTINE = "quarantine";

const isGone = (error) => error.code === "ENOENT";
const isNoFolder = (error) => ["ENOTDIR", "ELOOP"].includes(error.code);

function textsIn(path) {
  try {
    return namesIn(path);
  } catch (error) {
    if (isGone(error) || isNoFolder(error)) return [];
    throw error;
  }
}

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
    const texts = textsIn(this.path);
    const temporaries = texts.filter(isTemporary);
    const names = texts.map(visibleName).filter((name) => name !== undefined);
    const hasOthers = names.length + temporaries.length < texts.length;
    return { names: names.sort(compareNames), temporaries, hasOthers };
  }

  /** Refuses to go on where as many files were moved away as may (ruling QA35). */
  requireRoom() {
    if (textsIn(this.quarantine).length >= MOST_QUARANTINED) throw new Refusal("QUARANTINE_FULL");
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
