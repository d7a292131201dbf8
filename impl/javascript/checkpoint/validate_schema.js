/** UML_OS.Checkpoint.ValidateSchema_v1: the full report on a header, which it never fails (seed 002 §5; C45). */
import { bool, list, string, struct, value } from "../wire.js";
import { NEWEST, isCompatible, judgeHeader, parseVersion } from "./schema.js";
import { FAILURE, Findings } from "./reasons.js";

function run({ header, schema_version: schemaVersion }) {
  const findings = new Findings();
  const reader = parseVersion(schemaVersion);
  if (reader === undefined) findings.add("schema_version", "BAD_VERSION");
  else if (!isCompatible(reader, NEWEST)) findings.add("schema_version", "INCOMPATIBLE_VERSION");
  judgeHeader(header, reader, findings);
  const errors = findings.sorted();
  return { valid: errors.length === 0, errors };
}

export const validateSchema = {
  name: "UML_OS.Checkpoint.ValidateSchema_v1",
  inputs: struct({ header: value, schema_version: string }),
  outputs: struct({ valid: bool, errors: list(struct({ field_path: string, reason: string })) }),
  failure: FAILURE,
  run,
};
