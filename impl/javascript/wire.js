/**
 * The two wires: JSON lines and a CBOR sequence, with one interface.
 *
 * `frames` cuts the input; `parse` makes a message of a frame; `read` and `write` carry a value of a declared type
 * across; `message` makes the bytes of an answer.
 */
import { isUtf8 } from "node:buffer";
import { MAX_DEPTH, OtherNaN, Pairs, TOO_DEEP, decodeMessage, encode, floatOf } from "./cbor.js";

const NEWLINE = 0x0a;

/** The stream can no longer be cut into messages. */
export class FramingError extends Error {}

/** Cuts at newlines; a partial line is kept as its pieces, so a long line is joined once. */
class LineFrames {
  constructor() {
    this.pieces = [];
  }

  /** Yields the lines that the chunk completes, without their newlines. */
  *push(chunk) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield this.#join(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.pieces.push(chunk.subarray(start));
  }

  /** Yields what follows the last newline, at the end of the stream. */
  *end() {
    const line = this.#join(Buffer.alloc(0));
    if (line.length > 0) yield line;
  }

  #join(last) {
    if (this.pieces.length === 0) return last;
    const line = Buffer.concat([...this.pieces, last]);
    this.pieces = [];
    return line;
  }
}

/**
 * Cuts a CBOR sequence (RFC 8742) at the ends of its items.
 *
 * The scan is resumable: it remembers how many items are still open at each level, so that a message that comes
 * in a thousand chunks is walked once and not a thousand times.
 */
class ItemFrames {
  constructor() {
    this.buffer = Buffer.alloc(1 << 16);
    this.length = 0;
    this.at = 0;
    // How many items are still due at each level; Infinity until a break ends an indefinite length.
    this.open = [1];
  }

  /** Yields the items that the chunk completes, valid until the next; raises FramingError where none can begin. */
  *push(chunk) {
    this.#append(chunk);
    let start = 0;
    while (this.#scan()) {
      yield this.buffer.subarray(start, this.at);
      start = this.at;
      this.open = [1];
    }
    this.buffer.copyWithin(0, start, this.length);
    this.length -= start;
    this.at -= start;
  }

  /** Yields an item that was cut off, at the end of the stream; its reader will say so. */
  *end() {
    if (this.length > 0) yield this.buffer.subarray(0, this.length);
  }

  #append(chunk) {
    if (this.length + chunk.length > this.buffer.length) {
      const larger = Buffer.alloc(2 * (this.length + chunk.length));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    chunk.copy(this.buffer, this.length);
    this.length += chunk.length;
  }

  /** Walks on, head by head; true when an item of the outermost level has ended. */
  #scan() {
    while (this.open.length > 0) {
      if (this.at >= this.length) return false;
      const initial = this.buffer[this.at];
      const info = initial & 31;
      const extra = info < 24 || info === 31 ? 0 : 1 << (info - 24);
      if (info > 27 && info < 31) throw new FramingError(`no CBOR item begins with ${initial.toString(16)}`);
      if (this.at + 1 + extra > this.length) return false;
      const argument = info < 24 ? info : this.#argument(extra);
      const major = initial >> 5;
      const content = (major === 2 || major === 3) && info !== 31 ? argument : 0;
      if (this.at + 1 + extra + content > this.length) return false;
      this.at += 1 + extra + content;
      this.#count(initial, major, info, argument);
    }
    return true;
  }

  #argument(extra) {
    if (extra === 0) return 0;
    if (extra === 8) return Number(this.buffer.readBigUInt64BE(this.at + 1));
    return this.buffer.readUIntBE(this.at + 1, extra);
  }

  /** Counts one head: it opens a level, or ends an item and every level that this completes. */
  #count(initial, major, info, argument) {
    const { open } = this;
    if (initial === 0xff) {
      if (open.pop() !== Infinity) throw new FramingError("a break outside an item of indefinite length");
    } else if (info === 31 && major >= 2 && major <= 5) {
      open.push(Infinity);
      return;
    } else if (major === 4 && argument > 0) {
      open.push(argument);
      return;
    } else if (major === 5 && argument > 0) {
      open.push(2 * argument);
      return;
    } else if (major === 6) {
      return;
    }
    while (open.length > 0) {
      open[open.length - 1] -= 1;
      if (open.at(-1) !== 0) return;
      open.pop();
    }
  }
}

