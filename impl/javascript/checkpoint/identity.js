/** What a restore must find again (seed 002 §II.I; requirements C12, C34; ruling CA11). */
import { IS_OF_TYPE, fieldOf, isNamedMap, isSame } from "./subject.js";

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
