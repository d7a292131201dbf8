/** The closed list of pickle opcodes that plain values need, of protocol 0 to 5; written is protocol 2. */
import { isUtf8 } from "node:buffer";
import { Pairs } from "../cbor.js";
import { Dict, MOST_VALUES, isPlain } from "./metadata.js";
import { Damaged } from "./types.js";

const LAST_PROTOCOL = 5;
const INTEGER = /^-?[0-9]{1,4000}$/;
const FLOAT = /^-?(?:inf|nan|[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)$/;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)/g;
const NAMED_FLOATS = new Map([["inf", Infinity], ["-inf", -Infinity], ["nan", NaN], ["-nan", NaN]]);

/** What a pickle names, or calls: nothing, unless a reader knows it. */
const NOTHING_KNOWN = {
  name(module, name) {
    throw new Damaged(`it names ${module}.${name}`);
  },
  outside() {
    throw new Damaged("it refers to something outside");
  },
};

/** The pickle as it is read: its bytes, the stack with its marks, and what was memoized. */
class Reading {
  constructor(bytes, known) {
    this.bytes = bytes;
    this.known = known;
    this.offset = 0;
    this.stack = [];
    this.marks = [];
    this.memo = new Map();
  }

  take(count) {
    const start = this.offset;
    if (count > this.bytes.length - start) throw new Damaged("the pickle is cut off");
    this.offset += count;
    return this.bytes.subarray(start, this.offset);
  }

  byte() {
    return this.take(1)[0];
  }

  word() {
    return this.take(4).readUInt32LE();
  }

  /** The text up to the next line feed. */
  line() {
    const end = this.bytes.indexOf(0x0a, this.offset);
    if (end < 0) throw new Damaged("the pickle is cut off");
    const text = this.take(end - this.offset).toString("latin1");
    this.offset += 1;
    return text;
  }

  /** A length of eight bytes. */
  long() {
    const length = this.take(8).readBigUInt64LE();
    if (length > BigInt(this.bytes.length)) throw new Damaged("the pickle is cut off");
    return Number(length);
  }

  push(item) {
    this.stack.push(item);
  }

  /** The number of items above the last mark. */
  get height() {
    return this.stack.length - (this.marks.at(-1) ?? 0);
  }

  pop() {
    if (this.height === 0) throw new Damaged("nothing on the stack");
    return this.stack.pop();
  }

  top() {
    if (this.height === 0) throw new Damaged("nothing on the stack");
    return this.stack.at(-1);
  }

  /** The items above the last mark, which is removed with them. */
  popToMark() {
    if (this.marks.length === 0) throw new Damaged("no mark");
    return this.stack.splice(this.marks.pop());
  }

  /** The latest items, first come first. */
  last(count) {
    return Array.from({ length: count }, () => this.pop()).reverse();
  }

  remember(index) {
    this.memo.set(index, this.top());
  }

  recall(index) {
    if (!this.memo.has(index)) throw new Damaged("nothing was memoized there");
    this.push(this.memo.get(index));
  }

  append(items) {
    const list = this.top();
    if (!Array.isArray(list)) throw new Damaged("no list to append to");
    for (const item of items) list.push(item);
  }

  setItems(items) {
    const dict = this.top();
    const isWhole = dict instanceof Dict && items.length % 2 === 0;
    for (let at = 0; at < items.length; at += 2) {
      if (!isWhole || !dict.set(items[at], items[at + 1])) throw new Damaged("no items of a dict");
    }
  }
}

function textOf(content) {
  if (!isUtf8(content)) throw new Damaged("the text is not UTF-8");
  return content.toString();
}

/** The integer of a two's complement, least significant byte first. */
function longOf(content) {
  if (content.length === 0) return 0n;
  return BigInt.asIntN(8 * content.length, BigInt(`0x${Buffer.from(content).reverse().toString("hex")}`));
}

function integerOf(text) {
  if (!INTEGER.test(text)) throw new Damaged("no integer");
  return BigInt(text);
}

/** The integer of a line, or the bool that protocols 0 and 1 write as one. */
function integerOrBool(text) {
  return text === "00" || text === "01" ? text === "01" : integerOf(text);
}

