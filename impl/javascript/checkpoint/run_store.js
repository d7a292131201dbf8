/** The files of a run: immutable objects, one file per log record, one pointer (seed 002 §II.J; CA26, CA31). */
import { readdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { violationOf } from "../canonical.js";
import { Pairs, decode, encodeCanonical } from "../cbor.js";
import { sha256, sha256OfCbor } from "../digest.js";
import { temporaryName } from "./container.js";
import {
  discard,
  ensureDirectory,
  kindAt,
  publish,
  publishOnce,
  readRegularFile,
  syncDirectory,
  syncFile,
} from "./durable.js";
import { merkleRoot } from "./manifest.js";
import { Findings } from "./reasons.js";
import { IS_OF_TYPE, fieldOf, isSame, isSigned, signItem } from "./subject.js";
import { FIRST_PREVIOUS_HASH, makeRecord } from "./wal.js";

const CERTIFICATE_DOMAIN = "run_certificate_v1";
export const COMMITTED = "COMMITTED";

/** The record after those given; `added` are the fields of its type. */
export function nextRecord(owner, records, type, added) {
  return makeRecord({
    tenant_id: owner.tenant_id,
    run_id: owner.run_id,
    wal_seq: BigInt(records.length),
    record_type: type,
    prev_record_hash: records.at(-1)?.hash ?? FIRST_PREVIOUS_HASH,
    ...added,
  });
}

/** The four records of a commit; FINALIZE is known before the pointer that binds its hash (ruling CA28). */
function commitRecords(owner, { trace, checkpoint, lineage }, certificateHash) {
  const records = [];
  records.push(nextRecord(owner, records, "PREPARE", { t: owner.t, replay_token: owner.replay_token }));
  records.push(nextRecord(owner, records, "OBJECTS", { trace, checkpoint, lineage }));
  records.push(nextRecord(owner, records, "CERT_SIGNED", { certificate_hash: certificateHash }));
  records.push(nextRecord(owner, records, "FINALIZE", { certificate_hash: certificateHash }));
  return records;
}

/** The three hashes that a commit computes of its objects, each of which is one whole (ruling CA42). */
function boundHashes([trace, checkpoint, lineage]) {
  const shardOf = (path, content) => ({ path, sha256: sha256(content), size_bytes: BigInt(content.length) });
  const head = sha256OfCbor(["trace_chain", []]);
  return {
    trace_tail_hash: sha256OfCbor(["trace_chain", [head, sha256(trace)]]),
    checkpoint_merkle_root: merkleRoot([shardOf("checkpoint", checkpoint)]),
    lineage_root_hash: sha256OfCbor(["lineage_root", [merkleRoot([shardOf("lineage", lineage)])]]),
  };
}

/** What a commit of these inputs writes. */
export function planCommit(inputs) {
  const contents = [inputs.trace, inputs.checkpoint, inputs.lineage];
  const [trace, checkpoint, lineage] = contents.map(sha256);
  const bound = boundHashes(contents);
  const payload = {
    tenant_id: inputs.tenant_id,
    run_id: inputs.run_id,
    ...bound,
    trace,
    checkpoint,
    lineage,
  };
  const certificate = signItem(CERTIFICATE_DOMAIN, payload, inputs.signing_key);
  const certificateHash = sha256(certificate);
  const records = commitRecords(inputs, payload, certificateHash);
  const terminalHash = records.at(-1).hash;
  const pointer = encodeCanonical({
    run_id: inputs.run_id,
    trace,
    checkpoint,
    lineage,
    certificate: certificateHash,
    wal_terminal_hash: terminalHash,
  });
  return { contents, bound, certificate, certificateHash, records, terminalHash, pointer };
}

const MAX_RECORD_BYTES = 2 ** 16;
const MAX_OBJECT_BYTES = 2 ** 31 - 1;
const MAX_POINTER_BYTES = 2 ** 16;
const RECORD_NAME = /^[0-9]{20}\.rec$/;
const TEMPORARY_NAMES = new Map([
  ["objects", /^\.[0-9a-f]{64}\.tmp$/],
  ["wal", /^\.[0-9]{20}\.rec\.tmp$/],
  [".", /^\.COMMITTED\.tmp$/],
]);

const objectPath = (hash) => `objects/${Buffer.from(hash).toString("hex")}`;
export const recordPath = (sequence) => `wal/${String(sequence).padStart(20, "0")}.rec`;

/** The path under which a file of a run is written, before it has its own. */
export function temporaryPath(path) {
  const parts = path.split("/");
  return [...parts.slice(0, -1), temporaryName(parts.at(-1))].join("/");
}

/** Every path under which the commit of a plan writes a file. */
export function writtenPaths({ contents, certificate, records }) {
  const objects = [...contents, certificate].map((content) => objectPath(sha256(content)));
  const finals = [...objects, ...records.map((_, sequence) => recordPath(sequence)), COMMITTED];
  return [...objects, ...finals.map(temporaryPath)];
}

/** One run's directory. */
export class RunStore {
  constructor(root) {
    this.root = root;
  }

  at(path) {
    return join(this.root, path);
  }

  kind(path) {
    return kindAt(this.at(path));
  }

  /** The first of the run's folders and its pointer that is a link or anything else than it should be. */
  misplaced() {
    const isWrong = (path, kind) => this.kind(path) !== undefined && this.kind(path) !== kind;
    if (isWrong(COMMITTED, "file")) return COMMITTED;
    return ["objects", "wal"].find((path) => isWrong(path, "directory"));
  }

  /** Those of these paths where a folder is (ruling CA31). */
  folders(paths) {
    return paths.filter((path) => this.kind(path) === "directory");
  }

  makeFolders() {
    ensureDirectory(this.at("objects"));
    ensureDirectory(this.at("wal"));
  }

  /** The content of an object, if it is there and is what its name says; `isMissing` where nothing is there. */
  readObject(hash) {
    const content = readRegularFile(this.at(objectPath(hash)), MAX_OBJECT_BYTES);
    if (content === undefined) return { isMissing: this.kind(objectPath(hash)) !== "file" };
    return sha256(content).equals(hash) ? { content } : { isMissing: false };
  }

  /** Writes an object, durably, also where there is one of its name: that one may be torn. */
  writeObject(content) {
    const path = objectPath(sha256(content));
    publish(this.at(path), this.at(temporaryPath(path)), content);
  }

  readRecord(sequence) {
    return readRegularFile(this.at(recordPath(sequence)), MAX_RECORD_BYTES);
  }

  /** How many records the log must have, by its highest number; a missing one among them is a gap. */
  recordCount() {
    if (this.kind("wal") === undefined) return 0;
    const names = readdirSync(this.at("wal")).filter((name) => RECORD_NAME.test(name));
    return names.reduce((count, name) => Math.max(count, Number(name.slice(0, -".rec".length)) + 1), 0);
  }

  /** Appends a record, durably; a record that is there already is the same one, of a run begun before. */
  appendRecord(sequence, framed) {
    const path = recordPath(sequence);
    if (this.kind(path) === undefined) {
      publish(this.at(path), this.at(temporaryPath(path)), framed);
    } else {
      syncFile(this.at(path));
      syncDirectory(this.at("wal"));
    }
  }

  readPointer() {
    return readRegularFile(this.at(COMMITTED), MAX_POINTER_BYTES);
  }

  /** Creates the pointer, durably, by a link; false where there is one (ruling CA26). */
  createPointer(content) {
    return publishOnce(this.at(COMMITTED), this.at(temporaryPath(COMMITTED)), content);
  }

  removePointer() {
    discard(this.at(COMMITTED));
    syncDirectory(this.root);
  }

  /** Makes durable the names that a killed process may have left in the cache, so that FINALIZE cannot outlive the pointer. */
  settle() {
    for (const folder of ["objects", "wal", "."]) {
      if (this.kind(folder) === "directory") syncDirectory(this.at(folder));
    }
  }

  /** Removes the temporary files that a crash left; a directory is never one of them. */
  removeTemporaries() {
    for (const [folder, form] of TEMPORARY_NAMES) {
      if (this.kind(folder) !== "directory") continue;
      const names = readdirSync(this.at(folder)).filter((name) => form.test(name));
      const leftovers = names.map((name) => join(this.at(folder), name)).filter((path) => kindAt(path) !== "directory");
      for (const path of leftovers) unlinkSync(path);
      if (leftovers.length > 0) syncDirectory(this.at(folder));
    }
  }
}

const POINTER = {
  run_id: "string",
  trace: "bytes32",
  checkpoint: "bytes32",
  lineage: "bytes32",
  certificate: "bytes32",
  wal_terminal_hash: "bytes32",
};
const OBJECTS = ["trace", "checkpoint", "lineage"];
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

/** Adds what is wrong with the certificate: not signed, bound to another run or object, or not complete (CA41, CA42). */
function judgeCertificate(contents, pointer, log, publicKey, findings) {
  const path = objectPath(pointer.certificate);
  const payload = signedPayload(contents.at(-1), publicKey);
  if (payload === undefined) {
    findings.add(path, "SIGNATURE_INVALID");
    return;
  }
  const bound = { tenant_id: log[0].tenant_id, run_id: log[0].run_id, ...boundHashes(contents) };
  for (const name of OBJECTS) bound[name] = pointer[name];
  for (const [name, held] of Object.entries(bound)) {
    if (!isSame(fieldOf(payload, name), held)) findings.add(`${path}.${name}`, "HASH_MISMATCH");
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
  if (isWhole) judgeCertificate(contents, pointer, log, publicKey, findings);
  return { findings, final };
}
