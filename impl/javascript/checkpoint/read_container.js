/** UML_OS.Checkpoint.ReadContainer_v1: a container's header and files, all of it verified (seed 002 §II.G, §II.H). */
import { join } from "node:path";
import { sha256 } from "../digest.js";
import { bytes, list, mapOf, optional, string, struct, value } from "../types.js";
import { readCanonical } from "./canonical_item.js";
import { judgeComponents, requiredComponents, restoreProfileId } from "./components.js";
import { isFolder, kindAt, readRegularFile } from "./durable.js";
import { judgeHeader } from "./header.js";
import { judgeExpected, judgeIdentity } from "./identity.js";
import { HEADER, LINK, MANIFEST, containerNameFault, shardPathFault } from "./layout.js";
import { judgeLink } from "./link.js";
import { readManifest, repeatedOf } from "./manifest.js";
import { FAILURE, Findings } from "./reasons.js";
import { REPORT, reportOf } from "./report.js";
import { judgeRoots } from "./roots.js";
import { NEWEST } from "./schema.js";
import { isSame } from "./subject.js";
import { listTree } from "./tree.js";

const NAME = "UML_OS.Checkpoint.ReadContainer_v1";

// A manifest of a million shards is half as large; a file above 2^31 - 1 bytes fits into no message.
const MAX_METADATA_BYTES = 2 ** 28;
const MAX_SHARD_BYTES = 2n ** 31n - 1n;

/** Adds what is wrong with where the container is said to be. */
function judgePlace(root, name, findings) {
  const fault = containerNameFault(name);
  if (fault !== undefined) findings.add("name", fault);
  if (!isFolder(root)) findings.add("root", "BAD_PATH");
  if (fault !== undefined || !isFolder(root)) return;
  const kind = kindAt(join(root, name));
  if (kind === undefined) findings.add(MANIFEST, "MISSING_COMPONENT");
  else if (kind !== "directory") findings.add("name", "BAD_PATH");
}

/** The bytes of the header or the manifest; undefined, with a finding, where they cannot be had. */
function readMetadata(base, path, tree, findings) {
  if (tree.others.has(path)) return undefined;
  if (!tree.files.has(path)) {
    findings.add(path, "MISSING_COMPONENT");
    return undefined;
  }
  const content = readRegularFile(join(base, path), MAX_METADATA_BYTES);
  if (content === undefined) findings.add(path, "LIMIT_EXCEEDED");
  return content;
}

const isBelow = (path, folders) => [...folders].some((folder) => path === folder || path.startsWith(`${folder}/`));

/** Reads and verifies every shard of the manifest, and looks for files beside them (requirement C17). */
function readShards(base, shards, tree, findings) {
  const contents = new Map();
  for (const shard of shards) {
    const isJudged = contents.has(shard.path) || shardPathFault(shard.path) !== undefined;
    if (isJudged || isBelow(shard.path, tree.others)) continue;
    if (!tree.files.has(shard.path)) findings.add(shard.path, "MISSING_SHARD");
    else contents.set(shard.path, readShard(join(base, shard.path), shard, findings));
  }
  const listed = new Set([HEADER, MANIFEST, ...shards.map(({ path }) => path)]);
  for (const path of tree.files) if (!listed.has(path)) findings.add(path, "EXTRA_SHARD");
  return contents;
}

/** The content of one shard; its size is compared first, so that a wrong one is not read at all. */
function readShard(path, shard, findings) {
  if (shard.size_bytes > MAX_SHARD_BYTES) {
    findings.add(shard.path, "LIMIT_EXCEEDED");
    return Buffer.alloc(0);
  }
  const content = readRegularFile(path, Number(shard.size_bytes));
  const isWhole = content !== undefined && BigInt(content.length) === shard.size_bytes;
  if (!isWhole || !isSame(sha256(content), shard.sha256)) findings.add(shard.path, "SHARD_MISMATCH");
  return content ?? Buffer.alloc(0);
}

/** Adds what is wrong with a choice of shards: each is in the manifest and declared (requirement C27). */
function judgeChoice(chosen, manifest, findings) {
  const listed = new Set(manifest.shards.map(({ path }) => path));
  const declared = new Set(manifest.partial_restore ?? []);
  for (const path of repeatedOf(chosen)) findings.add(path, "DUPLICATE_PATH");
  for (const path of chosen) {
    const fault = shardPathFault(path);
    if (fault !== undefined) findings.add(path, fault);
    else if (!listed.has(path)) findings.add(path, "MISSING_SHARD");
    else if (!declared.has(path)) findings.add(path, "PARTIAL_NOT_DECLARED");
  }
}

/** Verifies the shards against header and manifest; the chosen contents and the components they make up. */
function verifyShards(base, { stage, shards: choice }, header, manifest, tree, findings) {
  const { shards } = manifest;
  // Three shards and four with the last repeated share a root, so a list with repeated paths has none (CA04).
  const isDistinct = repeatedOf(shards.map(({ path }) => path)).size === 0;
  if (isDistinct) judgeRoots(header, manifest, shards, findings);
  const contents = readShards(base, shards, tree, findings);
  if (contents.has(LINK)) judgeLink(contents.get(LINK), header, findings);
  if (choice !== undefined) judgeChoice(choice, manifest, findings);
  const files = new Map([...contents].filter(([path]) => choice === undefined || choice.includes(path)));
  const components = requiredComponents(stage, manifest, header);
  judgeComponents(components, [...files.keys()], findings);
  return { files, components };
}

function run(inputs) {
  const started = performance.now();
  const { root, name, stage, expected } = inputs;
  const findings = new Findings();
  judgeExpected(expected, ["checkpoint_hash", "full_checkpoint_hash"], findings);
  judgePlace(root, name, findings);
  if (findings.list.some(({ field_path: path }) => path !== "expected")) findings.refuse(NAME);
  const base = join(root, name);
  const tree = listTree(base);
  for (const path of tree.others) findings.add(path, "BAD_PATH");
  const headerBytes = readMetadata(base, HEADER, tree, findings);
  const manifestBytes = readMetadata(base, MANIFEST, tree, findings);
  const header = headerBytes && readCanonical(headerBytes, HEADER, findings);
  const manifestItem = manifestBytes && readCanonical(manifestBytes, MANIFEST, findings);
  if (header === undefined || manifestItem === undefined) findings.refuse(NAME, header);
  judgeHeader(header, NEWEST, findings);
  judgeIdentity(header, expected, findings);
  const manifest = readManifest(manifestItem, findings);
  if (manifest?.shards === undefined) findings.refuse(NAME, header);
  const checkpointHash = sha256(headerBytes);
  if (manifest.checkpoint_hash !== undefined && !isSame(manifest.checkpoint_hash, checkpointHash)) {
    findings.add("manifest.checkpoint_hash", "HASH_MISMATCH");
  }
  const { files, components } = verifyShards(base, inputs, header, manifest, tree, findings);
  findings.refuse(NAME, header);
  const shardBytes = manifest.shards.reduce((sum, shard) => sum + Number(shard.size_bytes), 0);
  const size = headerBytes.length + manifestBytes.length + shardBytes;
  const profileId = restoreProfileId(stage, components);
  return { header, files, report: reportOf(header, { checkpointHash, size, started, profileId }) };
}

export const readContainer = {
  name: NAME,
  inputs: struct({ root: string, name: string, stage: string, shards: optional(list(string)), expected: value }),
  outputs: struct({ header: value, files: mapOf(bytes), report: REPORT }),
  failure: FAILURE,
  run,
};