/** JSON-RPC 2.0, one message per line, UTF-8. */
class JsonWire {
  constructor() {
    this.frames = new LineFrames();
  }

  parse(line) {
    if (!isUtf8(line)) throw new SyntaxError("the line is not UTF-8");
    return JSON.parse(line.toString());
  }

  read(type, form) {
    return type.fromJson(form);
  }

  write(type, value) {
    return type.toJson(value);
  }

  message(envelope) {
    return Buffer.from(`${JSON.stringify(envelope)}\n`);
  }
}

/** The same messages as CBOR items, one after the other. */
class CborWire {
  constructor() {
    this.frames = new ItemFrames();
  }

  parse(item) {
    const message = decodeMessage(item);
    return message instanceof Pairs ? Object.fromEntries(message.entries) : message;
  }

  read(type, form) {
    return type.fromCbor(form);
  }

  write(type, value) {
    return type.toCbor(value);
  }

  message(envelope) {
    return encode(envelope);
  }
}

/** Chooses the wire by the first byte that the harness sends: the head of a CBOR map, or anything else for JSON. */
export function wireFor(firstByte) {
  return firstByte >= 0xa0 && firstByte <= 0xbf ? new CborWire() : new JsonWire();
}

const same = (value) => value;

function scalar(fromJson, toJson) {
  return { fromJson, toJson, fromCbor: same, toCbor: same };
}

export const string = scalar(same, same);
export const bool = scalar(same, same);

/** 64-bit integers are decimal strings in JSON, because its readers round numbers above 2^53. */
export const uint64 = scalar(BigInt, String);
export const int64 = uint64;

/** Integers of at most 32 bits are plain JSON numbers. */
export const uint32 = scalar(BigInt, Number);
export const int32 = uint32;

/** Bytes are lowercase hex in JSON; a length in the type's name is the caller's promise, not checked here. */
export const bytes = scalar((hex) => Buffer.from(hex, "hex"), (value) => value.toString("hex"));
export const bytes16 = bytes;
export const bytes32 = bytes;

/** A float64 is the 16 hex digits of its big-endian bits in JSON, which keeps every bit. */
export const float64 = {
  fromJson: (hex) => Buffer.from(hex, "hex").readDoubleBE(),
  toJson: (value) => {
    const bits = Buffer.allocUnsafe(8);
    bits.writeDoubleBE(value);
    return bits.toString("hex");
  },
  fromCbor: (item) => (item instanceof OtherNaN ? Number.NaN : item),
  toCbor: same,
};

/** A list of 64-bit indices: decimal strings in JSON, an RFC 8746 typed array in CBOR. */
export const uint64List = {
  fromJson: (items) => BigUint64Array.from(items, BigInt),
  toJson: (items) => Array.from(items, String),
  fromCbor: (items) => (items instanceof BigUint64Array ? items : BigUint64Array.from(items, BigInt)),
  toCbor: same,
};

/** A list of 32-bit numbers, held as words. */
export const uint32List = {
  fromJson: (items) => Uint32Array.from(items),
  toJson: (words) => Array.from(words),
  fromCbor: (items) => (items instanceof Uint32Array ? items : Uint32Array.from(items, Number)),
  toCbor: (words) => Array.from(words, BigInt),
};

