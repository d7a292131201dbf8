/** UML_OS.Serialization.ValidateCanonical_v1: whether bytes are canonical, or where they first are not (C07). */
import { sha256 } from "../digest.js";
import { DEFAULT_FAILURE } from "../errors.js";
import { bool, bytes, bytes32, optional, string, struct, uint64 } from "../wire.js";
import { violationOf } from "./profile.js";

function run({ candidate }) {
  const violation = violationOf(candidate);
  if (violation === undefined) return { valid: true, digest: sha256(candidate) };
  return { valid: false, reason: violation.reason, offset: BigInt(violation.offset) };
}

export const validateCanonical = {
  name: "UML_OS.Serialization.ValidateCanonical_v1",
  inputs: struct({ candidate: bytes }),
  outputs: struct({ valid: bool, reason: optional(string), offset: optional(uint64), digest: optional(bytes32) }),
  failure: DEFAULT_FAILURE,
  run,
};
