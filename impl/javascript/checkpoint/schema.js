/** The schema of the checkpoint header (seed 002 §II.F), and the registry of its versions (ruling CA34). */
import { itemFault } from "../canonical.js";
import { encodeCanonical } from "../cbor.js";
import { IS_OF_TYPE, fieldOf, isNamedMap, isSame } from "./subject.js";

/** Versions of the checkpoint schema: "MAJOR.MINOR.PATCH", integers without leading zeros (ruling CA14). */

// Nineteen digits always fit into 64 bits.
const FORM = /^(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})$/;

/** The three integers as decimal digits; undefined for any other text. */
export function parseVersion(text) {
  const match = typeof text === "string" ? FORM.exec(text) : null;
  return match === null ? undefined : { major: match[1], minor: match[2], patch: match[3] };
}

/** Compares two integers of any size by their digits. */
function compareDigits(left, right) {
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : Number(left > right);
}

/** Whether a reader of one version may read a header of the other: the MAJOR must be its own (requirement C05). */
export function isCompatible(version, reader) {
  return version.major === reader.major;
}

/** Whether a header may hold fields that the reader does not know (requirement C04; ruling CA13). */
export function isNewerMinor(version, reader) {
  return isCompatible(version, reader) && compareDigits(version.minor, reader.minor) > 0;
}

/** Whether two versions differ in nothing but their PATCH. */
export function isSameMinor(version, reader) {
  return isCompatible(version, reader) && version.minor === reader.minor;
}

/** Whether a version is another one or a later one. */
function isAtLeast(version, since) {
  const first = ["major", "minor", "patch"].map((part) => compareDigits(version[part], since[part])).find(Boolean);
  return (first ?? 0) >= 0;
}

const field = (name, type, optional = false, since = undefined) => [name, { type, optional, since }];

/** What 1.1.0 adds is a field of the headers and the readers of 1.1.0 and above (ruling CA38). */
const ADDED_IN_1_1 = parseVersion("1.1.0");

/** Every field of the header, in the order of the seed. */
const HEADER_FIELDS = new Map([
  field("tenant_id", "string"),
  field("run_id", "string"),
  field("spec_version", "string"),
  field("checkpoint_schema_version", "string"),
  field("replay_token", "bytes32"),
  field("t", "uint64"),
  field("manifest_hash", "bytes32"),
  field("trace_root_hash", "bytes32"),
  field("sampler_config_hash", "bytes32"),
  field("tmmu_plan_hash", "bytes32"),
  field("backend_binary_hash", "bytes32"),
  field("checkpoint_merkle_root", "bytes32"),
  field("policy_hash", "bytes32"),
  field("determinism_profile_hash", "bytes32"),
  field("dependencies_lock_hash", "bytes32"),
  field("operator_contracts_root_hash", "bytes32"),
  field("runtime_env_hash", "bytes32"),
  field("code_commit_hash", "bytes32"),
  field("lineage_root_hash", "bytes32"),
  field("tensors_root_hash", "bytes32"),
  field("optimizer_state_root_hash", "bytes32"),
  field("dp_accountant_state_root_hash", "bytes32", true),
  field("trace_tail_hash_at_checkpoint", "bytes32"),
  field("checkpoint_hash_prev", "bytes32", true),
  field("source_run_hash", "bytes32", true, ADDED_IN_1_1),
]);

export const MIGRATION_OPERATOR = "UML_OS.Checkpoint.Migrate_v1";

/** Version -> the versions that may be migrated to it; the migration changes nothing but the version. */
export const SCHEMAS = new Map([["1.0.0", []], ["1.1.0", ["1.0.0"]]]);

/** The version that the reader of blobs and containers speaks. */
export const NEWEST = parseVersion("1.1.0");

// A field is inside the header's map, and that inside the blob's array.
const DEPTH_IN_BLOB = 2;

export const MAX_HEADER_BYTES = 65_536;

