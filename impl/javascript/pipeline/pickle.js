/** The closed list of pickle opcodes that meta.pkl uses, read and written. */
import { isUtf8 } from "node:buffer";
import { Pairs } from "../cbor.js";
import { Dict, isPlain } from "./metadata.js";
import { Damaged } from "./types.js";

const PROTOCOL = 2;

/** The pickle as it is read: its bytes, the stack with its marks, and what was memoized. */
class Reading {
  constructor(bytes) {
    this.bytes = bytes;
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

  push(item) {
    this.stack.push(item);
  }

  /** How many items stand above the last mark. */
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

  /** What stands above the last mark, which goes. */
  popToMark() {
    if (this.marks.length === 0) throw new Damaged("no mark");
    return this.stack.splice(this.marks.pop());
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

const OPCODES = {
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
  q: (reading) => reading.memo.set(reading.byte(), reading.top()),
  r: (reading) => reading.memo.set(reading.word(), reading.top()),
  h: (reading) => reading.recall(reading.byte()),
  j: (reading) => reading.recall(reading.word()),
  N: (reading) => reading.push(null),
  "\x88": (reading) => reading.push(true),
  "\x89": (reading) => reading.push(false),
  K: (reading) => reading.push(BigInt(reading.byte())),
  M: (reading) => reading.push(BigInt(reading.take(2).readUInt16LE())),
  J: (reading) => reading.push(BigInt(reading.take(4).readInt32LE())),
  "\x8a": (reading) => reading.push(longOf(reading.take(reading.byte()))),
  "\x8b": (reading) => reading.push(longOf(reading.take(reading.word()))),
  G: (reading) => reading.push(reading.take(8).readDoubleBE()),
  X: (reading) => reading.push(textOf(reading.take(reading.word()))),
};

/** The plain value that a pickle holds; raises Damaged for anything else. */
export function readPickle(bytes) {
  const reading = new Reading(bytes);
  if (reading.byte() !== 0x80 || reading.byte() !== PROTOCOL) throw new Damaged("not of protocol 2");
  for (let opcode = reading.byte(); opcode !== 0x2e; opcode = reading.byte()) {
    const step = OPCODES[String.fromCharCode(opcode)];
    if (step === undefined) throw new Damaged(`opcode ${opcode} makes no plain value`);
    step(reading);
  }
  const [root] = reading.stack;
  const isWhole = reading.stack.length === 1 && reading.marks.length === 0 && reading.offset === bytes.length;
  if (!isWhole || !isPlain(root)) throw new Damaged("not one plain value");
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

/** The pickle of a plain value. */
export function writePickle(item) {
  const parts = [BEGIN];
  append(parts, item);
  return Buffer.concat([...parts, STOP]);
}