function floatOf(text) {
  if (!FLOAT.test(text)) throw new Damaged("no float");
  return NAMED_FLOATS.get(text) ?? Number(text);
}

function unescaped(text) {
  return text.replace(ESCAPE, (_, short, long) => {
    const code = parseInt(short ?? long, 16);
    if (!(code < 0xd800 || (code >= 0xe000 && code < 0x110000))) throw new Damaged("no escape of a character");
    return String.fromCodePoint(code);
  });
}

function dictOf(items) {
  const dict = new Dict();
  for (let at = 0; at < items.length; at += 2) {
    if (at + 1 === items.length || !dict.set(items[at], items[at + 1])) throw new Damaged("no items of a dict");
  }
  return dict;
}

/** Pushes what represents a name; it and its module are texts. */
function name(reading, [module, own]) {
  if (typeof module !== "string" || typeof own !== "string") throw new Damaged("a name that is no text");
  reading.push(reading.known.name(module, own));
}

/** Calls what represents a name, where a reader knows how. */
function call(reading, [called, given]) {
  if (typeof called?.make !== "function" || !Array.isArray(given)) throw new Damaged("it calls what cannot be called");
  reading.push(called.make(given));
}

/** Passes over the attributes that torch gives the dict of a model's state, which are no items of it. */
function attributes(reading) {
  const isState = reading.pop() instanceof Dict && reading.known !== NOTHING_KNOWN;
  if (!isState || !(reading.top() instanceof Dict)) throw new Damaged("attributes of what has none");
}

const OPCODES = {
  "\x80": (reading) => {
    if (reading.offset !== 1 || reading.byte() > LAST_PROTOCOL) throw new Damaged("not of protocol 0 to 5");
  },
  "\x95": (reading) => reading.take(8), // a frame is a hint for reading ahead
  "(": (reading) => reading.marks.push(reading.stack.length),
  "}": (reading) => reading.push(new Dict()),
  "]": (reading) => reading.push([]),
  a: (reading) => reading.append([reading.pop()]),
  e: (reading) => reading.append(reading.popToMark()),
  s: (reading) => {
    const value = reading.pop();
    reading.setItems([reading.pop(), value]);
  },
  u: (reading) => reading.setItems(reading.popToMark()),
  d: (reading) => reading.push(dictOf(reading.popToMark())),
  l: (reading) => reading.push(reading.popToMark()),
  ")": (reading) => reading.push([]), // a tuple is a list
  t: (reading) => reading.push(reading.popToMark()),
  "\x85": (reading) => reading.push(reading.last(1)),
  "\x86": (reading) => reading.push(reading.last(2)),
  "\x87": (reading) => reading.push(reading.last(3)),
  p: (reading) => reading.remember(Number(integerOf(reading.line()))),
  q: (reading) => reading.remember(reading.byte()),
  r: (reading) => reading.remember(reading.word()),
  "\x94": (reading) => reading.remember(reading.memo.size),
  g: (reading) => reading.recall(Number(integerOf(reading.line()))),
  h: (reading) => reading.recall(reading.byte()),
  j: (reading) => reading.recall(reading.word()),
  N: (reading) => reading.push(null),
  "\x88": (reading) => reading.push(true),
  "\x89": (reading) => reading.push(false),
  I: (reading) => reading.push(integerOrBool(reading.line())),
  L: (reading) => reading.push(integerOf(reading.line().replace(/L$/, ""))),
  F: (reading) => reading.push(floatOf(reading.line())),
  V: (reading) => reading.push(unescaped(reading.line())),
  K: (reading) => reading.push(BigInt(reading.byte())),
  M: (reading) => reading.push(BigInt(reading.take(2).readUInt16LE())),
  J: (reading) => reading.push(BigInt(reading.take(4).readInt32LE())),
  "\x8a": (reading) => reading.push(longOf(reading.take(reading.byte()))),
  "\x8b": (reading) => reading.push(longOf(reading.take(reading.word()))),
  G: (reading) => reading.push(reading.take(8).readDoubleBE()),
  X: (reading) => reading.push(textOf(reading.take(reading.word()))),
  "\x8c": (reading) => reading.push(textOf(reading.take(reading.byte()))),
  "\x8d": (reading) => reading.push(textOf(reading.take(reading.long()))),
  c: (reading) => name(reading, [reading.line(), reading.line()]),
  "\x93": (reading) => name(reading, reading.last(2)),
  Q: (reading) => reading.push(reading.known.outside(reading.pop())),
  R: (reading) => call(reading, reading.last(2)),
  b: attributes,
};

