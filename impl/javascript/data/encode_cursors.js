/** UML_OS.Data.EncodeCursors_v1: the canonical bytes of the cursors of a checkpoint (seed 000 §10). */
import { encodeCanonical } from "../cbor.js";
import { DEFAULT_FAILURE } from "../errors.js";
import { bytes, mapOf, struct } from "../wire.js";
import { cursor } from "./types.js";

export const encodeCursors = {
  name: "UML_OS.Data.EncodeCursors_v1",
  inputs: struct({ cursors: mapOf(cursor) }),
  outputs: struct({ cursors_cbor: bytes }),
  failure: DEFAULT_FAILURE,
  run: ({ cursors }) => ({ cursors_cbor: encodeCanonical(cursors) }),
};
