/** UML_OS.Checkpoint.Restore_v1: the header of a blob, once everything about it has been verified (seed 002 §5). */
import { encodeCanonical } from "../cbor.js";
import { sha256 } from "../digest.js";
import { bytes, struct, value } from "../types.js";
import { readCanonical } from "./canonical_item.js";
import { judgeHeader } from "./header.js";
import { judgeExpected, judgeIdentity } from "./identity.js";
import { FAILURE, Findings } from "./reasons.js";
import { REPORT, reportOf } from "./report.js";
import { NEWEST } from "./schema.js";
import { BLOB_DOMAIN } from "./serialize.js";
import { IS_OF_TYPE } from "./subject.js";

const NAME = "UML_OS.Checkpoint.Restore_v1";

function run({ checkpoint_blob: blob, expected }) {
  const started = performance.now();
  const findings = new Findings();
  judgeExpected(expected, findings);
  const item = readCanonical(blob, "", findings);
  if (item === undefined) findings.refuse(NAME);
  if (!Array.isArray(item) || item.length !== 3 || item[0] !== BLOB_DOMAIN) {
    findings.add("", "WRONG_TYPE");
    findings.refuse(NAME);
  }
  const [, header, statedHash] = item;
  const checkpointHash = sha256(encodeCanonical(header));
  judgeHeader(header, NEWEST, findings);
  if (!IS_OF_TYPE.bytes32(statedHash)) findings.add("checkpoint_hash", "WRONG_TYPE");
  else if (!checkpointHash.equals(statedHash)) findings.add("checkpoint_hash", "HASH_MISMATCH");
  judgeIdentity(header, expected, findings);
  findings.refuse(NAME, header);
  return { header, report: reportOf(header, { checkpointHash, size: blob.length, started }) };
}

export const restore = {
  name: NAME,
  inputs: struct({ checkpoint_blob: bytes, expected: value }),
  outputs: struct({ header: value, report: REPORT }),
  failure: FAILURE,
  run,
};
