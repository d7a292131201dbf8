/** The paths of a container (seed 002 §II.G; requirement C14; rulings CA06, CA15, CA17). */

export const MANIFEST = "checkpoint_manifest.cbor";
export const HEADER = "checkpoint_header.cbor";
export const LINK = "trace/link.cbor";
export const CURSORS = "data/cursors.cbor";
export const RNG = "rng/state.cbor";

// Nineteen digits always fit into 64 bits.
const INTEGER = "(0|[1-9][0-9]{0,18})";
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

// Linux file systems hold 255 bytes in one name, and the temporary name of a container is longer than its own.
const MAX_NAME_BYTES = 200;

/** The reason for which no shard may have that path; undefined for a path of the layout. */
export function shardPathFault(path) {
  return SHARDS.some((pattern) => pattern.test(path)) ? undefined : "BAD_PATH";
}

/** The reason for which no container may have that name; a leading dot is kept for unfinished ones (C24). */
export function containerNameFault(name) {
  if (name === "" || name.startsWith(".") || name.includes("/") || name.includes("\0")) return "BAD_PATH";
  if (!name.isWellFormed()) return "BAD_PATH";
  return Buffer.byteLength(name) > MAX_NAME_BYTES ? "BAD_PATH" : undefined;
}

/** The name under which a container is built. */
export function temporaryName(name) {
  return `.${name}.tmp`;
}
