/** Chunk sizes against the CMS schedule: which levels fire, and how often (requirements S10-S14; ruling SA20). */
import { DEFAULT_FAILURE, defaultFailure } from "../errors.js";
import { string, struct, optional, uint64, uint64List } from "../wire.js";

const NAME = "Stream.FiringCounts";
const MAX_UINT64 = (1n << 64n) - 1n;

/** Whether there is at least one level and none of them fires after zero tokens. */
export function isSchedule(frequencies) {
  return frequencies.length > 0 && !frequencies.includes(0n);
}

/** Whether a chunk is so small that the first level does not fire in it. */
export function isBelowFirst(chunkSize, frequencies) {
  return chunkSize < 1n || chunkSize < frequencies[0];
}

/** The warnings that a legal chunk size deserves. */
export function warningsFor(chunkSize, frequencies) {
  const slowest = frequencies.reduce((most, frequency) => (frequency > most ? frequency : most));
  const warnings = [];
  if (chunkSize < slowest) warnings.push("CHUNK_BELOW_MAX_FREQUENCY");
  if (chunkSize % slowest !== 0n) warnings.push("CHUNK_NOT_MULTIPLE");
  return warnings;
}

/** How often one level fires while the clock runs from `clock` to `clock + size`. */
function byTokens(clock, size, frequency) {
  // After `due` more tokens it fires for the first time, then after each further `frequency`.
  const due = frequency - (clock % frequency);
  return size < due ? 0n : 1n + (size - due) / frequency;
}

function byStep(step, size, frequency) {
  return step % frequency === 0n || size >= frequency ? 1n : 0n;
}

function run({ clock, chunk_size: size, cms_frequencies: frequencies, variant }) {
  if (!isSchedule(frequencies)) throw defaultFailure("CONTRACT_VIOLATION", NAME);
  if (size === 0n) throw defaultFailure("CHUNK_TOO_SMALL", NAME);
  const isStep = variant === "step";
  if (!isStep && size > MAX_UINT64 - clock) throw defaultFailure("COUNTER_OVERFLOW", NAME);
  const count = isStep ? byStep : byTokens;
  return { counts: frequencies.map((frequency) => count(clock, size, frequency)) };
}

export const firingCounts = {
  name: NAME,
  inputs: struct({ clock: uint64, chunk_size: uint64, cms_frequencies: uint64List, variant: optional(string) }),
  outputs: struct({ counts: uint64List }),
  failure: DEFAULT_FAILURE,
  run,
};
