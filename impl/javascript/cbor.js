

/**
 * CBOR (RFC 8949): one encoder, canonical or as given, and one decoder.
 *
 * In memory an integer is a BigInt and a float is a number, so that neither is ever taken for the other;
 * bytes are a Uint8Array, a map with text keys may be an object or a Map, any other map is `Pairs`.
 */

const MAX_UINT64 = (1n << 64n) - 1n;
const TYPED_ARRAY_UINT32_LE = 70n;
const TYPED_ARRAY_UINT64_LE = 71n;
const BREAK = Symbol("break");

/** Replaces an item that is nested too deeply; it has no encoding, so every item around it is refused. */
export const TOO_DEEP = Symbol("an item nested too deeply");
export const MAX_DEPTH = 512;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes that are no CBOR item, or an item that has no canonical form. */
export class CborError extends Error {}

/** A map as it is in the bytes: keys of any type, in the given order, repeated keys kept. */
export class Pairs {
  constructor(entries) {
    this.entries = entries;
  }
}

const CANONICAL_NAN = Buffer.from("7ff8000000000000", "hex");

/** A NaN of other bits than the one of the profile, by those bits: a number of this language would lose them. */
export class OtherNaN {
  constructor(bits) {
    this.bits = bits;
  }
}

/** The float of 8 big-endian bytes: a number, or an OtherNaN. */
export function floatOf(bits) {
  const number = bits.readDoubleBE();
  return Number.isNaN(number) && !CANONICAL_NAN.equals(bits) ? new OtherNaN(Buffer.from(bits)) : number;
}

/** A tagged item. */
class Tagged {
  constructor(tag, item) {
    this.tag = tag;
    this.item = item;
  }
}

/** Encodes an item canonically: shortest integers, binary64 floats, keys sorted bytewise and distinct. */
export function encodeCanonical(item) {
  const writer = new Writer(true);
  writer.item(item);
  return writer.bytes();
}

/** Encodes an item for the wire, with map entries in the given order. */
export function encode(item) {
  const writer = new Writer(false);
  writer.item(item);
  return writer.bytes();
}

/** Decodes the one item that the bytes hold; raises CborError for anything else. */
export function decode(bytes) {
  return decodeWith(new Reader(bytes, false), bytes);
}

/** Decodes a message, in which an item nested too deeply becomes TOO_DEEP: the request still has its answer. */
export function decodeMessage(bytes) {
  return decodeWith(new Reader(bytes, true), bytes);
}

function decodeWith(reader, bytes) {
  const item = reader.item(0);
  if (item === BREAK) throw new CborError("a break outside an item of indefinite length");
  if (reader.offset !== bytes.length) throw new CborError(`${bytes.length - reader.offset} bytes after the item`);
  return item;
}

/** The entries of any of the three in-memory maps. */
function entriesOf(map) {
  if (map instanceof Pairs) return map.entries;
  return map instanceof Map ? [...map] : Object.entries(map);
}

class Writer {
  constructor(canonical) {
    this.canonical = canonical;
    this.buffer = Buffer.allocUnsafe(256);
    this.length = 0;
  }

  bytes() {
    return this.buffer.subarray(0, this.length);
  }

