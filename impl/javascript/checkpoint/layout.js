/** The paths of a container (seed 002 §II.G; requirement C14; rulings CA06, CA15, CA17). */

export const MANIFEST = "checkpoint_manifest.cbor";
export const HEADER = "checkpoint_header.cbor";
export const LINK = "trace/link.cbor";

const INTEGER = "(0|[1-9][0-9]*)";
const SHARDS = [
  new RegExp(`^tensors/rank=${INTEGER}/shard=${INTEGER}\\.bin$`),
  new RegExp(`^optimizer/rank=${INTEGER}/state\\.bin$`),
  /^dp\/accountant_state\.cbor$/,
  /^data\/cursors\.cbor$/,
  /^tmmu\/plan\.cbor$/,
  /^trace\/link\.cbor$/,
  /^artifacts\/artifact_index\.cbor$/,
  /^rng\/state\.cbor$/,
];

// What Linux file systems hold in one name; the temporary name of a container is five bytes longer than its own.
const MAX_NAME_BYTES = 255;
const TEMPORARY_BYTES = 5;

/** The reason for which no shard may have that path; undefined for a path of the layout. */
export function shardPathFault(path) {
  if (!SHARDS.some((pattern) => pattern.test(path))) return "BAD_PATH";
  return path.split("/").some((part) => part.length > MAX_NAME_BYTES) ? "LIMIT_EXCEEDED" : undefined;
}

/** The reason for which no container may have that name; a leading dot is kept for unfinished ones (C24). */
export function containerNameFault(name) {
  if (name === "" || name.startsWith(".") || name.includes("/") || name.includes("\0")) return "BAD_PATH";
  if (!name.isWellFormed()) return "BAD_PATH";
  return Buffer.byteLength(name) > MAX_NAME_BYTES - TEMPORARY_BYTES ? "LIMIT_EXCEEDED" : undefined;
}

/** The name under which a container is built. */
export function temporaryName(name) {
  return `.${name}.tmp`;
}
