/** Reads canonical bytes that may be anything at all. */
import { decode } from "../cbor.js";
import { violationOf } from "../serialization/profile.js";

/** The item that the bytes hold; undefined, with a finding, where they are not canonical. */
export function readCanonical(content, fieldPath, findings) {
  const violation = violationOf(content);
  if (violation === undefined) return decode(content);
  findings.add(fieldPath, "NON_CANONICAL");
  return undefined;
}
