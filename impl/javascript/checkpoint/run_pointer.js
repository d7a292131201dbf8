/** Verifies what the COMMITTED pointer binds: the certificate, the objects and the log (requirements C36 to C38). */
import { Pairs, decode } from "../cbor.js";
import { violationOf } from "../serialization/profile.js";
import { Findings } from "./reasons.js";
import { CERTIFICATE_DOMAIN, COMMITTED, commitRecords } from "./run_plan.js";
import { objectPath } from "./run_store.js";
import { isSigned } from "./signature.js";
import { IS_OF_TYPE, fieldOf, isSame } from "./subject.js";

const POINTER = {
  run_id: "string",
  trace: "bytes32",
  checkpoint: "bytes32",
  lineage: "bytes32",
  certificate: "bytes32",
  wal_terminal_hash: "bytes32",
};
const PAYLOAD = {
  tenant_id: "string",
  run_id: "string",
  trace_tail_hash: "bytes32",
  checkpoint_merkle_root: "bytes32",
  lineage_root_hash: "bytes32",
  trace: "bytes32",
  checkpoint: "bytes32",
  lineage: "bytes32",
};
const OBJECTS = ["trace", "checkpoint", "lineage"];

/** The fields of canonical bytes that hold a map of exactly these types; undefined, with a finding, otherwise. */
function readMap(content, types, fieldPath, findings) {
  if (violationOf(content) !== undefined) {
    findings.add(fieldPath, "NON_CANONICAL");
    return undefined;
  }
  const fields = fieldsOf(decode(content), types);
  if (fields === undefined) findings.add(fieldPath, "WRONG_TYPE");
  return fields;
}

function fieldsOf(item, types) {
  const names = Object.keys(types);
  const isTyped = item instanceof Pairs && names.every((name) => IS_OF_TYPE[types[name]](fieldOf(item, name)));
  return isTyped && item.entries.length === names.length ? Object.fromEntries(item.entries) : undefined;
}

/** An object's content; undefined, with a finding, where it is missing or another. */
function readObject(store, hash, findings) {
  const { content, isMissing } = store.readObject(hash);
  if (content === undefined) findings.add(objectPath(hash), isMissing ? "MISSING_COMPONENT" : "HASH_MISMATCH");
  return content;
}

/** The signed payload of a certificate. */
function readCertificate(content, fieldPath, publicKey, findings) {
  if (violationOf(content) !== undefined) {
    findings.add(fieldPath, "NON_CANONICAL");
    return undefined;
  }
  const item = decode(content);
  const isCertificate = Array.isArray(item) && item.length === 3 && item[0] === CERTIFICATE_DOMAIN;
  const payload = isCertificate && item[2] instanceof Uint8Array ? fieldsOf(item[1], PAYLOAD) : undefined;
  if (payload === undefined) findings.add(fieldPath, "WRONG_TYPE");
  else if (!isSigned(item[1], item[2], publicKey)) findings.add(fieldPath, "SIGNATURE_INVALID");
  return payload;
}

/** What is wrong with the pointer and all that it binds, and the records that its commit has. */
export function verifyPointer(store, log, publicKey) {
  const findings = new Findings();
  const content = store.readPointer();
  if (content === undefined) {
    findings.add(COMMITTED, store.kind(COMMITTED) === undefined ? "MISSING_COMPONENT" : "LIMIT_EXCEEDED");
    return { findings };
  }
  const pointer = readMap(content, POINTER, COMMITTED, findings);
  if (pointer === undefined) return { findings };
  for (const name of OBJECTS) readObject(store, pointer[name], findings);
  const certificate = readObject(store, pointer.certificate, findings);
  if (certificate === undefined) return { findings };
  const payload = readCertificate(certificate, objectPath(pointer.certificate), publicKey, findings);
  if (payload === undefined) return { findings };
  const isBound = ["run_id", ...OBJECTS].every((name) => isSame(payload[name], pointer[name]));
  if (!isBound) findings.add(COMMITTED, "HASH_MISMATCH");
  const records = commitRecords(payload, payload, pointer.certificate);
  const isChained =
    isSame(records.at(-1).hash, pointer.wal_terminal_hash) &&
    log.every((record, sequence) => isSame(record.hash, records[sequence]?.hash));
  if (!isChained) findings.add(COMMITTED, "CHAIN_MISMATCH");
  return { findings, records };
}
