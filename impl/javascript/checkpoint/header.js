/** Holds a header to its schema (requirements C01 to C05, C49; rulings CA10, CA13). */
import { encodeCanonical } from "../cbor.js";
import { itemFault } from "../serialization/profile.js";
import { HEADER_FIELDS } from "./schema.js";
import { IS_OF_TYPE, fieldOf, isNamedMap } from "./subject.js";
import { isCompatible, isNewerMinor, parseVersion } from "./versions.js";

// A field stands inside the header's map, and that inside the blob's array.
const DEPTH_IN_BLOB = 2;

export const MAX_HEADER_BYTES = 65_536;

/** Adds everything that is wrong with a header in the eyes of a reader; an unreadable reader version is undefined. */
export function judgeHeader(header, reader, findings) {
  if (!isNamedMap(header)) {
    findings.add("", "WRONG_TYPE");
    return;
  }
  const version = parseVersion(fieldOf(header, "checkpoint_schema_version"));
  const acceptsUnknown = version !== undefined && reader !== undefined && isNewerMinor(version, reader);
  judgePresence(header, findings);
  for (const [name, item] of header.entries) judgeField(name, item, acceptsUnknown, findings);
  if (typeof fieldOf(header, "checkpoint_schema_version") === "string") {
    if (version === undefined) findings.add("checkpoint_schema_version", "BAD_VERSION");
    else if (reader !== undefined && !isCompatible(version, reader)) {
      findings.add("checkpoint_schema_version", "INCOMPATIBLE_VERSION");
    }
  }
}

function judgePresence(header, findings) {
  const present = new Set(header.entries.map(([key]) => key));
  for (const [name, { optional }] of HEADER_FIELDS) {
    if (!optional && !present.has(name)) findings.add(name, "MISSING_FIELD");
  }
}

/** Adds a finding where the bytes of a well-formed header are too many; returns them. */
export function headerBytesOf(header, findings) {
  const bytes = encodeCanonical(header);
  if (bytes.length > MAX_HEADER_BYTES) findings.add("", "LIMIT_EXCEEDED");
  return bytes;
}

function judgeField(name, item, acceptsUnknown, findings) {
  const known = HEADER_FIELDS.get(name);
  const fault = itemFault(name) ?? itemFault(item, DEPTH_IN_BLOB);
  if (known === undefined && !acceptsUnknown) findings.add(name, "UNKNOWN_FIELD");
  else if (item === null) findings.add(name, "NULL_FIELD");
  else if (known !== undefined && !IS_OF_TYPE[known.type](item)) findings.add(name, "WRONG_TYPE");
  else if (fault !== undefined) findings.add(name, "NON_CANONICAL");
}
