/** trace/link.cbor: what binds a checkpoint to its trace (seed 002 §II.I; requirements C31, C32; ruling CA16). */
import { Pairs } from "../cbor.js";
import { readCanonical } from "./canonical_item.js";
import { LINK } from "./layout.js";
import { fieldOf, isSame } from "./subject.js";

const NAMES = ["run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev"];

/** Adds a finding unless the link holds exactly those fields that the header has, each equal to the header's. */
export function judgeLink(content, header, findings) {
  const item = readCanonical(content, LINK, findings);
  if (item === undefined) return;
  const names = NAMES.filter((name) => fieldOf(header, name) !== undefined);
  const isLinked =
    item instanceof Pairs &&
    item.entries.length === names.length &&
    names.every((name) => isSame(fieldOf(item, name), fieldOf(header, name)));
  if (!isLinked) findings.add(LINK, "LINK_MISMATCH");
}
