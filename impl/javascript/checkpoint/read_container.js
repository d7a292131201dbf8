/** UML_OS.Checkpoint.ReadContainer_v1: a container's header and files, all of it verified (seed 002 §II.G, §II.H). */
import { join } from "node:path";
import { sha256 } from "../digest.js";
import { bool, bytes, list, mapOf, optional, string, struct, value } from "../wire.js";
import {
  HEADER,
  MANIFEST,
  containerNameFault,
  judgeComponents,
  judgeContents,
  judgeIndex,
  judgeRoots,
  judgeTrace,
  listTree,
  requiredComponents,
  restoreProfileId,
  shardPathFault,
} from "./container.js";
import { isFolder, kindAt, readRegularFile } from "./durable.js";
import {
  MAX_MANIFEST_BYTES,
  MAX_SHARDS,
  judgeAccountant,
  judgePaths,
  judgePolicy,
  readManifest,
  repeatedOf,
} from "./manifest.js";
import { FAILURE, Findings, REPORT, reportOf } from "./reasons.js";
import { MAX_HEADER_BYTES, NEWEST, judgeDigests, judgeExpected, judgeHeader, judgeIdentity } from "./schema.js";
import { isSame, readCanonical } from "./subject.js";

const NAME = "UML_OS.Checkpoint.ReadContainer_v1";

const DIGESTS = ["checkpoint_hash", "full_checkpoint_hash"];

// Every shard may be in a folder of its own, with one folder around it.
const MAX_ENTRIES = 3 * MAX_SHARDS + 16;

/** Adds what is wrong with where the container is said to be; what is there is listed only where nothing is. */
function listPlace(root, name, findings) {
  if (!isFolder(root)) findings.add("root", "BAD_PATH");
  const fault = containerNameFault(name);
  if (fault !== undefined) findings.add("name", fault);
  findings.refuse(NAME);
  const base = join(root, name);
  const kind = kindAt(base);
  if (kind === undefined) findings.add(MANIFEST, "MISSING_SHARD");
  else if (kind !== "directory") findings.add("name", "BAD_PATH");
  findings.refuse(NAME);
  const tree = listTree(base, MAX_ENTRIES);
  if (tree === undefined) findings.add("name", "LIMIT_EXCEEDED");
  else for (const path of tree.others) findings.add(path, "BAD_PATH");
  findings.refuse(NAME);
  return tree;
}

/** The bytes and the item of the header or the manifest; a finding where they cannot be had. */
function readDocument(base, path, limit, tree, findings) {
  if (!tree.files.has(path)) {
    findings.add(path, "MISSING_SHARD");
    return {};
  }
  const content = readRegularFile(join(base, path), limit);
  if (content === undefined) findings.add(path, "LIMIT_EXCEEDED");
  return content === undefined ? {} : { content, item: readCanonical(content, path, findings) };
}

/** Reads and verifies every shard of the manifest, and looks for files beside them (requirement C17). */
function readShards(base, shards, tree, findings) {
  const contents = new Map();
  for (const shard of shards) {
    if (shardPathFault(shard.path) !== undefined) continue;
    if (!tree.files.has(shard.path)) findings.add(shard.path, "MISSING_SHARD");
    else readShard(base, shard, contents, findings);
  }
  const listed = new Set([HEADER, MANIFEST, ...shards.map(({ path }) => path)]);
  for (const path of tree.files) if (!listed.has(path)) findings.add(path, "EXTRA_SHARD");
  return contents;
}

/** Reads one shard; one that is longer than listed is not read at all. */
function readShard(base, { path, sha256: digest, size_bytes: size }, contents, findings) {
  const content = readRegularFile(join(base, path), Number(size));
  const isWhole = content !== undefined && BigInt(content.length) === size && isSame(sha256(content), digest);
  if (isWhole) contents.set(path, content);
  else findings.add(path, "SHARD_MISMATCH");
}

