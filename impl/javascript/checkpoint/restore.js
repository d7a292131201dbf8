/** UML_OS.Checkpoint.Restore_v1: the header of a blob, once everything about it has been verified (seed 002 §5). */
import { encodeCanonical } from "../cbor.js";
import { sha256 } from "../digest.js";
import { bool, bytes, optional, struct, value } from "../wire.js";
import { MAX_HEADER_BYTES, NEWEST, judgeDigests, judgeExpected, judgeHeader, judgeIdentity } from "./schema.js";
import { FAILURE, Findings, REPORT, reportOf } from "./reasons.js";
import { BLOB_DOMAIN, IS_OF_TYPE, readCanonical } from "./subject.js";

const NAME = "UML_OS.Checkpoint.Restore_v1";

// The array's head, the format's text of 21 bytes and the hash's byte string of 34 stand around the header.
const MAX_BLOB_BYTES = 1 + 21 + MAX_HEADER_BYTES + 34;

function run({ checkpoint_blob: blob, expected, verify }) {
  const started = performance.now();
  const findings = new Findings();
  judgeExpected(expected, ["checkpoint_hash"], findings);
  if (blob.length > MAX_BLOB_BYTES) {
    findings.add("checkpoint_blob", "LIMIT_EXCEEDED");
    findings.refuse(NAME);
  }
  const item = readCanonical(blob, "checkpoint_blob", findings);
  if (item === undefined) findings.refuse(NAME);
  if (!Array.isArray(item) || item.length !== 3 || item[0] !== BLOB_DOMAIN) {
    findings.add("checkpoint_blob", "WRONG_TYPE");
    findings.refuse(NAME);
  }
  const [, header, statedHash] = item;
  judgeHeader(header, NEWEST, findings);
  if (!IS_OF_TYPE.bytes32(statedHash)) findings.add("checkpoint_hash", "WRONG_TYPE");
  findings.refuse(NAME, header);
  const checkpointHash = sha256(encodeCanonical(header));
  if (!checkpointHash.equals(statedHash)) findings.add("checkpoint_hash", "HASH_MISMATCH");
  judgeDigests({ checkpoint_hash: checkpointHash }, expected, findings);
  judgeIdentity(header, expected, findings);
  findings.refuse(NAME, header);
  const step = verify === true ? "verify" : "restore";
  const report = reportOf(header, { checkpointHash, step, size: blob.length, started });
  return verify === true ? { report } : { report, header };
}

export const restore = {
  name: NAME,
  inputs: struct({ checkpoint_blob: bytes, expected: value, verify: optional(bool) }),
  outputs: struct({ report: REPORT, header: optional(value) }),
  failure: FAILURE,
  run,
};
