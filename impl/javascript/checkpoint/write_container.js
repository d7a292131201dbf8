/** UML_OS.Checkpoint.WriteContainer_v1: a checkpoint as a directory, whole or not there (seed 002 §II.G). */
import { mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { encodeCanonical } from "../cbor.js";
import { sha256 } from "../digest.js";
import { bool, bytes, bytes32, list, mapOf, optional, string, struct, value } from "../types.js";
import { isFolder, kindAt, removeTree, syncDirectory, writeNewFile } from "./durable.js";
import { judgeHeader } from "./header.js";
import { HEADER, LINK, MANIFEST, containerNameFault, shardPathFault, temporaryName } from "./layout.js";
import { judgeLink } from "./link.js";
import { encodeManifest } from "./manifest.js";
import { merkleRoot, sortedShards } from "./merkle.js";
import { FAILURE, Findings } from "./reasons.js";
import { judgeRoots } from "./roots.js";
import { NEWEST } from "./schema.js";

const NAME = "UML_OS.Checkpoint.WriteContainer_v1";

/** Adds everything for which the container may not be written. */
function judge({ root, name, header, files, manifest }, shards, findings) {
  judgeHeader(header, NEWEST, findings);
  judgeRoots(header, manifest, shards, findings);
  for (const path of files.keys()) {
    const fault = shardPathFault(path);
    if (fault !== undefined) findings.add(path, fault);
  }
  if (files.has(LINK)) judgeLink(files.get(LINK), header, findings);
  const nameFault = containerNameFault(name);
  if (nameFault !== undefined) findings.add("name", nameFault);
  if (!isFolder(root)) findings.add("root", "BAD_PATH");
  else if (nameFault === undefined && kindAt(join(root, name)) !== undefined) findings.add("name", "TARGET_EXISTS");
}

/** Every folder above the paths, each before what it holds. */
function foldersOf(paths) {
  const folders = new Set();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].toSorted();
}

/** Builds the container under another name and renames it; every step is durable before the next relies on it. */
function build(root, name, contents) {
  const temporary = join(root, temporaryName(name));
  if (kindAt(temporary) !== undefined) {
    removeTree(temporary);
    syncDirectory(root);
  }
  const folders = foldersOf(contents.keys());
  mkdirSync(temporary);
  for (const folder of folders) mkdirSync(join(temporary, folder));
  for (const [path, content] of contents) writeNewFile(join(temporary, path), content);
  for (const folder of folders.toReversed()) syncDirectory(join(temporary, folder));
  syncDirectory(temporary);
  renameSync(temporary, join(root, name));
  syncDirectory(root);
}

function run(inputs) {
  const { root, name, header, files, manifest } = inputs;
  const findings = new Findings();
  const shards = sortedShards(
    Array.from(files, ([path, content]) => ({ path, sha256: sha256(content), size_bytes: BigInt(content.length) })),
  );
  judge(inputs, shards, findings);
  findings.refuse(NAME, header);
  const headerBytes = encodeCanonical(header);
  const checkpointHash = sha256(headerBytes);
  const checkpointRoot = merkleRoot(shards);
  const manifestBytes = encodeManifest(manifest, checkpointHash, checkpointRoot, shards);
  const members = shards.map(({ path }) => [path, files.get(path)]);
  build(root, name, new Map([...members, [HEADER, headerBytes], [MANIFEST, manifestBytes]]));
  return {
    checkpoint_hash: checkpointHash,
    full_checkpoint_hash: sha256(manifestBytes),
    checkpoint_merkle_root: checkpointRoot,
  };
}

export const writeContainer = {
  name: NAME,
  inputs: struct({
    root: string,
    name: string,
    header: value,
    files: mapOf(bytes),
    manifest: struct({
      dataset_snapshot_id: string,
      artifact_index_hash: bytes32,
      dp_enabled: optional(bool),
      partial_restore: optional(list(string)),
      weights_manifest_hash: optional(bytes32),
      optimizer_manifest_hash: optional(bytes32),
      dp_accountant_manifest_hash: optional(bytes32),
    }),
  }),
  outputs: struct({ checkpoint_hash: bytes32, full_checkpoint_hash: bytes32, checkpoint_merkle_root: bytes32 }),
  failure: FAILURE,
  run,
};
