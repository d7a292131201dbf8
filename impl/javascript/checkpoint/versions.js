/** Versions of the checkpoint schema: "MAJOR.MINOR.PATCH", integers without leading zeros (ruling CA14). */

// Nineteen digits always fit into 64 bits.
const FORM = /^(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})$/;

/** The three integers as decimal digits; undefined for any other text. */
export function parseVersion(text) {
  const match = typeof text === "string" ? FORM.exec(text) : null;
  return match === null ? undefined : { major: match[1], minor: match[2], patch: match[3] };
}

/** Compares two integers of any size by their digits. */
function compareDigits(left, right) {
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : Number(left > right);
}

/** Whether a reader of one version may read a header of the other: the MAJOR must be its own (requirement C05). */
export function isCompatible(version, reader) {
  return version.major === reader.major;
}

/** Whether a header may hold fields that the reader does not know (requirement C04; ruling CA13). */
export function isNewerMinor(version, reader) {
  return isCompatible(version, reader) && compareDigits(version.minor, reader.minor) > 0;
}

/** Whether two versions differ in nothing but their PATCH. */
export function isSameMinor(version, reader) {
  return isCompatible(version, reader) && version.minor === reader.minor;
}