/** The value of a pickle, which may contain what `known` represents; raises Damaged for anything else. */
export function readKnown(bytes, known, mostOpcodes) {
  const reading = new Reading(bytes, known);
  let left = mostOpcodes;
  for (let opcode = reading.byte(); opcode !== 0x2e; opcode = reading.byte()) {
    const step = OPCODES[String.fromCharCode(opcode)];
    if (step === undefined) throw new Damaged(`opcode ${opcode} makes no plain value`);
    left -= 1;
    if (left === 0) throw new Damaged(`more than ${mostOpcodes} opcodes`);
    step(reading);
  }
  const [root] = reading.stack;
  const isWhole = reading.stack.length === 1 && reading.marks.length === 0 && reading.offset === bytes.length;
  if (!isWhole) throw new Damaged("not one value");
  return root;
}

/** The plain value that a pickle holds; raises Damaged for anything else. */
export function readPickle(bytes) {
  const root = readKnown(bytes, NOTHING_KNOWN, 4 * MOST_VALUES);
  if (!isPlain(root)) throw new Damaged("no plain value");
  return root;
}

const BEGIN = Buffer.from([0x80, 2]);
const STOP = Buffer.from(".");
const MARK = Buffer.from("(");
const [NONE, TRUE, FALSE] = [Buffer.from("N"), Buffer.from([0x88]), Buffer.from([0x89])];

/** The fewest bytes of a two's complement, least significant first. */
function twosComplement(value) {
  const bytes = [];
  let rest = value;
  do {
    bytes.push(Number(rest & 0xffn));
    rest >>= 8n;
  } while (rest !== (bytes.at(-1) < 0x80 ? 0n : -1n));
  return Buffer.from(bytes);
}

function withSize(opcode, size, content) {
  const head = Buffer.alloc(5);
  head.write(opcode, "latin1");
  head.writeUInt32LE(size, 1);
  return Buffer.concat([head, content]);
}

function pickledInt(value) {
  if (value >= 0n && value < 0x100n) return Buffer.from([0x4b, Number(value)]);
  if (value === BigInt.asIntN(32, value)) {
    const short = Buffer.from("J....");
    short.writeInt32LE(Number(value), 1);
    return short;
  }
  const content = twosComplement(value);
  if (content.length > 0xff) return withSize("\x8b", content.length, content);
  return Buffer.concat([Buffer.from([0x8a, content.length]), content]);
}

function pickledFloat(value) {
  const float = Buffer.from("G........");
  float.writeDoubleBE(value, 1);
  return float;
}

function append(parts, item) {
  if (item === null) parts.push(NONE);
  else if (typeof item === "boolean") parts.push(item ? TRUE : FALSE);
  else if (typeof item === "bigint") parts.push(pickledInt(item));
  else if (typeof item === "number") parts.push(pickledFloat(item));
  else if (typeof item === "string") parts.push(withSize("X", Buffer.byteLength(item), Buffer.from(item)));
  else if (item instanceof Pairs) appendAll(parts, "}", item.entries.flat(), "u");
  else appendAll(parts, "]", item, "e");
}

/** An empty container, and behind a mark what goes into it. */
function appendAll(parts, empty, items, fill) {
  parts.push(Buffer.from(empty));
  if (items.length === 0) return;
  parts.push(MARK);
  for (const item of items) append(parts, item);
  parts.push(Buffer.from(fill));
}

/** The bytes that make a plain value anywhere in a pickle. */
export function pickledPart(item) {
  const parts = [];
  append(parts, item);
  return Buffer.concat(parts);
}

/** The pickle whose value some bytes make. */
export function pickleOf(part) {
  return Buffer.concat([BEGIN, part, STOP]);
}

/** The pickle of a plain value. */
export function writePickle(item) {
  return pickleOf(pickledPart(item));
}
