/** Why a checkpoint is refused: the closed list of reasons, and the failure record that carries one. */
import { compareBytewise, sha256OfCbor } from "../digest.js";
import { ContractFailure } from "../errors.js";
import { bytes32, optional, string, struct, uint64 } from "../wire.js";
import { NEWEST, isNewerMinor, isSameMinor, parseVersion } from "./schema.js";
import { fieldOf, stateOf } from "./subject.js";

/** The closed list; of several findings the first in this order decides the failure (INTERFACES, checkpoint). */
const REASONS = [
  "MISSING_FIELD",
  "UNKNOWN_FIELD",
  "WRONG_TYPE",
  "NULL_FIELD",
  "BAD_VERSION",
  "INCOMPATIBLE_VERSION",
  "NON_CANONICAL",
  "HASH_MISMATCH",
  "ROOT_MISMATCH",
  "MISSING_SHARD",
  "EXTRA_SHARD",
  "SHARD_MISMATCH",
  "DUPLICATE_PATH",
  "BAD_PATH",
  "LINK_MISMATCH",
  "CHAIN_MISMATCH",
  "MISSING_COMPONENT",
  "PARTIAL_NOT_DECLARED",
  "SIGNATURE_INVALID",
  "TARGET_EXISTS",
  "LIMIT_EXCEEDED",
  "IDENTITY_MISMATCH",
  "WAL_RECORD_INVALID",
];
const RANK = new Map(REASONS.map((reason, rank) => [reason, rank]));
const OTHER_CODES = new Map([["IDENTITY_MISMATCH", "REPLAY_DIVERGENCE"], ["WAL_RECORD_INVALID", "WAL_CORRUPTION"]]);

/** The failure record of every checkpoint operator (ruling CA12; requirement C50). */
export const FAILURE = struct({
  t: uint64,
  failure_code: string,
  failure_operator: string,
  replay_token: bytes32,
  reason: string,
  field_path: string,
});

const byPath = (left, right) => compareBytewise(left.field_path, right.field_path);
const byReason = (left, right) => RANK.get(left.reason) - RANK.get(right.reason);

/** Everything that is wrong with one input. */
export class Findings {
  constructor() {
    this.list = [];
  }

  add(fieldPath, reason) {
    this.list.push({ field_path: fieldPath, reason });
  }

  /** The findings by field path, then in the order of the closed list. */
  sorted() {
    return this.list.toSorted((left, right) => byPath(left, right) || byReason(left, right));
  }

  /** The finding that decides a failure: the first reason of the closed list, then the first path. */
  first() {
    return this.list.toSorted((left, right) => byReason(left, right) || byPath(left, right))[0];
  }

  /** Throws the failure that the findings decide, if there are any; `header` gives the record its state. */
  refuse(operator, header) {
    if (this.list.length > 0) throw failureOf(operator, this.first(), header);
  }
}

/** The contract failure of one finding. */
export function failureOf(operator, { field_path: fieldPath, reason }, header) {
  const code = OTHER_CODES.get(reason) ?? "CONTRACT_VIOLATION";
  const { t, replayToken } = stateOf(header);
  return new ContractFailure(code, {
    t,
    failure_code: code,
    failure_operator: operator,
    replay_token: replayToken,
    reason,
    field_path: fieldPath,
  });
}

export const TRACE_RECORD = struct({
  schema_version: string,
  source_hash: bytes32,
  step: string,
  status: string,
  checkpoint_hash: bytes32,
  restore_status: string,
});

export const REPORT = struct({
  status: string,
  restore_profile_id: optional(string),
  compatibility_level: string,
  checkpoint_size_bytes: uint64,
  trace_record: TRACE_RECORD,
  restore_time_ms: uint64,
});

/** What a record says of the restore, by its step: a write had none, a verification gave nothing back (CA43). */
const RESTORE_STATUS = { serialize: "verified", write: "not_restored", restore: "success", verify: "verified" };

/** How the header's version compares with the newest that this reader knows; an older one is read through its migration. */
function compatibilityLevel(versionText) {
  const version = parseVersion(versionText);
  if (isSameMinor(version, NEWEST)) return "exact";
  return isNewerMinor(version, NEWEST) ? "minor_newer" : "migrated";
}

/** The record that a write or a restore leaves (seed 002 §7; requirements C48, C59). */
export function recordOf(header, checkpointHash, step) {
  const of = (name) => fieldOf(header, name);
  return {
    schema_version: of("checkpoint_schema_version"),
    source_hash: sha256OfCbor(["source_run", of("tenant_id"), of("run_id"), of("manifest_hash")]),
    step,
    status: "success",
    checkpoint_hash: checkpointHash,
    restore_status: RESTORE_STATUS[step],
  };
}

/** The report on a header; `started` is the moment, in ms, at which the restore or the verification began. */
export function reportOf(header, { checkpointHash, step, size, started, profileId }) {
  return {
    status: "success",
    ...(profileId === undefined ? {} : { restore_profile_id: profileId }),
    compatibility_level: compatibilityLevel(fieldOf(header, "checkpoint_schema_version")),
    checkpoint_size_bytes: BigInt(size),
    trace_record: recordOf(header, checkpointHash, step),
    restore_time_ms: BigInt(Math.round(performance.now() - started)),
  };
}
