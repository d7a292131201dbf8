import { createHash } from "node:crypto";
import { encodeCanonical } from "./cbor.js";

/** SHA-256 of bytes. */
export function sha256(content) {
  return createHash("sha256").update(content).digest();
}

/** SHA-256(CBOR_CANONICAL(item)), the contract-critical hash primitive (seed 000 §0.B). */
export function sha256OfCbor(item) {
  return sha256(encodeCanonical(item));
}