  reserve(count) {
    if (this.length + count <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.buffer.length, this.length + count));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }

  /** Writes a head: the major type and its argument, a number or a BigInt, in the shortest form. */
  head(major, argument) {
    this.reserve(9);
    const type = major << 5;
    if (argument < 24) {
      this.length = this.buffer.writeUInt8(type | Number(argument), this.length);
    } else if (argument < 0x100) {
      this.length = this.buffer.writeUInt8(type | 24, this.length);
      this.length = this.buffer.writeUInt8(Number(argument), this.length);
    } else if (argument < 0x10000) {
      this.length = this.buffer.writeUInt8(type | 25, this.length);
      this.length = this.buffer.writeUInt16BE(Number(argument), this.length);
    } else if (argument < 0x100000000) {
      this.length = this.buffer.writeUInt8(type | 26, this.length);
      this.length = this.buffer.writeUInt32BE(Number(argument), this.length);
    } else {
      this.length = this.buffer.writeUInt8(type | 27, this.length);
      this.length = this.buffer.writeBigUInt64BE(BigInt(argument), this.length);
    }
  }

  item(item) {
    if (item === null) this.simple(0xf6);
    else if (item === false) this.simple(0xf4);
    else if (item === true) this.simple(0xf5);
    else if (typeof item === "bigint") this.integer(item);
    else if (typeof item === "number") this.float(item);
    else if (typeof item === "string") this.text(item);
    else if (item instanceof Uint8Array) this.byteString(2, item);
    else if (Array.isArray(item)) this.array(item);
    else if (item instanceof BigUint64Array) this.typedArray(TYPED_ARRAY_UINT64_LE, item);
    else if (item instanceof Tagged) this.tagged(item);
    else if (item instanceof OtherNaN) this.otherNaN(item);
    else if (typeof item === "object") this.map(entriesOf(item));
    else throw new CborError(`no CBOR form for ${typeof item}`);
  }

  simple(byte) {
    this.reserve(1);
    this.length = this.buffer.writeUInt8(byte, this.length);
  }

  integer(value) {
    if (value > MAX_UINT64 || value < -MAX_UINT64 - 1n) throw new CborError("an integer outside 64 bits");
    if (value >= 0n) this.head(0, value);
    else this.head(1, -1n - value);
  }

  float(value) {
    this.simple(0xfb);
    this.reserve(8);
    if (Number.isNaN(value)) this.length += CANONICAL_NAN.copy(this.buffer, this.length);
    else this.length = this.buffer.writeDoubleBE(value, this.length);
  }

  otherNaN({ bits }) {
    if (this.canonical) throw new CborError("a NaN of other bits than the one");
    this.simple(0xfb);
    this.raw(bits);
  }

  text(value) {
    const size = Buffer.byteLength(value);
    this.head(3, size);
    this.reserve(size);
    this.length += this.buffer.write(value, this.length);
  }

  byteString(major, bytes) {
    this.head(major, bytes.length);
    this.raw(bytes);
  }

  raw(bytes) {
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  array(items) {
    this.head(4, items.length);
    for (const item of items) this.item(item);
  }

  /** Writes the words of a typed array as they lie in memory, which is little-endian wherever Node runs. */
  typedArray(tag, words) {
    this.tagged(new Tagged(tag, new Uint8Array(words.buffer, words.byteOffset, words.byteLength)));
  }

  tagged({ tag, item }) {
    if (this.canonical) throw new CborError("a tag");
    this.head(6, tag);
    this.item(item);
  }

  map(entries) {
    this.head(5, entries.length);
    if (this.canonical) this.sortedEntries(entries);
    else for (const entry of entries) entry.forEach((item) => this.item(item));
  }

  sortedEntries(entries) {
    const encoded = entries.map(([key, value]) => [encodeCanonical(key), value]);
    encoded.sort(([left], [right]) => Buffer.compare(left, right));
    encoded.forEach(([key, value], position) => {
      if (position > 0 && key.equals(encoded[position - 1][0])) throw new CborError("a repeated map key");
      this.raw(key);
      this.item(value);
    });
  }
}

