/** Ed25519 (RFC 8032) from raw 32-byte keys, and the signed items made with it (ruling CA33). */
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { encodeCanonical } from "../cbor.js";

// The DER wrappings of RFC 8410; node:crypto takes raw keys only inside them.
const PRIVATE_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/** The canonical bytes of [domain, payload, signature over the payload's canonical bytes]. */
export function signItem(domain, payload, signingKey) {
  const key = createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, signingKey]), format: "der", type: "pkcs8" });
  return encodeCanonical([domain, payload, sign(null, encodeCanonical(payload), key)]);
}

/** Whether the signature of a payload is the key's; a key that is no point of the curve signs nothing. */
export function isSigned(payload, signature, publicKey) {
  try {
    const key = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, publicKey]), format: "der", type: "spki" });
    return verify(null, encodeCanonical(payload), key, signature);
  } catch {
    return false;
  }
}
