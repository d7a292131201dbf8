/** UML_OS.Checkpoint.Serialize_v1: the checkpoint in one piece (seed 002 §II.F, §5; rulings CA02, CA23). */
import { encodeCanonical } from "../cbor.js";
import { sha256 } from "../digest.js";
import { bytes, bytes32, struct, value } from "../wire.js";
import { NEWEST, headerBytesOf, judgeHeader } from "./schema.js";
import { FAILURE, Findings } from "./reasons.js";

const NAME = "UML_OS.Checkpoint.Serialize_v1";

/** The first element of every blob. */
export const BLOB_DOMAIN = "uml_os_checkpoint_v1";

function run({ header }) {
  const findings = new Findings();
  judgeHeader(header, NEWEST, findings);
  findings.refuse(NAME, header);
  const checkpointHash = sha256(headerBytesOf(header, findings));
  findings.refuse(NAME, header);
  return {
    checkpoint_blob: encodeCanonical([BLOB_DOMAIN, header, checkpointHash]),
    checkpoint_hash: checkpointHash,
  };
}

export const serialize = {
  name: NAME,
  inputs: struct({ header: value }),
  outputs: struct({ checkpoint_blob: bytes, checkpoint_hash: bytes32 }),
  failure: FAILURE,
  run,
};