/** A tensor: its dtype, its shape as numbers, and its little-endian bytes in C order; in JSON they are base64. */
export const tensor = {
  fromJson: ({ dtype, shape, data }) => ({ dtype, shape, data: Buffer.from(data, "base64") }),
  toJson: ({ dtype, shape, data }) => ({ dtype, shape, data: Buffer.from(data).toString("base64") }),
  fromCbor: (pairs) => {
    const { dtype, shape, data } = Object.fromEntries(pairs.entries);
    return { dtype, shape: Array.from(shape, Number), data };
  },
  toCbor: ({ dtype, shape, data }) => ({ dtype, shape: shape.map(BigInt), data }),
};

/** A list of any other type. */
export function list(element) {
  return {
    fromJson: (items) => items.map((item) => element.fromJson(item)),
    toJson: (items) => items.map((item) => element.toJson(item)),
    fromCbor: (items) => Array.from(items, (item) => element.fromCbor(item)),
    toCbor: (items) => items.map((item) => element.toCbor(item)),
  };
}

/** `map<string, T>`: an object in JSON, a map with text keys in CBOR. */
export function mapOf(element) {
  const convert = (entries, crossing) => entries.map(([key, value]) => [key, crossing(value)]);
  return {
    fromJson: (object) => new Map(convert(Object.entries(object), element.fromJson)),
    toJson: (map) => Object.fromEntries(convert([...map], element.toJson)),
    fromCbor: (pairs) => new Map(convert(pairs.entries, element.fromCbor)),
    toCbor: (map) => new Pairs(convert([...map], element.toCbor)),
  };
}

/** Marks a struct field that may be absent; absent means that the key is missing. */
export function optional(type) {
  return { ...type, optional: true };
}

/** A struct with exactly the given fields. */
export function struct(fields) {
  const entries = Object.entries(fields);
  const convert = (get, crossing) => {
    const result = {};
    for (const [name, type] of entries) {
      const value = get(name);
      if (value !== undefined) result[name] = type[crossing](value);
      else if (!type.optional) throw new TypeError(`missing field ${name}`);
    }
    return result;
  };
  const fromObject = (crossing) => (object) => convert((name) => object[name], crossing);
  return {
    fromJson: fromObject("fromJson"),
    toJson: fromObject("toJson"),
    fromCbor: (pairs) => {
      const byName = new Map(pairs.entries);
      return convert((name) => byName.get(name), "fromCbor");
    },
    toCbor: fromObject("toCbor"),
  };
}

/** The self-describing type: any CBOR item; in JSON its kind is written beside it. */
export const value = { fromJson: (form) => valueFromJson(form, 0), toJson: valueToJson, fromCbor: same, toCbor: same };

function valueFromJson(form, depth) {
  if (depth > MAX_DEPTH) return TOO_DEEP;
  const inner = (element) => valueFromJson(element, depth + 1);
  if (form === null || typeof form === "boolean") return form;
  const [[kind, content]] = Object.entries(form);
  switch (kind) {
    case "text": return content;
    case "int": return BigInt(content);
    case "float": return floatOf(Buffer.from(content, "hex"));
    case "bytes": return bytes.fromJson(content);
    case "array": return content.map(inner);
    case "map": return new Pairs(content.map((pair) => pair.map(inner)));
    default: throw new TypeError(`unknown kind of value ${kind}`);
  }
}

function valueToJson(item) {
  if (item === null || typeof item === "boolean") return item;
  if (typeof item === "string") return { text: item };
  if (typeof item === "bigint") return { int: String(item) };
  if (typeof item === "number") return { float: float64.toJson(item) };
  if (item instanceof OtherNaN) return { float: item.bits.toString("hex") };
  if (item instanceof Uint8Array) return { bytes: Buffer.from(item).toString("hex") };
  if (Array.isArray(item)) return { array: item.map(valueToJson) };
  if (item instanceof Pairs) return { map: item.entries.map((pair) => pair.map(valueToJson)) };
  throw new TypeError("an item without a JSON form");
}
