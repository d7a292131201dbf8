/** checkpoint_manifest.cbor: the shard list and what binds it (seed 002 §II.G; requirements C15, C33; ruling CA01). */
import { encodeCanonical } from "../cbor.js";
import { compareBytewise, sha256OfCbor } from "../digest.js";
import { MANIFEST, shardPathFault } from "./container.js";
import { parseVersion } from "./schema.js";
import { IS_OF_TYPE, fieldOf, isNamedMap } from "./subject.js";

const MANIFEST_VERSION = "1.0.0";
export const MAX_MANIFEST_BYTES = 2 ** 24;
export const MAX_SHARDS = 2 ** 16;
const MAX_SHARD_BYTES = 1n << 40n;

const FIELDS = new Map([
  ["manifest_version", { type: "string" }],
  ["checkpoint_hash", { type: "bytes32" }],
  ["checkpoint_merkle_root", { type: "bytes32" }],
  ["shards", { type: "list<map>" }],
  ["dataset_snapshot_id", { type: "string" }],
  ["artifact_index_hash", { type: "bytes32" }],
  ["dp_enabled", { type: "bool", optional: true }],
  ["partial_restore", { type: "list<string>", optional: true }],
  ["weights_manifest_hash", { type: "bytes32", optional: true }],
  ["optimizer_manifest_hash", { type: "bytes32", optional: true }],
  ["dp_accountant_manifest_hash", { type: "bytes32", optional: true }],
]);
const SHARD_FIELDS = new Map([
  ["path", { type: "string" }],
  ["sha256", { type: "bytes32" }],
  ["size_bytes", { type: "uint64" }],
]);

/** The manifest's bytes: the keys that the caller gives, and the computed ones. */
export function encodeManifest(given, checkpointHash, root, shards) {
  return encodeCanonical({
    ...given,
    manifest_version: MANIFEST_VERSION,
    checkpoint_hash: checkpointHash,
    checkpoint_merkle_root: root,
    shards,
  });
}

/** The manifest that a canonical item holds, as far as it is well typed; everything else becomes a finding. */
export function readManifest(item, findings) {
  if (!isNamedMap(item)) {
    findings.add(MANIFEST, "WRONG_TYPE");
    return undefined;
  }
  const manifest = readFields(item, FIELDS, MANIFEST, findings);
  judgeVersion(manifest.manifest_version, findings);
  if (manifest.shards !== undefined) manifest.shards = readShards(manifest.shards, findings);
  return manifest;
}

/** The well-typed fields of a map that has exactly the declared ones. */
function readFields(item, declared, prefix, findings) {
  const fields = {};
  for (const [name, { type, optional = false }] of declared) {
    const held = fieldOf(item, name);
    if (held === null) findings.add(`${prefix}.${name}`, "NULL_FIELD");
    else if (held === undefined && !optional) findings.add(`${prefix}.${name}`, "MISSING_FIELD");
    else if (held !== undefined && !IS_OF_TYPE[type](held)) findings.add(`${prefix}.${name}`, "WRONG_TYPE");
    else if (held !== undefined) fields[name] = held;
  }
  for (const [name] of item.entries) if (!declared.has(name)) findings.add(`${prefix}.${name}`, "UNKNOWN_FIELD");
  return fields;
}

function judgeVersion(text, findings) {
  if (text === undefined || text === MANIFEST_VERSION) return;
  const reason = parseVersion(text) === undefined ? "BAD_VERSION" : "INCOMPATIBLE_VERSION";
  findings.add(`${MANIFEST}.manifest_version`, reason);
}

/** The shard list; undefined where it is too long or an entry is ill typed. Paths ascend, or a finding. */
function readShards(items, findings) {
  if (items.length > MAX_SHARDS) {
    findings.add(`${MANIFEST}.shards`, "LIMIT_EXCEEDED");
    return undefined;
  }
  const known = findings.list.length;
  const shards = items.map((item, index) => readFields(item, SHARD_FIELDS, `${MANIFEST}.shards.${index}`, findings));
  if (findings.list.length > known) return undefined;
  const paths = shards.map(({ path }) => path);
  const isAscending = paths.every((path, index) => index === 0 || compareBytewise(paths[index - 1], path) <= 0);
  if (!isAscending) findings.add(`${MANIFEST}.shards`, "NON_CANONICAL");
  for (const { path, size_bytes: size } of shards) if (size > MAX_SHARD_BYTES) findings.add(path, "LIMIT_EXCEEDED");
  return shards;
}

/** Adds a finding for each path of a list that is there twice or is none of the layout. */
export function judgePaths(paths, findings) {
  for (const path of repeatedOf(paths)) findings.add(path, "DUPLICATE_PATH");
  for (const path of new Set(paths)) {
    const fault = shardPathFault(path);
    if (fault !== undefined) findings.add(path, fault);
  }
}

/** Adds a finding for each path of the partial-restore policy that no shard has, or that is there twice. */
export function judgePolicy({ partial_restore: policy = [] }, shards, findings) {
  const listed = new Set(shards.map(({ path }) => path));
  for (const path of new Set(policy)) if (!listed.has(path)) findings.add(path, "MISSING_SHARD");
  for (const path of repeatedOf(policy)) findings.add(path, "DUPLICATE_PATH");
}

/** Adds a finding where privacy is accounted for without a root that binds the account (requirement C21). */
export function judgeAccountant(manifest, header, findings) {
  const isBound = fieldOf(header, "dp_accountant_state_root_hash") !== undefined;
  if (manifest.dp_enabled === true && !isBound) findings.add("dp_accountant_state_root_hash", "MISSING_FIELD");
}

/** The paths that are there more than once (ruling CA04: without this, three and four shards could share a root). */
export function repeatedOf(paths) {
  const seen = new Set();
  return new Set(paths.filter((path) => seen.size === seen.add(path).size));
}

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
