/** Archives of stored members: written with one layout, and read from whoever stores members (requirement Q33). */
import { isUtf8 } from "node:buffer";
import { crc32 } from "../crc.js";
import { Damaged } from "./refusal.js";

const LOCAL_HEADER = 0x04034b50;
const ENTRY = 0x02014b50;
const END = 0x06054b50;
const LOCAL_BYTES = 30;
const ENTRY_BYTES = 46;
const END_BYTES = 22;
const VERSION = 20;
const UNIX = 3;
const NO_DATE = 0x21; // 1980-01-01, the first day that an archive can name
const PRIVATE_FILE = 0o600 << 16;
const UTF8_NAME = 0x800;
const STREAMED = 0x8; // the sizes of the local header stand behind the member; those of the directory are right

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
export function writeArchive(members) {
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

/** Where the directory stands and how many entries it has; behind it stands its end, which ends the file. */
function directoryOf(archive) {
  const at = archive.length - END_BYTES;
  must(at >= 0 && archive.readUInt32LE(at) === END, "no end of an archive");
  const [disk, first, here, count] = [4, 6, 8, 10].map((field) => archive.readUInt16LE(at + field));
  const start = archive.readUInt32LE(at + 16);
  must(disk === 0 && first === 0 && here === count && archive.readUInt16LE(at + 20) === 0, "not one archive");
  must(start + archive.readUInt32LE(at + 12) === at, "the directory does not end at the end");
  return { start, end: at, count };
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

/** The content of an entry's member, which stands between two offsets; `end` is where it ends. */
function readMember(archive, { name, checksum, size, offset }, from, to) {
  must(offset >= from && offset + LOCAL_BYTES <= to, "a member outside its place");
  must(archive.readUInt32LE(offset) === LOCAL_HEADER && archive.readUInt16LE(offset + 8) === 0, "no stored member");
  const nameAt = offset + LOCAL_BYTES;
  const start = nameAt + archive.readUInt16LE(offset + 26) + archive.readUInt16LE(offset + 28);
  const end = start + size;
  must(end <= to, "the member is cut off");
  must(archive.subarray(nameAt, nameAt + name.length).equals(name), "two names of one member");
  const content = archive.subarray(start, end);
  must(crc32(content) === checksum, "the checksum is another one");
  return { content, end };
}

/** The members `{name, content}` in their order; raises Damaged for what is no archive of stored members. */
export function readArchive(archive) {
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
