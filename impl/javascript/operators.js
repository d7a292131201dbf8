/**
 * Every operator that this backend answers, by its method name.
 *
 * An operator is an object: `name`, the types of its `inputs` and `outputs`, that of its `failure` record where it is
 * not the default one, and `run`, which takes the inputs and returns the outputs or throws a ContractFailure. A machine
 * has a `name` and `methods`, which are such objects too.
 */
import { attentionMasks, permutations } from "./batch/attention.js";
import { build } from "./batch/build.js";
import { linearizeCells, remapText } from "./batch/cells.js";
import { collectRows } from "./batch/collect_rows.js";
import { buildAdjacency, buildGraph } from "./batch/graph.js";
import { encodeCanonical, validateCanonical } from "./canonical.js";
import { migrate, restore, serialize, validateSchema } from "./checkpoint/blob.js";
import { readContainer } from "./checkpoint/read_container.js";
import { commitRun, recoverRun } from "./checkpoint/run.js";
import { writeContainer } from "./checkpoint/write_container.js";
import { seededBlockPermute, seededIntraBlockMap } from "./data/blocks.js";
import { decodeCursors, encodeCursors } from "./data/cursors.js";
import { nextBatch } from "./data/next_batch.js";
import { summarizeRun } from "./data/summarize_run.js";
import { emit } from "./emit.js";
import { CONSUMER_MACHINE, PROVIDER_MACHINE } from "./pipeline/machines.js";
import { STREAM_MACHINE } from "./stream/machine.js";
import { firingCounts } from "./stream/stream.js";

const operators = [
  nextBatch,
  seededBlockPermute,
  seededIntraBlockMap,
  summarizeRun,
  encodeCursors,
  decodeCursors,
  emit,
  encodeCanonical,
  validateCanonical,
  validateSchema,
  serialize,
  restore,
  writeContainer,
  readContainer,
  commitRun,
  recoverRun,
  migrate,
  firingCounts,
  buildGraph,
  collectRows,
  linearizeCells,
  buildAdjacency,
  permutations,
  remapText,
  attentionMasks,
  build,
];
const MACHINES = [PROVIDER_MACHINE, CONSUMER_MACHINE, STREAM_MACHINE];
const methods = MACHINES.flatMap((machine) => machine.methods);

/** Everything that can be called: the operators, and the methods of the machines. */
export const OPERATORS = new Map([...operators, ...methods].map((operator) => [operator.name, operator]));

/** What hello says: the operators, and the machines, each of which promises all its methods. */
export const ANNOUNCED = [...operators, ...MACHINES].map(({ name }) => name);