class Reader {
  constructor(bytes, skipsDeepItems) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.offset = 0;
    this.skipsDeepItems = skipsDeepItems;
  }

  /** Steps over `count` bytes and returns the offset of the first. */
  take(count) {
    const start = this.offset;
    if (count > this.buffer.length - start) throw new CborError(`the item is cut off at byte ${this.buffer.length}`);
    this.offset = start + count;
    return start;
  }

  /** Reads the argument of a head; undefined represents an indefinite length. */
  argument(info) {
    if (info < 24) return info;
    if (info === 24) return this.buffer.readUInt8(this.take(1));
    if (info === 25) return this.buffer.readUInt16BE(this.take(2));
    if (info === 26) return this.buffer.readUInt32BE(this.take(4));
    if (info === 27) return this.buffer.readBigUInt64BE(this.take(8));
    if (info === 31) return undefined;
    throw new CborError(`reserved additional information ${info} at byte ${this.offset - 1}`);
  }

  item(depth) {
    // A deeper item would end in an overflow of the call stack, which is no answer.
    if (depth > MAX_DEPTH) return this.deepItem();
    const initial = this.buffer.readUInt8(this.take(1));
    const major = initial >> 5;
    const info = initial & 31;
    if (major === 7) return this.simpleOrFloat(info);
    const argument = this.argument(info);
    if (argument === undefined && (major < 2 || major === 6)) throw new CborError("an indefinite integer or tag");
    switch (major) {
      case 0: return BigInt(argument);
      case 1: return -1n - BigInt(argument);
      case 2: return this.chunks(2, argument);
      case 3: return this.text(this.chunks(3, argument));
      case 4: return this.array(argument, depth);
      case 5: return new Pairs(this.pairs(argument, depth));
      default: return this.tagged(BigInt(argument), depth);
    }
  }

  deepItem() {
    if (!this.skipsDeepItems) throw new CborError(`more than ${MAX_DEPTH} levels of nesting`);
    // The head of a break is no item, however deep it is.
    if (this.buffer[this.offset] === 0xff) {
      this.take(1);
      return BREAK;
    }
    this.skip();
    return TOO_DEEP;
  }

  /** Steps over one item without recursion: `open` counts the items still due at each level. */
  skip() {
    const open = [1];
    while (open.length > 0) {
      const initial = this.buffer.readUInt8(this.take(1));
      const major = initial >> 5;
      const argument = this.argument(initial & 31);
      if (initial === 0xff) {
        if (open.pop() !== Infinity) throw new CborError("a break where an item was due");
      } else if (argument === undefined) {
        if (major < 2 || major === 6) throw new CborError("an indefinite integer or tag");
        open.push(Infinity);
        continue;
      } else if (major === 2 || major === 3) {
        this.take(Number(argument));
      } else if ((major === 4 || major === 5) && argument > 0) {
        open.push(Number(argument) * (major - 3));
        continue;
      } else if (major === 6) {
        continue;
      }
      while (open.length > 0) {
        open[open.length - 1] -= 1;
        if (open.at(-1) !== 0) break;
        open.pop();
      }
    }
  }

  simpleOrFloat(info) {
    switch (info) {
      case 20: return false;
      case 21: return true;
      case 22: return null;
      case 25: return halfFloat(this.buffer.readUInt16BE(this.take(2)));
      case 26: return this.buffer.readFloatBE(this.take(4));
      case 27: {
        const at = this.take(8);
        return floatOf(this.buffer.subarray(at, at + 8));
      }
      case 31: return BREAK;
      default: throw new CborError(`a simple value without meaning at byte ${this.offset - 1}`);
    }
  }

  /** Reads a string of known length, or joins the chunks of an indefinite one; the bytes are a copy. */
  chunks(major, length) {
    if (length !== undefined) {
      const start = this.take(Number(length));
      return Buffer.from(this.buffer.subarray(start, this.offset));
    }
    const chunks = [];
    for (;;) {
      const initial = this.buffer.readUInt8(this.take(1));
      if (initial === 0xff) return Buffer.concat(chunks);
      const size = this.argument(initial & 31);
      if (initial >> 5 !== major || size === undefined) throw new CborError("a chunk of another type");
      chunks.push(this.chunks(major, size));
    }
  }

  text(bytes) {
    try {
      return utf8.decode(bytes);
    } catch {
      throw new CborError("text that is not UTF-8");
    }
  }

  /** Reads one item that must not be a break. */
  inner(depth) {
    const item = this.item(depth + 1);
    if (item === BREAK) throw new CborError("a break where an item was due");
    return item;
  }

  array(length, depth) {
    const items = [];
    for (let count = 0; length === undefined || count < length; count += 1) {
      const item = length === undefined ? this.item(depth + 1) : this.inner(depth);
      if (item === BREAK) break;
      items.push(item);
    }
    return items;
  }

  pairs(length, depth) {
    const entries = [];
    for (let count = 0; length === undefined || count < length; count += 1) {
      const key = length === undefined ? this.item(depth + 1) : this.inner(depth);
      if (key === BREAK) break;
      entries.push([key, this.inner(depth)]);
    }
    return entries;
  }

  tagged(tag, depth) {
    const item = this.inner(depth);
    if (!(item instanceof Uint8Array)) return new Tagged(tag, item);
    if (tag === TYPED_ARRAY_UINT64_LE) return words(BigUint64Array, item);
    if (tag === TYPED_ARRAY_UINT32_LE) return words(Uint32Array, item);
    return new Tagged(tag, item);
  }
}

/** The typed array of an RFC 8746 byte string, copied because its bytes need not be aligned. */
function words(Words, bytes) {
  if (bytes.length % Words.BYTES_PER_ELEMENT !== 0) throw new CborError("a typed array with half a word");
  return new Words(new Uint8Array(bytes).buffer);
}

/** The value of a binary16 float. */
function halfFloat(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
