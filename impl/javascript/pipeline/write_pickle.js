/** Plain values as a pickle of protocol 2 (ruling QA21). */
import { Pairs } from "../cbor.js";

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
