/** The checkpoint: model and cursor in one file, written as a whole (requirements S23, S24). */
import { join } from "node:path";
import { Pairs, decode, encodeCanonical } from "../cbor.js";
import { isFolder, kindAt, publish, readRegularFile } from "../checkpoint/durable.js";
import { IS_OF_TYPE, isSame } from "../checkpoint/subject.js";
import { sha256 } from "../digest.js";
import { violationOf } from "../serialization/profile.js";
import { CURSOR_FIELDS } from "./types.js";

const DOMAIN = "stream_checkpoint_v1";
const CONTENT_KEYS = ["model_pulse_id", "model_state", "stream_cursor"];
const MAX_NAME_BYTES = 240;
const MAX_UINT32 = 0xffffffffn;

/** Whether a file of that name can stand in the root. */
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
  publish(join(root, name), temporaryOf(root, name), checkpoint);
  return true;
}

/** The model, and the cursor's item if there is one, of a checkpoint; undefined for what is no checkpoint. */
export function readCheckpoint(root, name) {
  const file = isUsable(root, name) ? readRegularFile(join(root, name), Number.MAX_SAFE_INTEGER) : undefined;
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
export function cursorOf(item) {
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
