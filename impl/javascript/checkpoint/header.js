/** Holds a header to its schema (requirements C01 to C05, C49; rulings CA10, CA13). */
import { Pairs } from "../cbor.js";
import { itemFault } from "../serialization/profile.js";
import { HEADER_FIELDS } from "./schema.js";
import { IS_OF_TYPE, fieldOf } from "./subject.js";
import { isCompatible, isNewerMinor, parseVersion } from "./versions.js";

// A field stands inside the header's map, and that inside the blob's array.
const DEPTH_IN_BLOB = 2;

/** Adds everything that is wrong with a header in the eyes of a reader; an unreadable reader version is undefined. */
export function judgeHeader(header, reader, findings) {
  if (!(header instanceof Pairs)) {
    findings.add("", "WRONG_TYPE");
    return;
  }
  const version = parseVersion(fieldOf(header, "checkpoint_schema_version"));
  const acceptsUnknown = version !== undefined && reader !== undefined && isNewerMinor(version, reader);
  judgePresence(header, findings);
  for (const [name, item] of firstOfEach(header, findings)) judgeField(name, item, acceptsUnknown, findings);
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

/** The fields by name, the first of several; a repeated key or one that is no text is not canonical. */
function firstOfEach(header, findings) {
  const fields = new Map();
  const repeated = new Set();
  for (const [key, item] of header.entries) {
    if (typeof key !== "string") repeated.add("");
    else if (fields.has(key)) repeated.add(key);
    else fields.set(key, item);
  }
  for (const name of repeated) findings.add(name, "NON_CANONICAL");
  return fields;
}

function judgeField(name, item, acceptsUnknown, findings) {
  const known = HEADER_FIELDS.get(name);
  const fault = itemFault(name) ?? itemFault(item, DEPTH_IN_BLOB);
  if (known === undefined && !acceptsUnknown) findings.add(name, "UNKNOWN_FIELD");
  else if (item === null) findings.add(name, "NULL_FIELD");
  else if (known !== undefined && !IS_OF_TYPE[known.type](item)) findings.add(name, "WRONG_TYPE");
  else if (fault !== undefined) findings.add(name, "NON_CANONICAL");
}
