/** A batch file: metadata.json, and one array for every field (requirements Q05, Q06; rulings QA14, QA15). */
import { isUtf8 } from "node:buffer";
import { bytesOf } from "../batch/tensors.js";
import { Pairs } from "../cbor.js";
import { crc32 } from "../digest.js";
import { Dict, hasUnknownKeys, isFieldName, isSameField, schemaOf } from "./metadata.js";
import { Placed, isOldForm, membersOf, readSaved, tensorAt } from "./torch_file.js";
import { Damaged, Foreign } from "./types.js";

/** JSON as batch files hold it: ASCII without blanks, integers of any size (requirement Q05). */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*(?=[ \t\n\r]*(:?))/gs;
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The JSON text of objects, arrays, texts and BigInts; keys are in the order of the object. */
function writeJson(item) {
  if (typeof item === "bigint") return String(item);
  if (typeof item === "string") return JSON.stringify(item).replace(/[^ -~]/g, escaped);
  if (Array.isArray(item)) return `[${item.map(writeJson).join()}]`;
  const members = Object.entries(item).map(([key, value]) => `${writeJson(key)}:${writeJson(value)}`);
  return `{${members.join()}}`;
}

function numberOf(text) {
  return INTEGER.test(text) ? BigInt(text) : Number(text);
}

/** A text or a number of JSON as a text that tells which; a number is no key, and must be one even if it is replaced. */
function marked(token, colon) {
  if (token[0] === '"') return `"t${token.slice(1)}`;
  if (colon !== "" || !NUMBER.test(token)) throw new Damaged("no number");
  return `"n${token}"`;
}

/** What a marked text represents. */
function unmarked(text) {
  return text[0] === "t" ? text.slice(1) : numberOf(text.slice(1));
}

/** Gives objects as Maps, so that no key means more than another. */
function revive(key, held) {
  if (typeof held === "string") return unmarked(held);
  if (held === null || typeof held !== "object" || Array.isArray(held)) return held;
  return new Map(Object.entries(held).map(([name, value]) => [name.slice(1), value]));
}

/**
 * The item of a JSON text: objects are Maps, integers BigInts; raises Damaged for what is no JSON.
 *
 * JSON.parse rounds integers, so every number is handed to it as a text, and texts are marked to be told from them.
 */
function readJson(text) {
  try {
    return JSON.parse(text.replace(TOKEN, marked), revive);
  } catch (error) {
    if (error instanceof Damaged || error instanceof SyntaxError || error instanceof RangeError) {
      throw new Damaged("no JSON");
    }
    throw error;
  }
}

const MAGIC = Buffer.from("\x93NUMPY\x01\x00", "latin1");
const ALIGNMENT = 64;
const HEAD_BYTES = MAGIC.length + 2;
const DESCRIPTIONS = new Map([
  ["bool", "|b1"], ["uint8", "|u1"], ["uint16", "<u2"], ["uint32", "<u4"], ["uint64", "<u8"],
  ["int8", "|i1"], ["int16", "<i2"], ["int32", "<i4"], ["int64", "<i8"],
  ["float16", "<f2"], ["float32", "<f4"], ["float64", "<f8"],
]);
const DTYPES = new Map([...DESCRIPTIONS].map(([dtype, description]) => [description, dtype]));

