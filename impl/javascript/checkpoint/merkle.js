/**
 * The roots over a container's shards (seed 002 §II.G; requirements C16, C18 to C21; rulings CA03 to CA06).
 *
 * A shard is `{path, sha256, size_bytes}`; every list is sorted by path.
 */
import { sha256OfCbor } from "../digest.js";
import { compareBytewise } from "../text_order.js";

/** The shards in the order of their paths as UTF-8 bytes (ruling CA06). */
export function sortedShards(shards) {
  return shards.toSorted((left, right) => compareBytewise(left.path, right.path));
}

const triple = ({ path, sha256, size_bytes: size }) => [path, sha256, size];
const leaf = (shard) => sha256OfCbor(["ckpt_shard", triple(shard)]);

/** The Merkle root; a level of odd length repeats its last node, and no shard at all has a root of its own. */
export function merkleRoot(shards) {
  if (shards.length === 0) return sha256OfCbor(["ckpt_merkle_root", []]);
  let level = shards.map(leaf);
  while (level.length > 1) {
    const parents = [];
    for (let at = 0; at < level.length; at += 2) {
      parents.push(sha256OfCbor(["ckpt_merkle_node", [level[at], level[at + 1] ?? level[at]]]));
    }
    level = parents;
  }
  return level[0];
}

/** The three parts of a container that have a root in the header and a digest in the manifest. */
const PARTS = [
  {
    folder: "tensors/",
    domain: "tensors_root",
    root: "tensors_root_hash",
    digest: "weights_manifest_hash",
  },
  {
    folder: "optimizer/",
    domain: "optimizer_root",
    root: "optimizer_state_root_hash",
    digest: "optimizer_manifest_hash",
  },
  {
    folder: "dp/",
    domain: "dp_accountant_root",
    root: "dp_accountant_state_root_hash",
    digest: "dp_accountant_manifest_hash",
  },
];

const shardsOf = ({ folder }, shards) => shards.filter(({ path }) => path.startsWith(folder));

/** Header field -> the root that the shards give it. */
export function headerRoots(shards) {
  const parts = PARTS.map((part) => [part.root, sha256OfCbor([part.domain, shardsOf(part, shards).map(leaf)])]);
  return new Map([["checkpoint_merkle_root", merkleRoot(shards)], ...parts]);
}

/** Manifest field -> the digest that the shards give it. */
export function manifestDigests(shards) {
  return new Map(PARTS.map((part) => [part.digest, sha256OfCbor(shardsOf(part, shards).map(triple))]));
}
