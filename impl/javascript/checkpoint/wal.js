/** The log of a run on the disk: records in sequence, each bound to the one before (rulings CA29 to CA31). */
import { violationOf } from "../canonical.js";
import { Pairs, decode, encodeCanonical } from "../cbor.js";
import { crc32c, sha256OfCbor } from "../digest.js";
import { failureOf } from "./reasons.js";
import { recordPath } from "./run_store.js";
import { IS_OF_TYPE, fieldOf, isSame } from "./subject.js";

const FRAME_BYTES = 4;
export const FIRST_PREVIOUS_HASH = Buffer.alloc(32);

const COMMON = {
  tenant_id: "string",
  run_id: "string",
  wal_seq: "uint64",
  record_type: "string",
  prev_record_hash: "bytes32",
  record_hash: "bytes32",
};
const ADDED = new Map([
  ["PREPARE", { t: "uint64", replay_token: "bytes32" }],
  ["OBJECTS", { trace: "bytes32", checkpoint: "bytes32", lineage: "bytes32" }],
  ["CERT_SIGNED", { certificate_hash: "bytes32" }],
  ["FINALIZE", { certificate_hash: "bytes32" }],
  ["ROLLBACK", {}],
]);

const hashOf = (body) => sha256OfCbor(["wal_record", body]);

/** The record of a body, framed: le32(length), the CBOR with the record's own hash, le32(crc32c). */
export function makeRecord(body) {
  const hash = hashOf(body);
  const content = encodeCanonical({ ...body, record_hash: hash });
  const framed = Buffer.alloc(content.length + 2 * FRAME_BYTES);
  framed.writeUInt32LE(content.length, 0);
  content.copy(framed, FRAME_BYTES);
  framed.writeUInt32LE(crc32c(content), FRAME_BYTES + content.length);
  return { ...body, hash, framed };
}

/** The CBOR inside a frame; undefined where the frame is broken. */
function unframe(framed) {
  if (framed.length < 2 * FRAME_BYTES || framed.readUInt32LE(0) !== framed.length - 2 * FRAME_BYTES) return undefined;
  const content = framed.subarray(FRAME_BYTES, framed.length - FRAME_BYTES);
  return framed.readUInt32LE(framed.length - FRAME_BYTES) === crc32c(content) ? content : undefined;
}

/** The record that a frame holds; undefined for one that is torn, not canonical, ill typed or wrongly hashed. */
export function readRecord(framed) {
  const content = unframe(framed);
  if (content === undefined || violationOf(content) !== undefined) return undefined;
  const item = decode(content);
  const added = ADDED.get(fieldOf(item, "record_type"));
  if (added === undefined) return undefined;
  const types = Object.entries({ ...COMMON, ...added });
  const isTyped = types.every(([name, type]) => IS_OF_TYPE[type](fieldOf(item, name)));
  if (!isTyped || item.entries.length !== types.length) return undefined;
  const body = new Pairs(item.entries.filter(([name]) => name !== "record_hash"));
  if (!isSame(hashOf(body), fieldOf(item, "record_hash"))) return undefined;
  const { record_hash: hash, ...fields } = Object.fromEntries(item.entries);
  return { ...fields, hash, framed };
}

/** The order of a commit; ROLLBACK may be in place of any but the first. */
const TYPES = ["PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE"];
const TERMINAL = new Set(["FINALIZE", "ROLLBACK"]);

/** Reads the log; a record that is torn, missing or out of place is corruption (WAL_CORRUPTION). */
export function readLog(store, operator) {
  const records = [];
  for (let sequence = 0; sequence < store.recordCount(); sequence += 1) {
    const framed = store.readRecord(sequence);
    const record = framed && readRecord(framed);
    if (record === undefined || !follows(record, records)) {
      throw failureOf(operator, { field_path: recordPath(sequence), reason: "WAL_RECORD_INVALID" }, stepOf(records));
    }
    records.push(record);
  }
  return records;
}

/** The step and the token of a log's run, as a header has them: its first record says them (ruling CA36). */
export function stepOf([prepare]) {
  return new Pairs(prepare === undefined ? [] : ["t", "replay_token"].map((name) => [name, prepare[name]]));
}

function follows(record, records) {
  const previous = records.at(-1);
  const { record_type: type } = record;
  const isDue = type === TYPES[records.length] || (type === "ROLLBACK" && previous !== undefined);
  if (!isDue || record.wal_seq !== BigInt(records.length)) return false;
  if (previous === undefined) return isSame(record.prev_record_hash, FIRST_PREVIOUS_HASH);
  if (type === "FINALIZE" && !isSame(record.certificate_hash, previous.certificate_hash)) return false;
  return (
    !TERMINAL.has(previous.record_type) &&
    isSame(record.prev_record_hash, previous.hash) &&
    record.tenant_id === previous.tenant_id &&
    record.run_id === previous.run_id
  );
}
