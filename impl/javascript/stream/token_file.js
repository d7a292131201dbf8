/** A file of little-endian u16 or u32 words, bare or behind the header of a one-dimensional `.npy` array. */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";

const { O_NONBLOCK, O_RDONLY } = constants;
const WIDTHS = new Map([["u16", 2], ["u32", 4]]);
const MAGIC = Buffer.from("\x93NUMPY", "latin1");
const QUOTED = (text) => `(?:'${text}'|"${text}")`;
/** What may follow each key of a header; the keys come in any order. */
const ENTRIES = new Map([
  ["descr", QUOTED("<u[24]")],
  ["fortran_order", "(?:True|False)"],
  ["shape", "\\( *(?:0|[1-9][0-9]{0,18}) *, *\\)"],
]);

/** The file is not there, or not what it is said to be. */
export class UnusableFile extends Error {}

/** The real path of a plain relative path that stays below the root. */
function pathBelow(root, path) {
  const parts = path.split("/");
  if (root === undefined || path.includes("\0") || parts.some((part) => ["", ".", ".."].includes(part))) {
    throw new UnusableFile("not a plain path below a root");
  }
  try {
    const found = realpathSync(join(root, path));
    if (found.startsWith(realpathSync(root) + sep)) return found;
  } catch (error) {
    throw new UnusableFile(error.message);
  }
  throw new UnusableFile("the path leads out of the root");
}

function readAt(descriptor, position, length) {
  const content = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(descriptor, content, filled, length - filled, position + filled);
    if (count === 0) throw new UnusableFile("the file ends too early");
    filled += count;
  }
  return content;
}

/** The type and the number of the words that a header announces, read entry by entry. */
function parseHeader(header) {
  let rest = header;
  const take = (pattern) => {
    const found = new RegExp(`^(?:${pattern})`).exec(rest);
    if (found === null) throw new UnusableFile("not one dimension of u16 or u32");
    rest = rest.slice(found[0].length);
    return found[0];
  };
  const entries = new Map();
  take("\\{ *");
  while (entries.size < ENTRIES.size) {
    if (entries.size > 0) take(" *, *");
    const key = take([...ENTRIES.keys()].filter((name) => !entries.has(name)).map(QUOTED).join("|")).slice(1, -1);
    take(" *: *");
    entries.set(key, take(ENTRIES.get(key)));
  }
  take(" *(?:, *)?\\} *\n?$");
  const dtype = entries.get("descr").includes("2") ? "u16" : "u32";
  return { dtype, count: Number(/[0-9]+/.exec(entries.get("shape"))[0]) };
}

/** The type of the words of a `.npy` file and the byte at which they begin. */
function npyLayout(descriptor, size) {
  if (size < 12) throw new UnusableFile("too short for a header");
  const head = readAt(descriptor, 0, 12);
  const [major, minor] = [head[6], head[7]];
  if (!head.subarray(0, 6).equals(MAGIC) || minor !== 0 || major < 1 || major > 3) {
    throw new UnusableFile("not a .npy file");
  }
  const start = major === 1 ? 10 : 12;
  const length = major === 1 ? head.readUInt16LE(8) : head.readUInt32LE(8);
  if (start + length > size) throw new UnusableFile("the header is cut off");
  const header = readAt(descriptor, start, length).toString("latin1");
  const { dtype, count } = parseHeader(header);
  const offset = start + length;
  if (size - offset !== count * WIDTHS.get(dtype)) throw new UnusableFile("another length than declared");
  return { dtype, offset };
}

/** Opens the file of a declaration; raises UnusableFile. */
export function openTokenFile(root, { path, dtype }) {
  let descriptor;
  try {
    descriptor = openSync(pathBelow(root, path), O_RDONLY | O_NONBLOCK);
  } catch (error) {
    throw error instanceof UnusableFile ? error : new UnusableFile(error.message);
  }
  try {
    return new TokenFile(descriptor, path, dtype);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

class TokenFile {
  constructor(descriptor, path, dtype) {
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw new UnusableFile("not a regular file");
    const layout = path.endsWith(".npy") ? npyLayout(descriptor, status.size) : { dtype, offset: 0 };
    if (layout.dtype === undefined || (dtype ?? layout.dtype) !== layout.dtype) throw new UnusableFile("another dtype");
    this.descriptor = descriptor;
    this.width = WIDTHS.get(layout.dtype);
    this.offset = layout.offset;
    this.count = (status.size - layout.offset) / this.width;
    if (!Number.isInteger(this.count)) throw new UnusableFile("half a word at the end");
  }

  read(from, to) {
    const content = readAt(this.descriptor, this.offset + from * this.width, (to - from) * this.width);
    const tokens = new Uint32Array(to - from);
    for (let at = 0; at < tokens.length; at += 1) tokens[at] = content.readUIntLE(at * this.width, this.width);
    return tokens;
  }

  close() {
    closeSync(this.descriptor);
  }
}
