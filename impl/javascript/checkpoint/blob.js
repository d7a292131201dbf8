/** The operators on a header and on its blob, which touch no file (seed 002 §II.F, §5, §6). */
import { Pairs, decode, encodeCanonical } from "../cbor.js";
import { sha256 } from "../digest.js";
import { bool, bytes, bytes32, list, optional, string, struct, value } from "../wire.js";
import { FAILURE, Findings, REPORT, reportOf } from "./reasons.js";
import {
  MAX_HEADER_BYTES,
  MIGRATION_OPERATOR,
  NEWEST,
  SCHEMAS,
  headerBytesOf,
  isCompatible,
  judgeDigests,
  judgeExpected,
  judgeHeader,
  judgeIdentity,
  parseVersion,
} from "./schema.js";
import { BLOB_DOMAIN, IS_OF_TYPE, fieldOf, readCanonical, signItem } from "./subject.js";

function validate({ header, schema_version: schemaVersion }) {
  const findings = new Findings();
  const reader = parseVersion(schemaVersion);
  if (reader === undefined) findings.add("schema_version", "BAD_VERSION");
  else if (!isCompatible(reader, NEWEST)) findings.add("schema_version", "INCOMPATIBLE_VERSION");
  judgeHeader(header, reader, findings);
  const errors = findings.sorted();
  return { valid: errors.length === 0, errors };
}

/** UML_OS.Checkpoint.ValidateSchema_v1: the full report on a header, which it never fails (seed 002 §5; C45). */
export const validateSchema = {
  name: "UML_OS.Checkpoint.ValidateSchema_v1",
  inputs: struct({ header: value, schema_version: string }),
  outputs: struct({ valid: bool, errors: list(struct({ field_path: string, reason: string })) }),
  failure: FAILURE,
  run: validate,
};

const RESTORE = "UML_OS.Checkpoint.Restore_v1";

// The array's head, the format's text of 21 bytes and the hash's byte string of 34 are around the header.
const MAX_BLOB_BYTES = 1 + 21 + MAX_HEADER_BYTES + 34;

function runRestore({ checkpoint_blob: blob, expected, verify }) {
  const started = performance.now();
  const findings = new Findings();
  judgeExpected(expected, ["checkpoint_hash"], findings);
  if (blob.length > MAX_BLOB_BYTES) {
    findings.add("checkpoint_blob", "LIMIT_EXCEEDED");
    findings.refuse(RESTORE);
  }
  const item = readCanonical(blob, "checkpoint_blob", findings);
  if (item === undefined) findings.refuse(RESTORE);
  if (!Array.isArray(item) || item.length !== 3 || item[0] !== BLOB_DOMAIN) {
    findings.add("checkpoint_blob", "WRONG_TYPE");
    findings.refuse(RESTORE);
  }
  const [, header, statedHash] = item;
  judgeHeader(header, NEWEST, findings);
  if (!IS_OF_TYPE.bytes32(statedHash)) findings.add("checkpoint_hash", "WRONG_TYPE");
  findings.refuse(RESTORE, header);
  const checkpointHash = sha256(encodeCanonical(header));
  if (!checkpointHash.equals(statedHash)) findings.add("checkpoint_hash", "HASH_MISMATCH");
  judgeDigests({ checkpoint_hash: checkpointHash }, expected, findings);
  judgeIdentity(header, expected, findings);
  findings.refuse(RESTORE, header);
  const step = verify === true ? "verify" : "restore";
  const report = reportOf(header, { checkpointHash, step, size: blob.length, started });
  return verify === true ? { report } : { report, header };
}

/** UML_OS.Checkpoint.Restore_v1: the header of a blob, once everything about it has been verified (seed 002 §5). */
export const restore = {
  name: RESTORE,
  inputs: struct({ checkpoint_blob: bytes, expected: value, verify: optional(bool) }),
  outputs: struct({ report: REPORT, header: optional(value) }),
  failure: FAILURE,
  run: runRestore,
};

const SERIALIZE = "UML_OS.Checkpoint.Serialize_v1";

function runSerialize({ header }) {
  const started = performance.now();
  const findings = new Findings();
  judgeHeader(header, NEWEST, findings);
  findings.refuse(SERIALIZE, header);
  const checkpointHash = sha256(headerBytesOf(header, findings));
  findings.refuse(SERIALIZE, header);
  const blob = encodeCanonical([BLOB_DOMAIN, header, checkpointHash]);
  // The procedure of seed 002 §6 ends with a restore that only verifies.
  const expected = new Pairs([["checkpoint_hash", checkpointHash]]);
  restore.run({ checkpoint_blob: blob, expected, verify: true });
  const report = reportOf(header, { checkpointHash, step: "serialize", size: blob.length, started });
  return { checkpoint_blob: blob, checkpoint_hash: checkpointHash, report };
}

/** UML_OS.Checkpoint.Serialize_v1: the checkpoint in one piece (seed 002 §II.F, §5; rulings CA02, CA23). */
export const serialize = {
  name: SERIALIZE,
  inputs: struct({ header: value }),
  outputs: struct({ checkpoint_blob: bytes, checkpoint_hash: bytes32, report: REPORT }),
  failure: FAILURE,
  run: runSerialize,
};

const MIGRATE = MIGRATION_OPERATOR;
const VERSION_FIELD = "checkpoint_schema_version";

/** Adds what is wrong with the two versions: their form, and whether the registry supports the way between them. */
function judgeVersions(header, from, to, findings) {
  if (parseVersion(from) === undefined) findings.add("from_version", "BAD_VERSION");
  if (parseVersion(to) === undefined) findings.add("to_version", "BAD_VERSION");
  else if (!SCHEMAS.get(to)?.includes(from)) findings.add("to_version", "INCOMPATIBLE_VERSION");
  if (parseVersion(from) !== undefined && !SCHEMAS.has(from)) findings.add("from_version", "INCOMPATIBLE_VERSION");
  if (SCHEMAS.has(from) && fieldOf(header, VERSION_FIELD) !== from) findings.add(VERSION_FIELD, "INCOMPATIBLE_VERSION");
}

function runMigrate(inputs) {
  const { header, from_version: from, to_version: to, signing_key: signingKey } = inputs;
  const findings = new Findings();
  if (SCHEMAS.has(from)) judgeHeader(header, parseVersion(from), findings);
  judgeVersions(header, from, to, findings);
  findings.refuse(MIGRATE, header);
  const source = headerBytesOf(header, findings);
  findings.refuse(MIGRATE, header);
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

/** UML_OS.Checkpoint.Migrate_v1: a header in another version of the schema, and the signed certificate of that. */
export const migrate = {
  name: MIGRATE,
  inputs: struct({
    header: value,
    from_version: string,
    to_version: string,
    signing_key: bytes32,
    migration_policy_hash: bytes32,
  }),
  outputs: struct({ header: value, certificate: bytes }),
  failure: FAILURE,
  run: runMigrate,
};
