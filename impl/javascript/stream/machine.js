/** The machine `Stream`: every method, over the streams that are open in this process. */
import { defaultFailure } from "../errors.js";
import { HANDLE, Machine } from "../machine.js";
import { bool, list, optional, string, uint32, uint64, uint64List } from "../wire.js";
import { restore, writeCheckpoint } from "./checkpoint.js";
import { InteractiveSource, isComplete, openSource } from "./sources.js";
import { Stream, isSchedule, warningsFor } from "./stream.js";
import { ItemWanted, NoSuchPlace, SuppliedSource } from "./supplied.js";
import { UnusableFile } from "./token_file.js";
import { CHUNK, CURSOR, FAILURE, MODEL, SOURCE, tokenList } from "./types.js";

const streams = new Machine("Stream", FAILURE);

const violation = (operator) => defaultFailure("CONTRACT_VIOLATION", operator);

function judgeInputs({ source, rank, world_size: worldSize, cms_frequencies: frequencies }, name) {
  if (rank >= worldSize || !isSchedule(frequencies) || !isComplete(source)) throw violation(name);
}

function streamOver(source, { rank, world_size: worldSize, cms_frequencies: frequencies }) {
  return new Stream(source, { rank, worldSize, frequencies });
}

function openStream(inputs, name) {
  judgeInputs(inputs, name);
  try {
    return { handle: streams.keep(streamOver(openSource(inputs.source, inputs.root), inputs)) };
  } catch (error) {
    throw error instanceof UnusableFile ? violation(name) : error;
  }
}

function restoreStream(inputs, name) {
  judgeInputs(inputs, name);
  const { model, source, cursor, pass, contentChecked } = restore(inputs);
  const stream = streamOver(source, inputs);
  stream.resume(cursor, pass);
  return { handle: streams.keep(stream), model, content_checked: contentChecked };
}

function nextChunk(stream, { chunk_size: size }) {
  const warnings = warningsFor(size, stream.frequencies);
  try {
    const chunk = stream.nextChunk(size);
    return chunk === undefined ? { warnings } : { chunk, warnings };
  } catch (error) {
    if (error instanceof ItemWanted) return { warnings, wants_item: true };
    throw error;
  }
}

function inputOf(stream, name) {
  if (!(stream.source instanceof InteractiveSource)) throw violation(name);
  return stream.source;
}

function push(stream, { tokens, boundary }, name) {
  const input = inputOf(stream, name);
  if (input.hasEnded) throw violation(name);
  input.push(tokens, boundary);
  return {};
}

function endInput(stream, inputs, name) {
  inputOf(stream, name).hasEnded = true;
  return {};
}

/** The iterator that has been asked for an item; a call without that breaks the contract. */
function askedOf({ source }, name) {
  if (!(source instanceof SuppliedSource) || !source.isAsked) throw violation(name);
  return source;
}

function supply(stream, { tokens }, name) {
  askedOf(stream, name).supply(tokens);
  return {};
}

function endPass(stream, inputs, name) {
  try {
    askedOf(stream, name).endPass();
  } catch (error) {
    throw error instanceof NoSuchPlace ? defaultFailure("POSITION_OUT_OF_BOUNDS", name) : error;
  }
  return {};
}

function checkpoint(stream, { root, name: file, model }, name) {
  if (stream.isStepOpen) throw defaultFailure("CHECKPOINT_MID_STEP", name);
  if (!writeCheckpoint(root, file, model, stream.cursor())) throw violation(name);
  return {};
}

function close(stream, { handle }) {
  streams.drop(handle);
  stream.source.close();
  return {};
}

const PLACE = { rank: uint32, world_size: uint32, cms_frequencies: uint64List };
const SERVED = { chunk: optional(CHUNK), warnings: list(string), wants_item: optional(bool) };
const RESTORED = { ...HANDLE, model: MODEL, content_checked: bool };

const methods = [
  streams.method("Open", { source: SOURCE, ...PLACE, root: optional(string) }, HANDLE, openStream),
  streams.method("Restore", { source: SOURCE, root: string, name: string, ...PLACE, start: optional(string) }, RESTORED, restoreStream),
  streams.handled("NextChunk", { chunk_size: uint64 }, SERVED, nextChunk),
  streams.handled("Advance", { pulse_id: uint64 }, {}, (stream, { pulse_id: pulseId }) => {
    stream.advance(pulseId);
    return {};
  }),
  streams.handled("Reset", {}, {}, (stream) => {
    stream.reset();
    return {};
  }),
  streams.handled("Position", {}, { position: uint64 }, (stream) => ({ position: stream.place.index })),
  streams.handled("Cursor", {}, { cursor: CURSOR }, (stream) => ({ cursor: stream.cursor() })),
  streams.handled("Push", { tokens: tokenList, boundary: bool }, {}, push),
  streams.handled("EndInput", {}, {}, endInput),
  streams.handled("Supply", { tokens: tokenList }, {}, supply),
  streams.handled("EndPass", {}, {}, endPass),
  streams.handled("Checkpoint", { root: string, name: string, model: MODEL }, {}, checkpoint),
  streams.handled("Close", {}, {}, close),
];

export const STREAM_MACHINE = { name: "Stream", methods };
