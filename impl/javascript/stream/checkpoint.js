/** The checkpoint: model and cursor in one file, written as a whole (requirements S23, S24). */
import { join } from "node:path";
import { violationOf } from "../canonical.js";
import { Pairs, decode, encodeCanonical } from "../cbor.js";
import { isFolder, kindAt, publish, readRegularFile } from "../checkpoint/durable.js";
import { IS_OF_TYPE, isSame } from "../checkpoint/subject.js";
import { sha256 } from "../digest.js";
import { ContractFailure, defaultFailure } from "../errors.js";
import { openSource } from "./sources.js";
import { contentHash, totalTokens } from "./stream.js";
import { UnusableFile } from "./token_file.js";
import { CURSOR_FIELDS } from "./types.js";

const DOMAIN = "stream_checkpoint_v1";
const CONTENT_KEYS = ["model_pulse_id", "model_state", "stream_cursor"];
const MAX_NAME_BYTES = 240;
const MAX_UINT32 = 0xffffffffn;
/** Bytes of a checkpoint: no more are read or written (ruling SA23). */
const LARGEST_FILE = 2 ** 32;

/** Whether a file of that name can be in the root. */
function isUsable(root, name) {
  if (!isFolder(root) || name === "" || name === "." || name === "..") return false;
  if (name.includes("/") || name.includes("\0") || !name.isWellFormed()) return false;
  return Buffer.byteLength(name) <= MAX_NAME_BYTES && kindAt(join(root, name)) !== "directory";
}

const temporaryOf = (root, name) => join(root, `.${name}.tmp`);

/** Replaces the checkpoint of a name; false, and nothing done, where there is no place for it. */
export function writeCheckpoint(root, name, model, cursor) {
  if (!isUsable(root, name) || kindAt(temporaryOf(root, name)) === "directory") return false;
  const content = { model_pulse_id: model.pulse_id, model_state: model.state, stream_cursor: cursor };
  const checkpoint = encodeCanonical([DOMAIN, content, sha256(encodeCanonical(content))]);
  if (checkpoint.length > LARGEST_FILE) return false;
  publish(join(root, name), temporaryOf(root, name), checkpoint);
  return true;
}

/** The model, and the cursor's item if there is one, of a checkpoint; undefined for what is no checkpoint. */
function readCheckpoint(root, name) {
  const file = isUsable(root, name) ? readRegularFile(join(root, name), LARGEST_FILE) : undefined;
  if (file === undefined || violationOf(file) !== undefined) return undefined;
  const parts = decode(file);
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const [domain, content, digest] = parts;
  if (domain !== DOMAIN || !isSame(digest, sha256(encodeCanonical(content))) || !(content instanceof Pairs)) {
    return undefined;
  }
  const fields = new Map(content.entries);
  const isKnown = [...fields.keys()].every((key) => CONTENT_KEYS.includes(key));
  const pulseId = fields.get("model_pulse_id");
  const state = fields.get("model_state");
  if (!isKnown || !IS_OF_TYPE.uint64(pulseId) || !(state instanceof Uint8Array)) return undefined;
  return { model: { pulse_id: pulseId, state: Buffer.from(state) }, cursor: fields.get("stream_cursor") ?? undefined };
}

/** The cursor that an item is; undefined where a field is missing, unknown or of another type. */
function cursorOf(item) {
  if (!(item instanceof Pairs)) return undefined;
  const cursor = Object.fromEntries(item.entries);
  const isKnown = Object.keys(cursor).every((name) => Object.hasOwn(CURSOR_FIELDS, name));
  const isWhole = Object.entries(CURSOR_FIELDS).every(([name, type]) => isTyped(name, type, cursor[name]));
  return isKnown && isWhole ? cursor : undefined;
}

function isTyped(name, type, item) {
  if (item === undefined) return type.optional === true;
  if (name === "rng_state") return item instanceof Uint8Array;
  if (!IS_OF_TYPE.uint64(item)) return false;
  return (name !== "rank" && name !== "world_size") || item <= MAX_UINT32;
}

const NAME = "Stream.Restore";

/** Tokens of the longest chunk that is looked for where the data have no end. */
const LARGEST_CHUNK = 1048576n;

const refusal = (code) => defaultFailure(code, NAME);

