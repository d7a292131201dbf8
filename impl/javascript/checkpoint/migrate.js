/** UML_OS.Checkpoint.Migrate_v1: a header in another version of the schema, and the signed certificate of that. */
import { Pairs, decode, encodeCanonical } from "../cbor.js";
import { sha256 } from "../digest.js";
import { bytes, bytes32, string, struct, value } from "../wire.js";
import { MIGRATION_OPERATOR, SCHEMAS, headerBytesOf, judgeHeader, parseVersion } from "./schema.js";
import { FAILURE, Findings } from "./reasons.js";
import { fieldOf, signItem } from "./subject.js";

const NAME = MIGRATION_OPERATOR;
const VERSION_FIELD = "checkpoint_schema_version";

/** Adds what is wrong with the two versions: their form, and whether the registry supports the way between them. */
function judgeVersions(header, from, to, findings) {
  if (parseVersion(from) === undefined) findings.add("from_version", "BAD_VERSION");
  if (parseVersion(to) === undefined) findings.add("to_version", "BAD_VERSION");
  else if (!SCHEMAS.get(to)?.includes(from)) findings.add("to_version", "INCOMPATIBLE_VERSION");
  if (parseVersion(from) !== undefined && !SCHEMAS.has(from)) findings.add("from_version", "INCOMPATIBLE_VERSION");
  if (SCHEMAS.has(from) && fieldOf(header, VERSION_FIELD) !== from) findings.add(VERSION_FIELD, "INCOMPATIBLE_VERSION");
}

function run(inputs) {
  const { header, from_version: from, to_version: to, signing_key: signingKey } = inputs;
  const findings = new Findings();
  if (SCHEMAS.has(from)) judgeHeader(header, parseVersion(from), findings);
  judgeVersions(header, from, to, findings);
  findings.refuse(NAME, header);
  const source = headerBytesOf(header, findings);
  findings.refuse(NAME, header);
  const migrated = new Pairs(header.entries.map(([key, item]) => [key, key === VERSION_FIELD ? to : item]));
  const target = encodeCanonical(migrated);
  const payload = {
    from_schema_version: from,
    to_schema_version: to,
    source_hash: sha256(source),
    target_hash: sha256(target),
    migration_operator: MIGRATION_OPERATOR,
    migration_policy_hash: inputs.migration_policy_hash,
  };
  return { header: decode(target), certificate: signItem("migration_certificate_v1", payload, signingKey) };
}

export const migrate = {
  name: NAME,
  inputs: struct({
    header: value,
    from_version: string,
    to_version: string,
    signing_key: bytes32,
    migration_policy_hash: bytes32,
  }),
  outputs: struct({ header: value, certificate: bytes }),
  failure: FAILURE,
  run,
};
