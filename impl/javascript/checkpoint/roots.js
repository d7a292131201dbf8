/** Holds the roots that a header and a manifest state to the shards (seed 002 §II.G; requirements C15 to C21). */
import { MANIFEST } from "./layout.js";
import { headerRoots, manifestDigests } from "./merkle.js";
import { IS_OF_TYPE, fieldOf, isSame } from "./subject.js";

/** Adds every well-typed root or digest that differs from what the shards give; the shards are sorted by path. */
export function judgeRoots(header, manifest, shards, findings) {
  const roots = headerRoots(shards);
  for (const [name, root] of roots) {
    const stated = fieldOf(header, name);
    if (IS_OF_TYPE.bytes32(stated) && !isSame(stated, root)) findings.add(name, "ROOT_MISMATCH");
  }
  const ofManifest = [["checkpoint_merkle_root", roots.get("checkpoint_merkle_root")], ...manifestDigests(shards)];
  for (const [name, digest] of ofManifest) {
    const stated = manifest[name];
    if (stated !== undefined && !isSame(stated, digest)) findings.add(`${MANIFEST}.${name}`, "ROOT_MISMATCH");
  }
}
