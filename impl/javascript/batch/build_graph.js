/** Batch.BuildGraph: every row of a database with its keys, its time and its cells (seed 004 §4; BA02, BA08). */
import { DEFAULT_FAILURE, defaultFailure } from "../errors.js";
import { list, struct } from "../wire.js";
import { databaseFault } from "./faults.js";
import { graphRows, numberedTables } from "./permutations.js";
import { DATABASE, GRAPH_ROW } from "./tensors.js";

const NAME = "Batch.BuildGraph";

function run({ database }) {
  const fault = databaseFault(database);
  if (fault !== undefined) throw defaultFailure(fault, NAME);
  return { rows: graphRows(numberedTables(database)) };
}

export const buildGraph = {
  name: NAME,
  inputs: struct({ database: DATABASE }),
  outputs: struct({ rows: list(GRAPH_ROW) }),
  failure: DEFAULT_FAILURE,
  run,
};
