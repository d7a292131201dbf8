/** UML_OS.Checkpoint.WriteContainer_v1: a checkpoint as a directory, whole or not there (seed 002 §II.G). */
import { mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256 } from "../digest.js";
import { bool, bytes, bytes32, list, mapOf, optional, string, struct, value } from "../wire.js";
import {
  HEADER,
  MANIFEST,
  containerNameFault,
  judgeContents,
  judgeIndex,
  judgeRoots,
  temporaryName,
} from "./container.js";
import { isFolder, kindAt, removeTree, syncDirectory, writeNewFile } from "./durable.js";
import {
  MAX_MANIFEST_BYTES,
  MAX_SHARDS,
  encodeManifest,
  judgeAccountant,
  judgePaths,
  judgePolicy,
  merkleRoot,
  sortedShards,
} from "./manifest.js";
import { FAILURE, Findings, TRACE_RECORD, recordOf } from "./reasons.js";
import { NEWEST, headerBytesOf, judgeHeader } from "./schema.js";

const NAME = "UML_OS.Checkpoint.WriteContainer_v1";

/** Refuses whatever is wrong with the form of place, header, paths and policy: nothing of it is hashed. */
function judgeForm({ root, name, header, files }, findings) {
  if (!isFolder(root)) findings.add("root", "BAD_PATH");
  const nameFault = containerNameFault(name);
  if (nameFault !== undefined) findings.add("name", nameFault);
  judgeHeader(header, NEWEST, findings);
  judgePaths([...files.keys()], findings);
  // The manifest would list more than it may.
  if (files.size > MAX_SHARDS) findings.add(`${MANIFEST}.shards`, "LIMIT_EXCEEDED");
  findings.refuse(NAME, header);
}

/** Adds everything else for which the container may not be written. */
function judge({ root, name, header, files, manifest }, shards, findings) {
  judgeAccountant(manifest, header, findings);
  judgePolicy(manifest, shards, findings);
  judgeRoots(header, manifest, shards, findings);
  judgeIndex(manifest, shards, findings);
  judgeContents(files, header, findings);
  if (kindAt(join(root, name)) !== undefined) findings.add("name", "TARGET_EXISTS");
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
  judgeForm(inputs, findings);
  const shards = sortedShards(
    Array.from(files, ([path, content]) => ({ path, sha256: sha256(content), size_bytes: BigInt(content.length) })),
  );
  judge(inputs, shards, findings);
  const headerBytes = headerBytesOf(header, findings);
  const checkpointHash = sha256(headerBytes);
  const checkpointRoot = merkleRoot(shards);
  const manifestBytes = encodeManifest(manifest, checkpointHash, checkpointRoot, shards);
  if (manifestBytes.length > MAX_MANIFEST_BYTES) findings.add(MANIFEST, "LIMIT_EXCEEDED");
  findings.refuse(NAME, header);
  const members = shards.map(({ path }) => [path, files.get(path)]);
  build(root, name, new Map([...members, [HEADER, headerBytes], [MANIFEST, manifestBytes]]));
  return {
    checkpoint_hash: checkpointHash,
    full_checkpoint_hash: sha256(manifestBytes),
    checkpoint_merkle_root: checkpointRoot,
    trace_record: recordOf(header, checkpointHash, "write"),
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
  outputs: struct({
    checkpoint_hash: bytes32,
    full_checkpoint_hash: bytes32,
    checkpoint_merkle_root: bytes32,
    trace_record: TRACE_RECORD,
  }),
  failure: FAILURE,
  run,
};
