/** The contents that a reader of checkpoints must be able to use (seed 002 §0.Z; requirements C32, C49; ruling CA17). */
import { ContractFailure } from "../errors.js";
import { decodeCursors } from "../data/decode_cursors.js";
import { readCanonical } from "./canonical_item.js";
import { CURSORS, LINK, RNG } from "./layout.js";
import { judgeLink } from "./link.js";

const RNG_WORDS = 6;
const isUint32 = (item) => typeof item === "bigint" && item >= 0n && item < 1n << 32n;

/** Adds a finding for each `.cbor` file that is not canonical or not what its path promises. */
export function judgeContents(files, header, findings) {
  for (const [path, content] of files) if (path.endsWith(".cbor")) judgeContent(path, content, header, findings);
}

function judgeContent(path, content, header, findings) {
  const item = readCanonical(content, path, findings);
  if (item === undefined) return;
  if (path === LINK) judgeLink(item, header, findings);
  if (path === RNG && !isRngState(item)) findings.add(path, "WRONG_TYPE");
  if (path === CURSORS && !isCursors(content)) findings.add(path, "WRONG_TYPE");
}

function isRngState(item) {
  return Array.isArray(item) && item.length === 1 + RNG_WORDS && item[0] === "rng_state" && item.slice(1).every(isUint32);
}

function isCursors(content) {
  try {
    decodeCursors.run({ cursors_cbor: content });
    return true;
  } catch (error) {
    if (!(error instanceof ContractFailure)) throw error;
    return false;
  }
}
