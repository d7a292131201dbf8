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

/** The two CRCs of 32 bits, both reflected: of zip members, and of log records (ruling CA29). */

function reflectedCrc(reversedPolynomial) {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let word = byte;
    for (let bit = 0; bit < 8; bit += 1) word = word & 1 ? (word >>> 1) ^ reversedPolynomial : word >>> 1;
    return word;
  });
  return (content) => {
    let word = 0xffffffff;
    for (const byte of content) word = table[(word ^ byte) & 0xff] ^ (word >>> 8);
    return (word ^ 0xffffffff) >>> 0;
  };
}

/** The checksum of zip and zlib. */
export const crc32 = reflectedCrc(0xedb88320);

/** CRC-32C (Castagnoli), the checksum in the frame of a log record. */
export const crc32c = reflectedCrc(0x82f63b78);

/** Compares two texts by their UTF-8 bytes. */
export function compareBytewise(left, right) {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
