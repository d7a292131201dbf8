/** Verifies what the COMMITTED pointer binds: the certificate, the objects and the log (requirements C36 to C38). */
import { Pairs, decode } from "../cbor.js";
import { violationOf } from "../serialization/profile.js";
import { Findings } from "./reasons.js";
import { CERTIFICATE_DOMAIN, COMMITTED, nextRecord } from "./run_plan.js";
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
const OBJECTS = ["trace", "checkpoint", "lineage"];
const ROOT_HASHES = ["trace_tail_hash", "checkpoint_merkle_root", "lineage_root_hash"];
const MAX_CERTIFICATE_BYTES = 2 ** 16;

/** The records of a log that is signed for; FINALIZE may follow. */
export const SIGNED_LENGTH = 3;

/** The pointer; undefined for bytes that are not the canonical ones of a map of exactly its fields. */
function readPointer(store) {
  const content = store.readPointer();
  if (content === undefined || violationOf(content) !== undefined) return undefined;
  const item = decode(content);
  const names = Object.keys(POINTER);
  const isTyped = item instanceof Pairs && names.every((name) => IS_OF_TYPE[POINTER[name]](fieldOf(item, name)));
  return isTyped && item.entries.length === names.length ? Object.fromEntries(item.entries) : undefined;
}

/** The signed payload of a certificate; undefined where it is none that the owner of the key signed. */
function signedPayload(content, publicKey) {
  if (content.length > MAX_CERTIFICATE_BYTES || violationOf(content) !== undefined) return undefined;
  const item = decode(content);
  const isCertificate = Array.isArray(item) && item.length === 3 && item[0] === CERTIFICATE_DOMAIN;
  if (!isCertificate || !(item[1] instanceof Pairs) || !(item[2] instanceof Uint8Array)) return undefined;
  return isSigned(item[1], item[2], publicKey) ? item[1] : undefined;
}

/** Adds each field of the pointer that is not what the log says. */
function judgeFields(pointer, log, final, findings) {
  const [, { trace, checkpoint, lineage }, { certificate_hash: certificate }] = log;
  const said = { run_id: log[0].run_id, trace, checkpoint, lineage, certificate, wal_terminal_hash: final.hash };
  for (const [name, held] of Object.entries(said)) {
    if (!isSame(pointer[name], held)) findings.add(`${COMMITTED}.${name}`, "HASH_MISMATCH");
  }
}

/** The contents of what the pointer names, with a finding for each that is missing or another. */
function readObjects(store, pointer, findings) {
  return [...OBJECTS, "certificate"].map((name) => {
    const { content, isMissing } = store.readObject(pointer[name]);
    if (content === undefined) findings.add(objectPath(pointer[name]), isMissing ? "MISSING_COMPONENT" : "HASH_MISMATCH");
    return content;
  });
}

/** Adds what is wrong with the certificate: not signed, bound to another run or object, or not complete (CA41). */
function judgeCertificate(content, pointer, log, publicKey, findings) {
  const path = objectPath(pointer.certificate);
  const payload = signedPayload(content, publicKey);
  if (payload === undefined) {
    findings.add(path, "SIGNATURE_INVALID");
    return;
  }
  const bound = { tenant_id: log[0].tenant_id, run_id: log[0].run_id };
  for (const name of OBJECTS) bound[name] = pointer[name];
  for (const [name, held] of Object.entries(bound)) {
    if (!isSame(fieldOf(payload, name), held)) findings.add(`${path}.${name}`, "HASH_MISMATCH");
  }
  for (const name of ROOT_HASHES) {
    if (!IS_OF_TYPE.bytes32(fieldOf(payload, name))) findings.add(`${path}.${name}`, "HASH_MISMATCH");
  }
}

/** What keeps a log of at least three records from being a commit, and the FINALIZE that it has or is due. */
export function verifyPointer(store, log, publicKey) {
  const findings = new Findings();
  const due = log.slice(0, SIGNED_LENGTH);
  const final = nextRecord(log[0], due, "FINALIZE", { certificate_hash: log[2].certificate_hash });
  const pointer = readPointer(store);
  if (pointer === undefined) {
    findings.add(COMMITTED, "MISSING_COMPONENT");
    return { findings, final };
  }
  judgeFields(pointer, log, final, findings);
  const contents = readObjects(store, pointer, findings);
  const isWhole = contents.every((content) => content !== undefined);
  if (isWhole) judgeCertificate(contents.at(-1), pointer, log, publicKey, findings);
  return { findings, final };
}
