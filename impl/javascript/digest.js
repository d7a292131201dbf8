import { createHash } from "node:crypto";
import { encodeCanonical } from "./cbor.js";

/** SHA-256(CBOR_CANONICAL(item)), the contract-critical hash primitive (seed 000 §0.B). */
export function sha256OfCbor(item) {
  return createHash("sha256").update(encodeCanonical(item)).digest();
}
