/**
 * The two wires: JSON lines and a CBOR sequence, with one interface.
 *
 * `frames` cuts the input; `parse` makes a message of a frame; `read` and `write` carry a value of a declared type
 * across; `message` makes the bytes of an answer.
 */
import { isUtf8 } from "node:buffer";
import { MAX_DEPTH, OtherNaN, Pairs, TOO_DEEP, decodeMessage, encode, floatOf } from "./cbor.js";
import { ItemFrames, LineFrames } from "./framing.js";

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
