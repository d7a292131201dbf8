/** FNV-1a with 64 bits over token ids as little-endian u32 (requirement S31; ruling SA10). */

const BASIS = 14695981039346656037n;
const PRIME = 1099511628211n;

/** The hash of a chunk's tokens; zero where there are none (ruling SA11). */
export function contentHash(tokens) {
  if (tokens.length === 0) return 0n;
  const words = Buffer.alloc(4 * tokens.length);
  tokens.forEach((token, at) => words.writeUInt32LE(token, 4 * at));
  let hash = BASIS;
  for (const byte of words) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  return hash;
}
