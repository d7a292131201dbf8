/** The cursors of a checkpoint as canonical bytes, and back (seed 000 §10). */
import { CborError, Pairs, decode, encodeCanonical } from "../cbor.js";
import { defaultFailure } from "../errors.js";
import { bytes, mapOf, struct } from "../wire.js";
import { cursor } from "./types.js";

/** UML_OS.Data.EncodeCursors_v1: the canonical bytes of the cursors of a checkpoint (seed 000 §10). */
export const encodeCursors = {
  name: "UML_OS.Data.EncodeCursors_v1",
  inputs: struct({ cursors: mapOf(cursor) }),
  outputs: struct({ cursors_cbor: bytes }),
  run: ({ cursors }) => ({ cursors_cbor: encodeCanonical(cursors) }),
};

const DECODE = "UML_OS.Data.DecodeCursors_v1";

const isUint64 = (item) => typeof item === "bigint" && item >= 0n;

/** Whether an item is a map of exactly the two fields of a cursor, in their canonical order. */
function isCursor(item) {
  if (!(item instanceof Pairs) || item.entries.length !== 2) return false;
  const [[firstName, epoch], [secondName, index]] = item.entries;
  return firstName === "epoch" && secondName === "global_index" && isUint64(epoch) && isUint64(index);
}

/** Reads the cursors; undefined where the bytes are no CBOR or hold something else. */
function parse(candidate) {
  try {
    const item = decode(candidate);
    if (!(item instanceof Pairs)) return undefined;
    const legal = item.entries.every(([key, held]) => typeof key === "string" && isCursor(held));
    return legal ? mapOf(cursor).fromCbor(item) : undefined;
  } catch (error) {
    if (error instanceof CborError) return undefined;
    throw error;
  }
}

/** Encoding what was read gives the same bytes only if they were canonical: one rule for every way to be otherwise. */
function run({ cursors_cbor: candidate }) {
  const cursors = parse(candidate);
  if (cursors === undefined || !encodeCanonical(cursors).equals(candidate)) {
    throw defaultFailure("CONTRACT_VIOLATION", DECODE);
  }
  return { cursors };
}

/** UML_OS.Data.DecodeCursors_v1: the cursors that canonical bytes hold, and no others (seed 000 §10). */
export const decodeCursors = {
  name: DECODE,
  inputs: struct({ cursors_cbor: bytes }),
  outputs: struct({ cursors: mapOf(cursor) }),
  run,
};