function mismatch(streamPulse, modelPulse) {
  return new ContractFailure("STREAM_MODEL_MISMATCH", {
    failure_code: "STREAM_MODEL_MISMATCH",
    failure_operator: NAME,
    stream_pulse: streamPulse,
    model_pulse: modelPulse,
    message: "Model and stream are out of sync. Cannot resume.",
  });
}

/** Opens the source; what its files do not hold breaks the contract. */
function open(declaration, root) {
  try {
    return openSource(declaration, root);
  } catch (error) {
    throw error instanceof UnusableFile ? refusal("CONTRACT_VIOLATION") : error;
  }
}

/** The pass of a random state: the second element of [seed, pass]; 0 where it is none. */
function passIn(state) {
  if (state === undefined || violationOf(state) !== undefined) return 0n;
  const item = decode(state);
  const isState = Array.isArray(item) && item.length === 2 && typeof item[1] === "bigint" && item[1] >= 0n;
  return isState ? item[1] : 0n;
}

function isSameState(left, right) {
  return left === undefined || right === undefined ? left === right : Buffer.compare(left, right) === 0;
}

/** Whether a stream of this source can be there: at the end only where it stops (ruling SA14). */
function isInBounds(position, source) {
  const total = totalTokens(source);
  if (total === undefined || position < total || position === 0n) return true;
  return !source.wraps && position === total;
}

/** Whether the last chunk still reads as it did, in this pass or in an earlier one that the last round touched. */
function isContentKept(cursor, source, pass) {
  const { last_chunk_start: from, last_chunk_len: length, content_hash: expected, world_size: ranks } = cursor;
  const to = from + length;
  if (source.length === undefined ? length > LARGEST_CHUNK : to > source.length) return false;
  for (let back = 0n; back <= ranks && back <= pass; back += 1n) {
    if (contentHash(source.tokens(pass - back, from, to)) === expected) return true;
  }
  return false;
}

/** The parts of a restored stream: its model, source, cursor, pass, and whether the content was looked at. */
export function restore({ source: declaration, root, name, rank, world_size: worldSize, start = "continue" }) {
  const checkpoint = readCheckpoint(root, name);
  if (checkpoint === undefined) throw refusal("CONTRACT_VIOLATION");
  const { model } = checkpoint;
  if (checkpoint.cursor === undefined) throw refusal("CURSOR_MISSING");
  const cursor = cursorOf(checkpoint.cursor);
  if (cursor === undefined) throw refusal("CONTRACT_VIOLATION");
  if (cursor.pulse_id !== model.pulse_id) throw mismatch(cursor.pulse_id, model.pulse_id);
  const source = open(declaration, root);
  try {
    if (start !== "continue") return { model, source, ...begin(cursor, source, start) };
    return { model, source, cursor, ...judge(cursor, source, { rank, worldSize }) };
  } catch (error) {
    source.close();
    throw error;
  }
}

/** A cursor that has served nothing: at the source's first token, or where the saved one was (ruling SA24). */
function begin(saved, source, start) {
  const isWarm = start === "warm";
  const index = isWarm ? 0n : saved.dataset_index;
  if (!isInBounds(index, source)) throw refusal("POSITION_OUT_OF_BOUNDS");
  const nothing = { chunk_id: 0n, content_hash: 0n, last_chunk_start: 0n, last_chunk_len: 0n };
  const cursor = { ...nothing, dataset_index: index, pulse_id: saved.pulse_id };
  return { cursor, pass: isWarm ? 0n : passIn(saved.rng_state), contentChecked: false };
}

function judge(cursor, source, { rank, worldSize }) {
  if (cursor.total_tokens !== totalTokens(source)) throw refusal("DATASET_MISMATCH");
  const pass = passIn(cursor.rng_state);
  const isSamePlace = cursor.rank === rank && cursor.world_size === worldSize;
  if (!isSamePlace || !isSameState(cursor.rng_state, source.randomState(pass))) throw refusal("CONFIG_MISMATCH");
  if (cursor.chunk_id > 0n && (cursor.chunk_id - 1n) % worldSize !== rank) throw refusal("CONFIG_MISMATCH");
  if (!isInBounds(cursor.dataset_index, source)) throw refusal("POSITION_OUT_OF_BOUNDS");
  if (source.isSeekable && !isContentKept(cursor, source, pass)) throw refusal("CONTENT_MISMATCH");
  return { pass, contentChecked: source.isSeekable };
}
