/** Reads single fields of a header or another text-keyed map that may be anything at all. */
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { violationOf } from "../canonical.js";
import { Pairs, decode, encodeCanonical } from "../cbor.js";

/** The first element of every blob. */
export const BLOB_DOMAIN = "uml_os_checkpoint_v1";

const MAX_UINT64 = (1n << 64n) - 1n;
const NO_TOKEN = Buffer.alloc(32);

/** What the types of header and manifest fields are. */
export const IS_OF_TYPE = {
  string: (item) => typeof item === "string" && item.isWellFormed(),
  uint64: (item) => typeof item === "bigint" && item >= 0n && item <= MAX_UINT64,
  bytes32: (item) => item instanceof Uint8Array && item.length === 32,
  bool: (item) => typeof item === "boolean",
  "list<string>": (item) => Array.isArray(item) && item.every((element) => IS_OF_TYPE.string(element)),
  "list<map>": (item) => Array.isArray(item) && item.every(isNamedMap),
};

/** The field of that name; undefined where there is none, or where there are two. */
export function fieldOf(map, name) {
  if (!(map instanceof Pairs)) return undefined;
  const found = map.entries.filter(([key]) => key === name);
  return found.length === 1 ? found[0][1] : undefined;
}

/** Whether an item is a map from distinct texts. */
export function isNamedMap(item) {
  if (!(item instanceof Pairs)) return false;
  const keys = item.entries.map(([key]) => key);
  return keys.every((key) => IS_OF_TYPE.string(key)) && new Set(keys).size === keys.length;
}

/** The step and the replay token that a failure record states: zeros where the header does not hold them (C50). */
export function stateOf(header) {
  const named = isNamedMap(header) ? header : undefined;
  const t = fieldOf(named, "t");
  const token = fieldOf(named, "replay_token");
  return { t: IS_OF_TYPE.uint64(t) ? t : 0n, replayToken: IS_OF_TYPE.bytes32(token) ? token : NO_TOKEN };
}

/** Whether two scalar fields are the same; containers never are. */
export function isSame(left, right) {
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right) === 0;
  return left === right && typeof left !== "object";
}

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

/** The item that the bytes hold; undefined, with a finding, where they are not canonical. */
export function readCanonical(content, fieldPath, findings) {
  const violation = violationOf(content);
  if (violation === undefined) return decode(content);
  findings.add(fieldPath, "NON_CANONICAL");
  return undefined;
}
