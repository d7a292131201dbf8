/** UML_OS.Serialization.EncodeCanonical_v1: the one canonical encoding of an item, and its digest (seed 002 §II.F). */
import { encodeCanonical as encode } from "../cbor.js";
import { sha256 } from "../digest.js";
import { DEFAULT_FAILURE, defaultFailure } from "../errors.js";
import { bytes, bytes32, struct, value } from "../wire.js";
import { itemFault } from "./profile.js";

const NAME = "UML_OS.Serialization.EncodeCanonical_v1";

function run({ item }) {
  if (itemFault(item) !== undefined) throw defaultFailure("CONTRACT_VIOLATION", NAME);
  const canonical = encode(item);
  return { canonical, digest: sha256(canonical) };
}

export const encodeCanonical = {
  name: NAME,
  inputs: struct({ item: value }),
  outputs: struct({ canonical: bytes, digest: bytes32 }),
  failure: DEFAULT_FAILURE,
  run,
};
