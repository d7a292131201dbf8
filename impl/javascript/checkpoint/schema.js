/** The schema of the checkpoint header (seed 002 §II.F), and the registry of its versions (ruling CA34). */
import { parseVersion } from "./versions.js";

const field = (name, type, optional = false) => [name, { type, optional }];

/** Every field of the header, in the order of the seed. */
export const HEADER_FIELDS = new Map([
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
]);

export const MIGRATION_OPERATOR = "UML_OS.Checkpoint.Migrate_v1";

/** Version -> the versions that may be migrated to it; the migration changes nothing but the version. */
export const SCHEMAS = new Map([["1.0.0", []], ["1.1.0", ["1.0.0"]]]);

/** The version that the reader of blobs and containers speaks. */
export const NEWEST = parseVersion("1.1.0");
