/** The parts of a container on disk: its components, their contents, the layout of files and the roots over them. */
import { readdirSync } from "node:fs";
import { decodeCursors } from "../data/cursors.js";
import { compareBytewise, sha256OfCbor } from "../digest.js";
import { ContractFailure } from "../errors.js";
import { judgeLink, pathIn, shownName } from "./durable.js";
import { headerRoots, manifestDigests } from "./manifest.js";
import { IS_OF_TYPE, fieldOf, isSame, readCanonical } from "./subject.js";

const FOLDERS = new Map([
  ["data_cursors", "data/"],
  ["dp_accountant_state", "dp/"],
  ["model_params", "tensors/"],
  ["optimizer_state", "optimizer/"],
  ["rng_states", "rng/"],
  ["tmmu_plan", "tmmu/"],
]);

/** The components that a stage needs, by name; the header itself is the minimal runtime config. */
export function requiredComponents(stage, manifest, header) {
  if (stage !== "train") return ["minimal_runtime_config", "model_params"];
  const hasPrivacy = manifest.dp_enabled ?? fieldOf(header, "dp_accountant_state_root_hash") !== undefined;
  return [...FOLDERS.keys()].filter((name) => name !== "dp_accountant_state" || hasPrivacy);
}

/** Adds the required components of which no path holds anything. */
export function judgeComponents(required, paths, findings) {
  for (const name of required) {
    const folder = FOLDERS.get(name);
    const isThere = folder === undefined || paths.some((path) => path.startsWith(folder));
    if (!isThere) findings.add(name, "MISSING_COMPONENT");
  }
}

/** The name of what was restored: 16 hex digits over the stage and its components (ruling CA32). */
export function restoreProfileId(stage, components) {
  const sorted = components.toSorted(compareBytewise);
  return sha256OfCbor(["restore_profile", [stage, sorted]]).toString("hex").slice(0, 16);
}

/** The paths of a container (seed 002 §II.G; requirement C14; rulings CA06, CA15, CA17). */

export const MANIFEST = "checkpoint_manifest.cbor";
export const HEADER = "checkpoint_header.cbor";
export const LINK = "trace/link.cbor";
const CURSORS = "data/cursors.cbor";
const RNG = "rng/state.cbor";
const INDEX = "artifacts/artifact_index.cbor";

// Nineteen digits always fit into 64 bits.
const INTEGER = "(0|[1-9][0-9]{0,18})";
const SHARDS = [
  new RegExp(`^tensors/rank=${INTEGER}/shard=${INTEGER}\\.bin$`),
  new RegExp(`^optimizer/rank=${INTEGER}/state\\.bin$`),
  /^dp\/accountant_state\.cbor$/,
  /^data\/cursors\.cbor$/,
  /^tmmu\/plan\.cbor$/,
  /^trace\/link\.cbor$/,
  /^artifacts\/artifact_index\.cbor$/,
  /^rng\/state\.cbor$/,
];

// Linux file systems hold 255 bytes in one name, and the temporary name of a container is longer than its own.
const MAX_NAME_BYTES = 200;

/** The reason for which no shard may have that path; undefined for a path of the layout. */
export function shardPathFault(path) {
  return SHARDS.some((pattern) => pattern.test(path)) ? undefined : "BAD_PATH";
}

/** The reason for which no container may have that name; a leading dot is kept for unfinished ones (C24). */
export function containerNameFault(name) {
  if (name === "" || name.startsWith(".") || name.includes("/") || name.includes("\0")) return "BAD_PATH";
  if (!name.isWellFormed()) return "BAD_PATH";
  return Buffer.byteLength(name) > MAX_NAME_BYTES ? "BAD_PATH" : undefined;
}

/** The name under which a container is built. */
export function temporaryName(name) {
  return `.${name}.tmp`;
}

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

/** Adds a hash of the manifest that is not that of the artifact index, where the index is a shard (CA44). */
export function judgeIndex(manifest, shards, findings) {
  const index = shards.find(({ path }) => path === INDEX);
  if (index !== undefined && !isSame(manifest.artifact_index_hash, index.sha256)) {
    findings.add(`${MANIFEST}.artifact_index_hash`, "HASH_MISMATCH");
  }
}

/** Adds the trace link and the artifact index that are not there to train from (requirement C55; ruling CA44). */
export function judgeTrace(stage, shards, findings) {
  const paths = new Set(shards.map(({ path }) => path));
  for (const path of [LINK, INDEX]) {
    if (stage === "train" && !paths.has(path)) findings.add(path, "MISSING_COMPONENT");
  }
}

/** The files by path, and the `others`: links, pipes and devices; undefined beyond a number of entries. */
export function listTree(root, mostEntries) {
  const files = new Set();
  const others = new Set();
  const pending = [""];
  let count = 0;
  while (pending.length > 0) {
    const prefix = pending.pop();
    for (const entry of readdirSync(pathIn(root, prefix), { withFileTypes: true, encoding: "latin1" })) {
      count += 1;
      if (count > mostEntries) return undefined;
      const path = `${prefix}${entry.name}`;
      if (entry.isFile()) files.add(shownName(path));
      else if (entry.isDirectory()) pending.push(`${path}/`);
      else others.add(shownName(path));
    }
  }
  return { files, others };
}
