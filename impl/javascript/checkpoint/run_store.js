/** The files of a run: immutable objects, one file per log record, one pointer (seed 002 §II.J; CA26, CA31). */
import { readdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../digest.js";
import {
  discard, ensureDirectory, kindAt, publish, publishOnce, readRegularFile, syncDirectory, syncFile,
} from "./durable.js";
import { temporaryName } from "./layout.js";
import { COMMITTED } from "./run_plan.js";

const MAX_RECORD_BYTES = 2 ** 16;
const MAX_OBJECT_BYTES = 2 ** 31 - 1;
const MAX_POINTER_BYTES = 2 ** 16;
const RECORD_NAME = /^[0-9]{20}\.rec$/;
const TEMPORARY_NAME = /^\.([0-9a-f]{64}|[0-9]{20}\.rec|COMMITTED)\.tmp$/;

export const objectPath = (hash) => `objects/${Buffer.from(hash).toString("hex")}`;
export const recordPath = (sequence) => `wal/${String(sequence).padStart(20, "0")}.rec`;

/** One run's directory. */
export class RunStore {
  constructor(root) {
    this.root = root;
  }

  at(path) {
    return join(this.root, path);
  }

  kind(path) {
    return kindAt(this.at(path));
  }

  /** The first of the run's folders and its pointer that is a link or anything else than it should be. */
  misplaced() {
    const isWrong = (path, kind) => this.kind(path) !== undefined && this.kind(path) !== kind;
    if (isWrong(COMMITTED, "file")) return COMMITTED;
    return ["objects", "wal"].find((path) => isWrong(path, "directory"));
  }

  makeFolders() {
    ensureDirectory(this.at("objects"));
    ensureDirectory(this.at("wal"));
  }

  /** The content of an object, if it is there and is what its name says; `isMissing` where nothing is there. */
  readObject(hash) {
    const content = readRegularFile(this.at(objectPath(hash)), MAX_OBJECT_BYTES);
    if (content === undefined) return { isMissing: this.kind(objectPath(hash)) !== "file" };
    return sha256(content).equals(hash) ? { content } : { isMissing: false };
  }

  /** Writes an object, durably, also where one stands under its name: that one may be torn. */
  writeObject(content) {
    const path = objectPath(sha256(content));
    publish(this.at(path), this.#temporary(path), content);
  }

  readRecord(sequence) {
    return readRegularFile(this.at(recordPath(sequence)), MAX_RECORD_BYTES);
  }

  /** How many records the log must have, by its highest number; a missing one among them is a gap. */
  recordCount() {
    if (this.kind("wal") === undefined) return 0;
    const names = readdirSync(this.at("wal")).filter((name) => RECORD_NAME.test(name));
    return names.reduce((count, name) => Math.max(count, Number(name.slice(0, -".rec".length)) + 1), 0);
  }

  /** Appends a record, durably; a record that is there already is the same one, of a run begun before. */
  appendRecord(sequence, framed) {
    const path = recordPath(sequence);
    if (this.kind(path) === undefined) {
      publish(this.at(path), this.#temporary(path), framed);
    } else {
      syncFile(this.at(path));
      syncDirectory(this.at("wal"));
    }
  }

  readPointer() {
    return readRegularFile(this.at(COMMITTED), MAX_POINTER_BYTES);
  }

  /** Creates the pointer, durably, by a link; false where there is one (ruling CA26). */
  createPointer(content) {
    return publishOnce(this.at(COMMITTED), this.#temporary(COMMITTED), content);
  }

  removePointer() {
    discard(this.at(COMMITTED));
    syncDirectory(this.root);
  }

  /** Makes durable the names that a killed process may have left in the cache, lest FINALIZE outlive the pointer. */
  settle() {
    for (const folder of ["objects", "wal", "."]) {
      if (this.kind(folder) === "directory") syncDirectory(this.at(folder));
    }
  }

  /** Removes the temporary files that a crash left; a directory is never one of them. */
  removeTemporaries() {
    for (const folder of ["objects", "wal", "."]) {
      if (this.kind(folder) !== "directory") continue;
      const names = readdirSync(this.at(folder)).filter((name) => TEMPORARY_NAME.test(name));
      const leftovers = names.map((name) => join(this.at(folder), name)).filter((path) => kindAt(path) !== "directory");
      for (const path of leftovers) unlinkSync(path);
      if (leftovers.length > 0) syncDirectory(this.at(folder));
    }
  }

  #temporary(path) {
    const parts = path.split("/");
    return this.at([...parts.slice(0, -1), temporaryName(parts.at(-1))].join("/"));
  }
}