/** Adds what is wrong with a choice of shards: each is in the manifest and declared (requirement C27). */
function judgeChoice(chosen, manifest, findings) {
  const listed = new Set(manifest.shards.map(({ path }) => path));
  judgePaths(chosen, findings);
  for (const path of chosen) {
    if (shardPathFault(path) === undefined && !listed.has(path)) findings.add(path, "MISSING_SHARD");
  }
  const declared = manifest.partial_restore;
  if (declared === undefined) findings.add(`${MANIFEST}.partial_restore`, "PARTIAL_NOT_DECLARED");
  else for (const path of chosen) if (!declared.includes(path)) findings.add(path, "PARTIAL_NOT_DECLARED");
}

/** Adds what header, manifest and list say of each other; a list with a path twice has no roots (ruling CA04). */
function judgeBindings({ header, headerHash, manifest }, findings) {
  const { shards } = manifest;
  if (!isSame(manifest.checkpoint_hash, headerHash)) findings.add(`${MANIFEST}.checkpoint_hash`, "HASH_MISMATCH");
  if (repeatedOf(shards.map(({ path }) => path)).size === 0) judgeRoots(header, manifest, shards, findings);
  if (repeatedOf(shards.map(({ path }) => path)).size === 0) judgeIndex(manifest, shards, findings);
  judgePaths(shards.map(({ path }) => path), findings);
  judgePolicy(manifest, shards, findings);
}

/** The shards that a stage restores unless told otherwise: all to train, the parameters to eval and infer. */
function restoredByDefault(stage, shards) {
  const paths = shards.map(({ path }) => path);
  return stage === "train" ? paths : paths.filter((path) => path.startsWith("tensors/"));
}

function run(inputs) {
  const started = performance.now();
  const { root, name, stage, expected, shards: choice, verify } = inputs;
  const findings = new Findings();
  const tree = listPlace(root, name, findings);
  const base = join(root, name);
  judgeExpected(expected, DIGESTS, findings);
  const { content: headerBytes, item: header } = readDocument(base, HEADER, MAX_HEADER_BYTES, tree, findings);
  const { content: manifestBytes, item } = readDocument(base, MANIFEST, MAX_MANIFEST_BYTES, tree, findings);
  if (header !== undefined) judgeHeader(header, NEWEST, findings);
  const manifest = item === undefined ? undefined : readManifest(item, findings);
  findings.refuse(NAME, header);

  const headerHash = sha256(headerBytes);
  judgeDigests({ checkpoint_hash: headerHash, full_checkpoint_hash: sha256(manifestBytes) }, expected, findings);
  judgeBindings({ header, headerHash, manifest }, findings);
  const contents = readShards(base, manifest.shards, tree, findings);
  findings.refuse(NAME, header);

  const asked = choice ?? restoredByDefault(stage, manifest.shards);
  const components = requiredComponents(stage, manifest, header);
  judgeAccountant(manifest, header, findings);
  judgeContents(contents, header, findings);
  judgeComponents(components, asked, findings);
  judgeTrace(stage, manifest.shards, findings);
  if (choice !== undefined) judgeChoice(choice, manifest, findings);
  judgeIdentity(header, expected, findings);
  findings.refuse(NAME, header);

  const shardBytes = manifest.shards.reduce((sum, shard) => sum + Number(shard.size_bytes), 0);
  const size = headerBytes.length + manifestBytes.length + shardBytes;
  const profileId = restoreProfileId(stage, components);
  const step = verify === true ? "verify" : "restore";
  const report = reportOf(header, { checkpointHash: headerHash, step, size, started, profileId });
  const files = new Map([...contents].filter(([path]) => asked.includes(path)));
  return verify === true ? { report } : { report, header, files };
}

export const readContainer = {
  name: NAME,
  inputs: struct({
    root: string,
    name: string,
    stage: string,
    shards: optional(list(string)),
    expected: value,
    verify: optional(bool),
  }),
  outputs: struct({ report: REPORT, header: optional(value), files: optional(mapOf(bytes)) }),
  failure: FAILURE,
  run,
};
