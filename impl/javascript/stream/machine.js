/** The machine `Stream`: every method, over the streams that are open in this process. */
import { defaultFailure } from "../errors.js";
import { HANDLE, Machine } from "../machine.js";
import { bool, list, optional, string, uint32, uint64, uint64List } from "../wire.js";
import { restore, writeCheckpoint } from "./checkpoint.js";
import { isSchedule, warningsFor } from "./frequencies.js";
import { InteractiveSource, isComplete, openSource } from "./sources.js";
import { Stream } from "./stream.js";
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
  const chunk = stream.nextChunk(size);
  const warnings = warningsFor(size, stream.frequencies);
  return chunk === undefined ? { warnings } : { chunk, warnings };
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
const RESTORED = { ...HANDLE, model: MODEL, content_checked: bool };

export const STREAM_METHODS = [
  streams.method("Open", { source: SOURCE, ...PLACE, root: optional(string) }, HANDLE, openStream),
  streams.method("Restore", { source: SOURCE, root: string, name: string, ...PLACE }, RESTORED, restoreStream),
  streams.handled("NextChunk", { chunk_size: uint64 }, { chunk: optional(CHUNK), warnings: list(string) }, nextChunk),
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
  streams.handled("Checkpoint", { root: string, name: string, model: MODEL }, {}, checkpoint),
  streams.handled("Close", {}, {}, close),
];
