/** The operators of the checkpoint family. */
import { commitRun } from "./commit_run.js";
import { migrate } from "./migrate.js";
import { readContainer } from "./read_container.js";
import { recoverRun } from "./recover_run.js";
import { restore } from "./restore.js";
import { serialize } from "./serialize.js";
import { validateSchema } from "./validate_schema.js";
import { writeContainer } from "./write_container.js";

export const CHECKPOINT_OPERATORS = [
  validateSchema,
  serialize,
  restore,
  writeContainer,
  readContainer,
  commitRun,
  recoverRun,
  migrate,
];
