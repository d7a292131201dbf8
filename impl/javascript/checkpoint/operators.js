/** The operators of the checkpoint family. */
import { migrate } from "./migrate.js";
import { readContainer } from "./read_container.js";
import { restore } from "./restore.js";
import { serialize } from "./serialize.js";
import { validateSchema } from "./validate_schema.js";
import { writeContainer } from "./write_container.js";

export const CHECKPOINT_OPERATORS = [validateSchema, serialize, restore, writeContainer, readContainer, migrate];
