/**
 * The strict profile of canonical CBOR: which bytes keep it, and which items have bytes in it.
 *
 * Shortest integers and lengths, definite lengths, binary64 floats with one NaN, text keys in ascending bytewise
 * order of their encodings, no tags, no simple values but false, true and null, at most MAX_DEPTH containers around
 * any item (seed 002 §II.F; requirements C06, C07, C49; rulings CA07, CA09).
 */
import { isUtf8 } from "node:buffer";
import { OtherNaN, Pairs, encodeCanonical as encode, floatOf } from "./cbor.js";
import { sha256 } from "./digest.js";
import { defaultFailure } from "./errors.js";
import { bool, bytes, bytes32, optional, string, struct, uint64, value } from "./wire.js";

export const MAX_DEPTH = 256;

const MAX_UINT64 = (1n << 64n) - 1n;
const TEXT = 3;
const FLOAT64 = 27;
const LEAST_ARGUMENT = new Map([[24, 24], [25, 0x100], [26, 0x10000], [27, 0x100000000]]);

/** The first violation, thrown because it ends every open level at once. */
class Violation extends Error {
  constructor(reason, offset) {
    super(reason);
    this.reason = reason;
    this.offset = offset;
  }
}

/** The first violation of the profile, as `{reason, offset}`; undefined for bytes that keep it. */
export function violationOf(candidate) {
  const buffer = Buffer.from(candidate.buffer, candidate.byteOffset, candidate.length);
  try {
    const end = new Walk(buffer).item(0, 0, false);
    return end === buffer.length ? undefined : { reason: "TRAILING_BYTES", offset: end };
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return { reason: error.reason, offset: error.offset };
  }
}

/** Walks over bytes without building anything, so that a head that claims 2^60 elements costs nothing. */
class Walk {
  constructor(buffer) {
    this.buffer = buffer;
  }

  /** Checks the item at `start`, in the order of the contract, and returns where it ends. */
  item(start, depth, isKey) {
    if (start >= this.buffer.length) throw new Violation("TRUNCATED", start);
    const initial = this.buffer[start];
    const major = initial >> 5;
    const info = initial & 31;
    const fault = initialFault(major, info, isKey);
    if (fault !== undefined) throw new Violation(fault, start);
    if (depth > MAX_DEPTH) throw new Violation("TOO_DEEP", start);
    const size = info < 24 ? 0 : 1 << (info - 24);
    const content = start + 1 + size;
    if (content > this.buffer.length) throw new Violation("TRUNCATED", start);
    if (major === 7) return this.float(start, content, info);
    const argument = this.argument(start + 1, size, info);
    if (info >= 24 && argument < LEAST_ARGUMENT.get(info)) throw new Violation("NOT_SHORTEST", start);
    switch (major) {
      case 2:
      case TEXT: return this.string(start, content, major, argument);
      case 4: return this.array(content, argument, depth);
      case 5: return this.map(content, argument, depth);
      default: return content;
    }
  }

  /** The argument of a head; above 2^53 it is rounded, which still exceeds every length that bytes can have. */
  argument(at, size, info) {
    if (size === 0) return info;
    return size === 8 ? Number(this.buffer.readBigUInt64BE(at)) : this.buffer.readUIntBE(at, size);
  }

  float(start, content, info) {
    if (info === FLOAT64 && floatOf(this.buffer.subarray(start + 1, content)) instanceof OtherNaN) {
      throw new Violation("NAN_NOT_CANONICAL", start);
    }
    return content;
  }

  string(start, content, major, length) {
    const end = content + length;
    if (end > this.buffer.length) throw new Violation("TRUNCATED", start);
    if (major === TEXT && !isUtf8(this.buffer.subarray(content, end))) throw new Violation("TEXT_NOT_UTF8", start);
    return end;
  }

  array(content, length, depth) {
    let at = content;
    for (let count = 0; count < length; count += 1) at = this.item(at, depth + 1, false);
    return at;
  }

  map(content, length, depth) {
    let at = content;
    let previous;
    for (let count = 0; count < length; count += 1) {
      const end = this.item(at, depth + 1, true);
      const key = this.buffer.subarray(at, end);
      const order = previous === undefined ? 1 : Buffer.compare(key, previous);
      if (order <= 0) throw new Violation(order === 0 ? "DUPLICATE_KEY" : "KEY_ORDER", at);
      previous = key;
      at = this.item(end, depth + 1, false);
    }
    return at;
  }
}

/** What the first byte of an item alone gives away. */
function initialFault(major, info, isKey) {
  if (isKey && major !== TEXT) return "KEY_NOT_TEXT";
  if (major === 6) return "TAG";
  if (major === 7) {
    if ((info >= 20 && info <= 22) || info === FLOAT64) return undefined;
    return info === 25 || info === 26 ? "FLOAT_NOT_BINARY64" : "SIMPLE_VALUE";
  }
  if (info <= 27) return undefined;
  return info === 31 && major >= 2 ? "INDEFINITE_LENGTH" : "RESERVED_LENGTH";
}

/** Why an item has no bytes in the profile: a reason as above, or INTEGER_RANGE; undefined where it has. */
export function itemFault(item, depth = 0) {
  if (depth > MAX_DEPTH) return "TOO_DEEP";
  if (item === null || typeof item === "boolean" || item instanceof Uint8Array) return undefined;
  if (typeof item === "string") return item.isWellFormed() ? undefined : "TEXT_NOT_UTF8";
  if (typeof item === "bigint") return item > MAX_UINT64 || item < -MAX_UINT64 - 1n ? "INTEGER_RANGE" : undefined;
  if (typeof item === "number") return undefined;
  if (item instanceof OtherNaN) return "NAN_NOT_CANONICAL";
  if (Array.isArray(item)) return firstFault(item, depth);
  if (item instanceof Pairs) return pairsFault(item, depth);
  return typeof item === "symbol" ? "TOO_DEEP" : "TAG";
}

function firstFault(items, depth) {
  for (const element of items) {
    const fault = itemFault(element, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function pairsFault({ entries }, depth) {
  const keys = entries.map(([key]) => key);
  if (!keys.every((key) => typeof key === "string")) return "KEY_NOT_TEXT";
  if (new Set(keys).size !== keys.length) return "DUPLICATE_KEY";
  return firstFault(entries.flat(), depth);
}

const ENCODE = "UML_OS.Serialization.EncodeCanonical_v1";

function encodeItem({ item }) {
  if (itemFault(item) !== undefined) throw defaultFailure("CONTRACT_VIOLATION", ENCODE);
  const canonical = encode(item);
  return { canonical, digest: sha256(canonical) };
}

/** UML_OS.Serialization.EncodeCanonical_v1: the one canonical encoding of an item, and its digest (seed 002 §II.F). */
export const encodeCanonical = {
  name: ENCODE,
  inputs: struct({ item: value }),
  outputs: struct({ canonical: bytes, digest: bytes32 }),
  run: encodeItem,
};

function validate({ candidate }) {
  const violation = violationOf(candidate);
  if (violation === undefined) return { valid: true, digest: sha256(candidate) };
  return { valid: false, reason: violation.reason, offset: BigInt(violation.offset) };
}

/** UML_OS.Serialization.ValidateCanonical_v1: whether bytes are canonical, or where they first are not (C07). */
export const validateCanonical = {
  name: "UML_OS.Serialization.ValidateCanonical_v1",
  inputs: struct({ candidate: bytes }),
  outputs: struct({ valid: bool, reason: optional(string), offset: optional(uint64), digest: optional(bytes32) }),
  run: validate,
};
