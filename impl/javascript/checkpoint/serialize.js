/** UML_OS.Checkpoint.Serialize_v1: the checkpoint in one piece (seed 002 §II.F, §5; rulings CA02, CA23). */
import { Pairs, encodeCanonical } from "../cbor.js";
import { sha256 } from "../digest.js";
import { bytes, bytes32, struct, value } from "../wire.js";
import { NEWEST, headerBytesOf, judgeHeader } from "./schema.js";
import { FAILURE, Findings, REPORT, reportOf } from "./reasons.js";
import { restore } from "./restore.js";
import { BLOB_DOMAIN } from "./subject.js";

const NAME = "UML_OS.Checkpoint.Serialize_v1";

function run({ header }) {
  const started = performance.now();
  const findings = new Findings();
  judgeHeader(header, NEWEST, findings);
  findings.refuse(NAME, header);
  const checkpointHash = sha256(headerBytesOf(header, findings));
  findings.refuse(NAME, header);
  const blob = encodeCanonical([BLOB_DOMAIN, header, checkpointHash]);
  // The procedure of seed 002 §6 ends with a restore that only verifies.
  const expected = new Pairs([["checkpoint_hash", checkpointHash]]);
  restore.run({ checkpoint_blob: blob, expected, verify: true });
  const report = reportOf(header, { checkpointHash, step: "serialize", size: blob.length, started });
  return { checkpoint_blob: blob, checkpoint_hash: checkpointHash, report };
}

export const serialize = {
  name: NAME,
  inputs: struct({ header: value }),
  outputs: struct({ checkpoint_blob: bytes, checkpoint_hash: bytes32, report: REPORT }),
  failure: FAILURE,
  run,
};
