/** From a path to the batch file that stands there (requirements Q33, Q35; rulings QA14, QA15). */
import { kindAt, readRegularFile } from "../checkpoint/durable.js";
import { readBatchFile } from "./batch_file.js";
import { LoadedFile } from "./loaded_file.js";
import { Damaged, Refusal } from "./refusal.js";

/** An archive of 32-bit sizes is never larger; what is, need not be read to be known as damaged. */
const MOST_BYTES = 2 ** 32;
const UNREADABLE = ["EACCES", "EPERM", "EIO", "ELOOP"];

function contentAt(path) {
  try {
    return readRegularFile(path, MOST_BYTES);
  } catch (error) {
    // A file that memory has no room for is not to stop the others.
    if (error instanceof RangeError || error.code === "ENOENT" || UNREADABLE.includes(error.code)) return undefined;
    throw error;
  }
}

/**
 * The file at a path; undefined where there is nothing any more.
 *
 * Raises Damaged for what cannot be read, a folder or a link too, and SCHEMA_MISMATCH for a whole file of other fields.
 */
export function loadFile(path, name, schema, isLegacy) {
  const content = contentAt(path);
  if (content === undefined) {
    if (kindAt(path) === undefined) return undefined;
    throw new Damaged("no file that can be read");
  }
  const found = readBatchFile(content, schema, isLegacy);
  if (!found.isOfSchema) throw new Refusal("SCHEMA_MISMATCH");
  return new LoadedFile(name, found, schema);
}
