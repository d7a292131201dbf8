/** Whether a model and a source may go on together from a checkpoint (requirements S25-S28; rulings SA12-SA16). */
import { decode } from "../cbor.js";
import { ContractFailure, defaultFailure } from "../errors.js";
import { violationOf } from "../serialization/profile.js";
import { cursorOf, readCheckpoint } from "./checkpoint.js";
import { contentHash } from "./content_hash.js";
import { openSource } from "./open_source.js";
import { totalTokens } from "./stream.js";
import { UnusableFile } from "./token_file.js";

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

/** The pass that a random state stands in: the second element of [seed, pass]; 0 where it is none. */
function passIn(state) {
  if (state === undefined || violationOf(state) !== undefined) return 0n;
  const item = decode(state);
  const isState = Array.isArray(item) && item.length === 2 && typeof item[1] === "bigint" && item[1] >= 0n;
  return isState ? item[1] : 0n;
}

function isSameState(left, right) {
  return left === undefined || right === undefined ? left === right : Buffer.compare(left, right) === 0;
}

/** Whether a stream of this source can stand there: at the end only where it stops (ruling SA14). */
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
export function restore({ source: declaration, root, name, rank, world_size: worldSize }) {
  const checkpoint = readCheckpoint(root, name);
  if (checkpoint === undefined) throw refusal("CONTRACT_VIOLATION");
  const { model } = checkpoint;
  if (checkpoint.cursor === undefined) throw refusal("CURSOR_MISSING");
  const cursor = cursorOf(checkpoint.cursor);
  if (cursor === undefined) throw refusal("CONTRACT_VIOLATION");
  if (cursor.pulse_id !== model.pulse_id) throw mismatch(cursor.pulse_id, model.pulse_id);
  const source = open(declaration, root);
  try {
    return { model, source, cursor, ...judge(cursor, source, { rank, worldSize }) };
  } catch (error) {
    source.close();
    throw error;
  }
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
