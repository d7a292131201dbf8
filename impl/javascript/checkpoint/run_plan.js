/** Every byte of a run commit, computed before the first is written (seed 002 §II.J; rulings CA26 to CA30). */
import { encodeCanonical } from "../cbor.js";
import { sha256 } from "../digest.js";
import { signItem } from "./signature.js";
import { FIRST_PREVIOUS_HASH, makeRecord } from "./wal_record.js";

export const CERTIFICATE_DOMAIN = "run_certificate_v1";
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
export function commitRecords(owner, { trace, checkpoint, lineage }, certificateHash) {
  const records = [];
  records.push(nextRecord(owner, records, "PREPARE", {}));
  records.push(nextRecord(owner, records, "OBJECTS", { trace, checkpoint, lineage }));
  records.push(nextRecord(owner, records, "CERT_SIGNED", { certificate_hash: certificateHash }));
  records.push(nextRecord(owner, records, "FINALIZE", { certificate_hash: certificateHash }));
  return records;
}

/** What a commit of these inputs writes. */
export function planCommit(inputs) {
  const contents = [inputs.trace, inputs.checkpoint, inputs.lineage];
  const [trace, checkpoint, lineage] = contents.map(sha256);
  const payload = {
    tenant_id: inputs.tenant_id,
    run_id: inputs.run_id,
    trace_tail_hash: inputs.trace_tail_hash,
    checkpoint_merkle_root: inputs.checkpoint_merkle_root,
    lineage_root_hash: inputs.lineage_root_hash,
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
  return { contents, certificate, certificateHash, records, terminalHash, pointer };
}
