/** What is wrong with rows and sequences, in the order in which it is asked (seed 004; rulings BA28, B11). */

/** The most that a 16-bit id can count. */
export const MOST = 65_536;

/** DANGLING_KEY where a key leads to a row that does not exist. */
export function graphFault(rows) {
  const isDangling = (parent) => parent < -1 || parent >= rows.length;
  return rows.some(({ parents }) => parents.some(isDangling)) ? "DANGLING_KEY" : undefined;
}

/** What is wrong with the limits of a walk. */
export function configFault({ sequence_length: length, max_rows: maxRows }) {
  return lengthFault(length) ?? (maxRows === 0n ? "CONTRACT_VIOLATION" : undefined);
}

/** What is wrong with the length of sequences. */
export function lengthFault(length) {
  if (length === 0n) return "CONTRACT_VIOLATION";
  return length > MOST ? "LIMIT_EXCEEDED" : undefined;
}

/** What is wrong with the rows of sequences: they must exist, stand once, and be few enough. */
export function sequencesFault(rowCount, rowIds) {
  if (rowIds.some((ids) => ids.some((row) => row >= rowCount))) return "ROW_NOT_FOUND";
  if (rowIds.some((ids) => new Set(ids).size !== ids.length)) return "CONTRACT_VIOLATION";
  return rowIds.some((ids) => ids.length > MOST) ? "LIMIT_EXCEEDED" : undefined;
}
