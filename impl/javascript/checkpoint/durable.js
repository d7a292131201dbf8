/**
 * File operations that survive a crash, all synchronous (rulings CA24, CA25).
 *
 * An error of any of them ends the operation as it is: nothing is deleted, and no descriptor is synced twice.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { LINK } from "./container.js";
import { fieldOf, isNamedMap, isSame } from "./subject.js";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const WRITE_BYTES = 1 << 24;
const LARGE = 2 ** 28;
// The unit of `blocks`, whatever the file system's own is.
const BLOCK = 512;
const PAGE = 4096;
const SAMPLES = 64;
const HOLE = Buffer.alloc(PAGE);
const SLASH = Buffer.from("/");

/** The kind of what is at a path, without following a link: file, directory, other; undefined for nothing. */
export function kindAt(path) {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isFile()) return "file";
  return found.isDirectory() ? "directory" : "other";
}

/** The names in a folder, a letter for each byte: the name of a file need not be UTF-8. */
export function namesIn(path) {
  return readdirSync(path, "latin1");
}

/** The path, in bytes, of what has such a name in a folder. */
export function pathIn(folder, name) {
  return Buffer.concat([Buffer.from(folder), SLASH, Buffer.from(name, "latin1")]);
}

/** Such a name as a text, in which what is no UTF-8 is replaced. */
export function shownName(name) {
  return Buffer.from(name, "latin1").toString();
}

/** What a path can cause: a folder that may not be entered or is none, a link that leads to itself, an impossible name. */
const NO_FOLDER = ["EACCES", "ELOOP", "ENAMETOOLONG", "ENOTDIR"];

/** Whether there is a folder, reached by whatever links, at an absolute path. */
export function isFolder(path) {
  if (!path.startsWith("/") || path.includes("\0")) return false;
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if (NO_FOLDER.includes(error.code)) return false;
    throw error;
  }
}

/** Makes the entries of a directory durable; where none can be opened (Windows), there is nothing to do by hand. */
export function syncDirectory(path) {
  if (O_DIRECTORY === undefined) return;
  const descriptor = openSync(path, O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes the content of a file durable that another process may have left in the cache. */
export function syncFile(path) {
  const descriptor = openSync(path, O_RDONLY | O_NOFOLLOW);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Creates a file with durable content; its name is durable once its directory is synced. */
export function writeNewFile(path, content) {
  const descriptor = openSync(path, "wx");
  try {
    for (let at = 0; at < content.length;) {
      at += writeSync(descriptor, content, at, Math.min(WRITE_BYTES, content.length - at));
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Puts a file in place of a name, durably: all of it is there, or nothing (seed 002 §II.G, atomicity). */
export function publish(path, temporary, content) {
  discard(temporary);
  writeNewFile(temporary, content);
  renameSync(temporary, path);
  syncDirectory(dirname(path));
}

/** Like `publish`, but false, and nothing changed, where the name is taken. */
export function publishOnce(path, temporary, content) {
  discard(temporary);
  writeNewFile(temporary, content);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  }
  syncDirectory(dirname(path));
  unlinkSync(temporary);
  return true;
}

/** Makes a directory unless it is there; durably in both cases, for a killed process may have made it. */
export function ensureDirectory(path) {
  if (kindAt(path) === undefined) mkdirSync(path);
  syncDirectory(dirname(path));
}

/** Removes a file or link, if it is there. */
export function discard(path) {
  if (kindAt(path) !== undefined) unlinkSync(path);
}

/**
 * Removes a tree, durably, without following a link out of it.
 *
 * Each directory is synced before it goes, so that a later one of the same name cannot show its old entries.
 */
export function removeTree(path) {
  if (kindAt(path) !== "directory") {
    discard(path);
  } else {
    for (const name of namesIn(path)) removeTree(pathIn(path, name));
    syncDirectory(path);
    rmdirSync(path);
  }
}

/**
 * The content of a regular file of at most `limit` bytes; undefined for a larger one and for anything else.
 *
 * Where `isEnd` is given, a large file is undefined as well if it is for the most part a hole, or if `isEnd` answers
 * false to its last bytes: a hole costs nothing to write, and takes as long to read as anything else.
 */
export function readRegularFile(path, limit, isEnd) {
  if (kindAt(path) !== "file") return undefined;
  const descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.size > limit) return undefined;
    if (isEnd !== undefined && status.size > LARGE) {
      if (isMostlyHole(descriptor, status)) return undefined;
      if (!isEnd(readAt(descriptor, status.size - PAGE, PAGE))) return undefined;
    }
    return readAll(descriptor, status.size);
  } finally {
    closeSync(descriptor);
  }
}

/** Whether most of a file has no place on the disk; where a system counts no blocks, nothing is known of that. */
function isMostlyHole(descriptor, { size, blocks }) {
  if (!Number.isFinite(blocks) || 2 * blocks * BLOCK >= size) return false;
  // A file system that packs has few blocks as well, but what it packs is not zeros.
  const step = Math.floor(size / SAMPLES);
  const pages = Array.from({ length: SAMPLES }, (_, at) => readAt(descriptor, at * step, PAGE));
  return 4 * pages.filter((page) => page.equals(HOLE)).length >= SAMPLES;
}

function readAt(descriptor, start, size) {
  const part = Buffer.alloc(size);
  return part.subarray(0, readSync(descriptor, part, 0, size, start));
}

function readAll(descriptor, size) {
  const content = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const count = readSync(descriptor, content, length, Math.min(WRITE_BYTES, size - length), length);
    if (count === 0) break;
    length += count;
  }
  return content.subarray(0, length);
}

const NAMES = ["run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev"];

/** Adds a finding for each field of the link that is not the header's, or that is no field of a link. */
export function judgeLink(item, header, findings) {
  if (!isNamedMap(item)) {
    findings.add(LINK, "LINK_MISMATCH");
    return;
  }
  for (const name of NAMES) {
    const held = fieldOf(item, name);
    const stated = fieldOf(header, name);
    const isEqual = held === undefined ? stated === undefined : isSame(held, stated);
    if (!isEqual) findings.add(`${LINK}.${name}`, "LINK_MISMATCH");
  }
  for (const [name] of item.entries) if (!NAMES.includes(name)) findings.add(`${LINK}.${name}`, "LINK_MISMATCH");
}
