/** What a restore must find again (seed 002 §II.I; requirements C12, C34; ruling CA11). */
import { Pairs } from "../cbor.js";
import { fieldOf, isSame } from "./subject.js";

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

/** Adds what is wrong with the expectation itself. */
export function judgeExpected(expected, findings) {
  if (!(expected instanceof Pairs)) {
    findings.add("expected", "WRONG_TYPE");
    return;
  }
  const keys = expected.entries.map(([key]) => key);
  if (new Set(keys).size !== keys.length) findings.add("expected", "NON_CANONICAL");
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
