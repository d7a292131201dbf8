/** trace/link.cbor: what binds a checkpoint to its trace (seed 002 §II.I; requirements C31, C32; ruling CA16). */
import { LINK } from "./layout.js";
import { fieldOf, isNamedMap, isSame } from "./subject.js";

const NAMES = ["run_id", "t", "trace_root_hash", "trace_tail_hash_at_checkpoint", "checkpoint_hash_prev"];

/** Adds a finding for each field of the link that is not the header's, or that is no field of a link. */
export function judgeLink(item, header, findings) {
  if (!isNamedMap(item)) {
    findings.add(LINK, "LINK_MISMATCH");
    return;
  }
  for (const name of NAMES) {
    const held = fieldOf(item, name);
    const stated = fieldOf(header, name);
    const isEqual = held === undefined ? stated === undefined : isSame(held, stated);
    if (!isEqual) findings.add(`${LINK}.${name}`, "LINK_MISMATCH");
  }
  for (const [name] of item.entries) if (!NAMES.includes(name)) findings.add(`${LINK}.${name}`, "LINK_MISMATCH");
}