// Only the text that NumPy writes, with as many blanks behind it as one likes (ruling QA34).
const HEADER = /^\{'descr': '([|<][a-z][0-9])', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n$/;
const SIDES = /^(?:|(?:0|[1-9][0-9]*),|(?:0|[1-9][0-9]*)(?:, (?:0|[1-9][0-9]*))+)$/; // as NumPy writes them
const MOST_HEADER_BYTES = 4096;

/** The file of one tensor, its header padded so that the elements are aligned. */
function writeArray({ dtype, shape, data }) {
  const sides = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${DESCRIPTIONS.get(dtype)}', 'fortran_order': False, 'shape': (${sides}), }`;
  const size = Math.ceil((HEAD_BYTES + text.length + 1) / ALIGNMENT) * ALIGNMENT - HEAD_BYTES;
  const length = Buffer.alloc(2);
  length.writeUInt16LE(size);
  return Buffer.concat([MAGIC, length, Buffer.from(`${text.padEnd(size - 1)}\n`, "latin1"), data]);
}

/** The sides that the text of a tuple lists, in the very form in which NumPy writes it. */
function sidesOf(text) {
  if (!SIDES.test(text)) throw new Damaged("not the shape of an array");
  return (text.match(/[0-9]+/g) ?? []).map(BigInt);
}

function readHeader(text) {
  const [, description, shape] = HEADER.exec(text) ?? [];
  const dtype = DTYPES.get(description);
  if (dtype === undefined) throw new Damaged("not the header of an array of plain numbers");
  return { dtype, shape: sidesOf(shape) };
}

/** The tensor that a file holds; raises Damaged for any other file. */
function readArray(content) {
  if (content.length < HEAD_BYTES || !content.subarray(0, MAGIC.length).equals(MAGIC)) throw new Damaged("no array");
  const start = HEAD_BYTES + content.readUInt16LE(MAGIC.length);
  if (start > Math.min(content.length, HEAD_BYTES + MOST_HEADER_BYTES)) throw new Damaged("the header is cut off");
  const { dtype, shape } = readHeader(content.toString("latin1", HEAD_BYTES, start));
  const data = content.subarray(start);
  const size = shape.reduce((product, side) => product * side, BigInt(bytesOf(dtype)));
  if (size !== BigInt(data.length)) throw new Damaged("another number of elements than declared");
  if (dtype === "bool" && !data.every((byte) => byte <= 1)) throw new Damaged("a byte that is no bool");
  return { dtype, shape: shape.map(Number), data };
}

const LOCAL_HEADER = 0x04034b50;
const ENTRY = 0x02014b50;
const END = 0x06054b50;
const LOCAL_BYTES = 30;
const ENTRY_BYTES = 46;
const END_BYTES = 22;
// torch always writes the end of a large archive as well, and its offset.
const LARGE_END = 0x06064b50;
const LARGE_END_AT = 0x07064b50;
const LARGE_END_BYTES = 56;
const LARGE_END_AT_BYTES = 20;
const VERSION = 20;
const UNIX = 3;
const NO_DATE = 0x21; // 1980-01-01, the first day that an archive can name
const PRIVATE_FILE = 0o600 << 16;
const UTF8_NAME = 0x800;
const STREAMED = 0x8; // the sizes of the local header follow the member; those of the directory are right

const isAscii = (text) => /^[\0-\x7f]*$/.test(text);

/** What the local header and the directory's entry have in common. */
function commonFields({ name, content }) {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(VERSION, 0);
  fields.writeUInt16LE(isAscii(name) ? 0 : UTF8_NAME, 2);
  fields.writeUInt16LE(NO_DATE, 8);
  fields.writeUInt32LE(crc32(content), 10);
  fields.writeUInt32LE(content.length, 14);
  fields.writeUInt32LE(content.length, 18);
  fields.writeUInt16LE(Buffer.byteLength(name), 22);
  return fields;
}

function signed(signature, ...parts) {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(signature);
  return Buffer.concat([head, ...parts]);
}

function entryOf(common, name, offset) {
  const madeBy = Buffer.from([VERSION, UNIX]);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(PRIVATE_FILE, 6);
  rest.writeUInt32LE(offset, 10);
  return signed(ENTRY, madeBy, common, rest, Buffer.from(name));
}

/** The archive of members `{name, content}`, in their order. */
function writeArchive(members) {
  const parts = [];
  const entries = [];
  let offset = 0;
  for (const member of members) {
    const common = commonFields(member);
    const header = signed(LOCAL_HEADER, common, Buffer.from(member.name));
    entries.push(entryOf(common, member.name, offset));
    parts.push(header, member.content);
    offset += header.length + member.content.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(END_BYTES - 4);
  end.writeUInt16LE(members.length, 4);
  end.writeUInt16LE(members.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, directory, signed(END, end)]);
}

function must(isTrue, what) {
  if (!isTrue) throw new Damaged(what);
}

/** Whether the last bytes of a file are those of an archive. */
export function isArchiveEnd(tail) {
  const at = tail.length - END_BYTES;
  return at >= 0 && tail.readUInt32LE(at) === END;
}

/** The offset of the directory and its number of entries; its end follows it and ends the file. */
function directoryOf(archive) {
  const at = archive.length - END_BYTES;
  must(isArchiveEnd(archive), "no end of an archive");
  const [disk, first, here, count] = [4, 6, 8, 10].map((field) => archive.readUInt16LE(at + field));
  const start = archive.readUInt32LE(at + 16);
  must(disk === 0 && first === 0 && here === count && archive.readUInt16LE(at + 20) === 0, "not one archive");
  const end = start + archive.readUInt32LE(at + 12);
  must(end === at || isLargeEnd(archive, end, at), "the directory does not end at the end");
  return { start, end, count };
}

/** Whether there is nothing between two offsets but the end of a large archive and its offset. */
function isLargeEnd(archive, from, to) {
  const told = from + LARGE_END_BYTES;
  if (told + LARGE_END_AT_BYTES !== to || archive.readUInt32LE(from) !== LARGE_END) return false;
  return archive.readUInt32LE(told) === LARGE_END_AT && archive.readBigUInt64LE(told + 8) === BigInt(from);
}

/** The entry at an offset, and where the next one begins. */
function readEntry(archive, at, end) {
  must(at + ENTRY_BYTES <= end && archive.readUInt32LE(at) === ENTRY, "no entry of the directory");
  const [flags, method] = [8, 10].map((field) => archive.readUInt16LE(at + field));
  const [checksum, stored, size] = [16, 20, 24].map((field) => archive.readUInt32LE(at + field));
  const [nameBytes, extra, comment] = [28, 30, 32].map((field) => archive.readUInt16LE(at + field));
  const name = archive.subarray(at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes);
  const next = at + ENTRY_BYTES + nameBytes + extra + comment;
  must(next <= end, "the directory is cut off");
  must(method === 0 && stored === size && (flags & ~(UTF8_NAME | STREAMED)) === 0, "a member that is not stored");
  must(isUtf8(name) && ((flags & UTF8_NAME) !== 0 || isAscii(name.toString())), "the name is not UTF-8");
  return { name, checksum, size, offset: archive.readUInt32LE(at + 42), next };
}

/** The content of an entry's member, which is between two offsets; `end` is where it ends. */
function readMember(archive, { name, checksum, size, offset }, from, to) {
  must(offset >= from && offset + LOCAL_BYTES <= to, "a member outside its place");
  must(archive.readUInt32LE(offset) === LOCAL_HEADER && archive.readUInt16LE(offset + 8) === 0, "no stored member");
  const nameAt = offset + LOCAL_BYTES;
  const extraAt = nameAt + archive.readUInt16LE(offset + 26);
  const start = extraAt + archive.readUInt16LE(offset + 28);
  const end = start + size;
  must(end <= to, "the member is cut off");
  must(archive.subarray(nameAt, extraAt).equals(name), "two names of one member");
  const content = archive.subarray(start, end);
  must(crc32(content) === checksum, "the checksum is another one");
  return { content, end };
}

/** The members `{name, content}` in their order; raises Damaged for what is no archive of stored members. */
function readArchive(archive) {
  const directory = directoryOf(archive);
  const members = [];
  let at = directory.start;
  let from = 0;
  for (let index = 0; index < directory.count; index += 1) {
    const entry = readEntry(archive, at, directory.end);
    const { content, end } = readMember(archive, entry, from, directory.start);
    members.push({ name: entry.name.toString(), content });
    [at, from] = [entry.next, end];
  }
  must(at === directory.end, "more than its entries in the directory");
  must(new Set(members.map(({ name }) => name)).size === members.length, "two members of one name");
  return members;
}

const METADATA = "metadata.json";
const ARRAY = ".npy";
const KEYS = ["batch_size", "num_batches", "file_idx", "split", "produced_at", "schema"];

/** Plain objects and arrays as the items of metadata are judged. */
function itemOf(value) {
  if (Array.isArray(value)) return value.map(itemOf);
  if (value === null || typeof value !== "object") return value;
  const dict = new Dict();
  for (const [key, item] of Object.entries(value)) dict.set(key, itemOf(item));
  return dict;
}

/** The bytes of a file; the metadata has its keys in the seed's order, the tensors those of the schema. */
export function writeBatchFile(metadata, tensors, codec) {
  if (codec === "pt") {
    const named = tensors.map((tensor, at) => ({ ...tensor, name: metadata.schema[at].name }));
    return writeArchive(membersOf(itemOf(metadata), named));
  }
  const members = metadata.schema.map(({ name }, at) => ({ name: name + ARRAY, content: writeArray(tensors[at]) }));
  return writeArchive([{ name: METADATA, content: Buffer.from(writeJson(metadata), "latin1") }, ...members]);
}

const MOST_LEVELS = 64; // of containers around an item (ruling QA38)

/** A JSON item as the items of metadata are judged; raises Damaged for one too deep. */
function pairsOf(item, around = 0) {
  if (around > MOST_LEVELS) throw new Damaged("too many levels");
  const inside = (part) => pairsOf(part, around + 1);
  if (Array.isArray(item)) return item.map(inside);
  return item instanceof Map ? new Pairs([...item].map(([key, value]) => [key, inside(value)])) : item;
}

/** What a file says of itself that a consumer uses; Foreign where that is ill typed (ruling QA33). */
function describedBy(item) {
  if (!(item instanceof Pairs)) throw new Foreign("the metadata are no map");
  const held = new Map(item.entries);
  const batches = held.get("num_batches");
  const schema = held.has("schema") ? schemaOf(held.get("schema")) : undefined;
  if (held.has("num_batches") && !(typeof batches === "bigint" && batches >= 0n)) throw new Foreign("num_batches");
  if (held.has("schema") && schema === undefined) throw new Foreign("schema");
  const ignores = ![...held.keys()].every((key) => KEYS.includes(key)) || hasUnknownKeys(held.get("schema"));
  return { batches, schema, ignores };
}

function jsonItem(content) {
  if (!isUtf8(content)) throw new Damaged("the metadata are no text");
  return pairsOf(readJson(content.toString()));
}

/** The item of an archive's metadata, if they are asked for, and its tensors by field. */
function readArrays(content, isLegacy) {
  const members = readArchive(content);
  const described = members.find(({ name }) => name === METADATA);
  if (described === undefined && !isLegacy) throw new Foreign("no metadata");
  const metadata = isLegacy ? undefined : describedBy(jsonItem(described.content));
  const tensors = new Map();
  for (const { name, content: array } of members.filter((member) => member !== described)) {
    const field = name.slice(0, -ARRAY.length);
    if (!name.endsWith(ARRAY) || !isFieldName(field)) throw new Foreign(`a member ${name}`);
    tensors.set(field, readArray(array));
  }
  return { metadata, tensors };
}

/** The same of a file of torch.save; in the baseline's files there may be anything else beside tensors. */
function readTorch(content, isLegacy) {
  if (isOldForm(content)) throw new Foreign("of a torch before version 1.6");
  const { saved, storages } = readSaved(readArchive(content));
  if (!(saved instanceof Pairs)) throw new Foreign("no map");
  const held = new Map(saved.entries);
  if (!isLegacy && !(held.has("metadata") && held.has("tensors"))) throw new Foreign("no metadata, or no tensors");
  const metadata = isLegacy ? undefined : describedBy(held.get("metadata"));
  const own = saved.entries.filter(([, item]) => item instanceof Placed);
  const named = held.has("tensors") ? held.get("tensors") : new Pairs(own);
  if (!(named instanceof Pairs)) throw new Foreign("the tensors are no map");
  const tensors = new Map();
  let left = content.length;
  for (const [field, placed] of named.entries) {
    if (!isFieldName(field) || !(placed instanceof Placed)) throw new Foreign(`${field} is no field`);
    const tensor = tensorAt(placed, storages);
    left -= tensor.data.length;
    must(left >= 0, "more elements than the file has bytes");
    must(tensor.dtype !== "bool" || tensor.data.every((byte) => byte <= 1), "a byte that is no bool");
    tensors.set(field, tensor);
  }
  return { metadata, tensors };
}

/** The one number of rows of all tensors; Damaged. */
function rowCountOf(tensors) {
  const counts = new Set([...tensors.values()].map(({ shape }) => shape[0]));
  const [rowCount] = counts;
  if (counts.size !== 1 || rowCount === undefined || rowCount === 0) throw new Damaged("no one number of rows");
  return rowCount;
}

/** Whether the tensors of a file are exactly the fields of a schema, and its own schema, if it has one, as well. */
function matches({ tensors, metadata }, schema) {
  const own = metadata?.schema ?? schema;
  if (own.length !== schema.length || !own.every((field, at) => isSameField(field, schema[at]))) return false;
  return tensors.size === schema.length && schema.every(({ name, dtype, shape }) => {
    const tensor = tensors.get(name);
    const found = tensor && { name, dtype: tensor.dtype, shape: tensor.shape.slice(1).map(BigInt) };
    return found !== undefined && isSameField(found, { name, dtype, shape });
  });
}

/**
 * What a file holds: its number of batches where it says so, its rows, its tensors, and whether they are of a schema.
 *
 * Raises Damaged for what is no batch file, and Foreign for another kind of one; what one of the baseline says of
 * itself is not looked at (requirement Q44).
 */
export function readBatchFile(content, schema, { codec, isLegacy }) {
  const { metadata, tensors } = codec === "pt" ? readTorch(content, isLegacy) : readArrays(content, isLegacy);
  const rowCount = rowCountOf(tensors);
  const isOfSchema = matches({ tensors, metadata }, schema);
  return { batches: metadata?.batches, ignores: metadata?.ignores === true, rowCount, tensors, isOfSchema };
}