/** Adds everything that is wrong with a header in the eyes of a reader; an unreadable reader version is undefined. */
export function judgeHeader(header, reader, findings) {
  if (!isNamedMap(header)) {
    findings.add("", "WRONG_TYPE");
    return;
  }
  const version = parseVersion(fieldOf(header, "checkpoint_schema_version"));
  const acceptsUnknown = version !== undefined && reader !== undefined && isNewerMinor(version, reader);
  judgePresence(header, findings);
  const isThere = (since) => [version, reader].every((held) => held !== undefined && isAtLeast(held, since));
  for (const [name, item] of header.entries) {
    const declared = HEADER_FIELDS.get(name);
    const known = declared?.since === undefined || isThere(declared.since) ? declared : undefined;
    judgeField({ name, item, known }, acceptsUnknown, findings);
  }
  if (typeof fieldOf(header, "checkpoint_schema_version") === "string") {
    if (version === undefined) findings.add("checkpoint_schema_version", "BAD_VERSION");
    else if (reader !== undefined && !isCompatible(version, reader)) {
      findings.add("checkpoint_schema_version", "INCOMPATIBLE_VERSION");
    }
  }
}

function judgePresence(header, findings) {
  const present = new Set(header.entries.map(([key]) => key));
  for (const [name, { optional }] of HEADER_FIELDS) {
    if (!optional && !present.has(name)) findings.add(name, "MISSING_FIELD");
  }
}

/** Adds a finding where the bytes of a well-formed header are too many; returns them. */
export function headerBytesOf(header, findings) {
  const bytes = encodeCanonical(header);
  if (bytes.length > MAX_HEADER_BYTES) findings.add("", "LIMIT_EXCEEDED");
  return bytes;
}

function judgeField({ name, item, known }, acceptsUnknown, findings) {
  const fault = itemFault(name) ?? itemFault(item, DEPTH_IN_BLOB);
  if (known === undefined && !acceptsUnknown) findings.add(name, "UNKNOWN_FIELD");
  else if (item === null) findings.add(name, "NULL_FIELD");
  else if (known !== undefined && !IS_OF_TYPE[known.type](item)) findings.add(name, "WRONG_TYPE");
  else if (fault !== undefined) findings.add(name, "NON_CANONICAL");
}

/** The fields of the restore identity rule, in its order. */
const IDENTITY_FIELDS = [
  "tenant_id",
  "run_id",
  "replay_token",
  "trace_root_hash",
  "checkpoint_merkle_root",
  "manifest_hash",
  "sampler_config_hash",
  "tmmu_plan_hash",
  "backend_binary_hash",
  "determinism_profile_hash",
];

const STRINGS = new Set(["tenant_id", "run_id"]);

/** Adds what is wrong with the expectation itself: whatever could never be compared (ruling CA11). */
export function judgeExpected(expected, digests, findings) {
  if (!isNamedMap(expected)) {
    findings.add("expected", "WRONG_TYPE");
    return;
  }
  const comparable = new Set([...IDENTITY_FIELDS, ...digests, "checkpoint_hash_prev"]);
  for (const [name, item] of expected.entries) {
    const isTyped = STRINGS.has(name) ? IS_OF_TYPE.string(item) : IS_OF_TYPE.bytes32(item);
    if (!comparable.has(name)) findings.add(`expected.${name}`, "UNKNOWN_FIELD");
    else if (item === null) findings.add(`expected.${name}`, "NULL_FIELD");
    else if (!isTyped) findings.add(`expected.${name}`, "WRONG_TYPE");
  }
}

/** Adds each expected digest, by name, that the checkpoint does not have. */
export function judgeDigests(digests, expected, findings) {
  for (const [name, digest] of Object.entries(digests)) {
    if (!isSame(fieldOf(expected, name) ?? digest, digest)) findings.add(name, "HASH_MISMATCH");
  }
}

/** Adds the first identity field that differs from the expectation, and a predecessor that differs. */
export function judgeIdentity(header, expected, findings) {
  const differs = (name) => {
    const wanted = fieldOf(expected, name);
    return wanted !== undefined && !isSame(wanted, fieldOf(header, name));
  };
  const first = IDENTITY_FIELDS.find(differs);
  if (first !== undefined) findings.add(first, "IDENTITY_MISMATCH");
  if (differs("checkpoint_hash_prev")) findings.add("checkpoint_hash_prev", "CHAIN_MISMATCH");
}
