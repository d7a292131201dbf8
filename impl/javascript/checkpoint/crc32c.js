/** CRC-32C (Castagnoli), the checksum in the frame of a log record (ruling CA29). */

const REVERSED_POLYNOMIAL = 0x82f63b78;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let word = byte;
  for (let bit = 0; bit < 8; bit += 1) word = word & 1 ? (word >>> 1) ^ REVERSED_POLYNOMIAL : word >>> 1;
  return word;
});

export function crc32c(content) {
  let word = 0xffffffff;
  for (const byte of content) word = TABLE[(word ^ byte) & 0xff] ^ (word >>> 8);
  return (word ^ 0xffffffff) >>> 0;
}
