/** The report of a restore (seed 002 §0.I, §0.L, §7; requirements C47, C48, C53). */
import { sha256OfCbor } from "../digest.js";
import { bytes32, optional, string, struct, uint64 } from "../types.js";
import { NEWEST } from "./schema.js";
import { fieldOf } from "./subject.js";
import { isNewerMinor, isSameMinor, parseVersion } from "./versions.js";

export const REPORT = struct({
  status: string,
  restore_profile_id: optional(string),
  compatibility_level: string,
  checkpoint_size_bytes: uint64,
  trace_record: struct({
    schema_version: string,
    source_hash: bytes32,
    step: string,
    status: string,
    checkpoint_hash: bytes32,
    restore_status: string,
  }),
  restore_time_ms: uint64,
});

/** How the header's version stands to the newest that this reader knows; an older one is read through its migration. */
function compatibilityLevel(versionText) {
  const version = parseVersion(versionText);
  if (isSameMinor(version, NEWEST)) return "exact";
  return isNewerMinor(version, NEWEST) ? "minor_newer" : "migrated";
}

/** The report on a restored header; `started` is the moment, in ms, at which the restore began. */
export function reportOf(header, { checkpointHash, size, started, profileId }) {
  const of = (name) => fieldOf(header, name);
  const sourceHash = sha256OfCbor(["source_run", of("tenant_id"), of("run_id"), of("manifest_hash")]);
  return {
    status: "success",
    ...(profileId === undefined ? {} : { restore_profile_id: profileId }),
    compatibility_level: compatibilityLevel(of("checkpoint_schema_version")),
    checkpoint_size_bytes: BigInt(size),
    trace_record: {
      schema_version: of("checkpoint_schema_version"),
      source_hash: sourceHash,
      step: "restore",
      status: "success",
      checkpoint_hash: checkpointHash,
      restore_status: "success",
    },
    restore_time_ms: BigInt(Math.round(performance.now() - started)),
  };
}
