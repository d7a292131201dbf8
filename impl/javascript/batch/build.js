/** Batch.Build: a whole batch, from seeds to tensors (seed 004; rulings BA16 to BA18, BA28, BA37). */
import { defaultFailure } from "../errors.js";
import { int64, list, optional, string, struct, tensor, uint64 } from "../wire.js";
import { ordersOf } from "./attention.js";
import { CELL_TENSORS, Cells, remap } from "./cells.js";
import { childrenOf, orderChildren, walk } from "./collect_rows.js";
import { MOST, configFault, databaseFault } from "./faults.js";
import { adjacencyOf, graphRows, numberedTables } from "./graph.js";
import { CONFIG, DATABASE, tensorOf } from "./tensors.js";

const NAME = "Batch.Build";
const TASK = struct({ table: string, column: string });
const SEED = struct({ row: uint64, time: optional(int64), task: optional(TASK) });

/** What is wrong with the seeds and the limits, once the task's table is known. */
function seedsFault(anchor, task, seeds, config) {
  const isOfTask = ({ task: own }) => own === undefined || (own.table === task.table && own.column === task.column);
  if (!seeds.every(isOfTask)) return "MIXED_TASKS";
  if (seeds.length === 0) return "CONTRACT_VIOLATION";
  return configFault(config) ?? (seeds.some(({ row }) => row >= anchor.rowCount) ? "ROW_NOT_FOUND" : undefined);
}

/** The place of the target among the cells of its row: the task's column, else the row's first cell (BA16). */
function targetPlace(anchor, task) {
  const place = anchor.cellColumns.findIndex(({ name }) => name === task.column);
  return place === -1 && anchor.cellColumns.length > 0 ? 0 : place;
}

function run({ database, task, seeds, config }) {
  const refuseIf = (fault) => {
    if (fault !== undefined) throw defaultFailure(fault, NAME);
  };
  refuseIf(databaseFault(database));
  const tables = numberedTables(database);
  const hasTask = ({ name, columns }) => name === task.table && columns.some((column) => column.name === task.column);
  const anchor = tables.find(hasTask);
  refuseIf(anchor === undefined ? "UNKNOWN_TABLE" : seedsFault(anchor, task, seeds, config));
  const length = Number(config.sequence_length);
  const place = targetPlace(anchor, task);
  refuseIf(place === -1 || place >= length ? "TARGET_TRUNCATED" : undefined);

  const rows = graphRows(tables);
  const children = orderChildren(childrenOf(rows), config.children_seed);
  const rowIds = seeds.map(({ row, time }) => {
    const seed = { row: BigInt(anchor.firstRow) + row, time };
    return [...walk(rows, children, seed, config).keys()];
  });
  refuseIf(rowIds.some((ids) => ids.length > MOST) ? "LIMIT_EXCEEDED" : undefined);
  const cells = new Cells(seeds.length, length);
  rowIds.forEach((ids, sequence) => {
    cells.writeSequence(sequence, tables, ids);
    cells.is_target[sequence * length + place] = 1; // its value stays: it is the truth
  });

  const tensors = cells.tensors();
  const adjacency = adjacencyOf(rows, rowIds, config.fixed_rows);
  const { row_order: _, ...orders } = ordersOf({ ...tensors, fk_adj: adjacency }, NAME);
  return {
    ...tensors,
    is_target: tensorOf("bool", cells.shape, cells.is_target),
    fk_adj: adjacency,
    ...orders,
    ...remap({ ...tensors, text_embeddings: database.text_embeddings }, NAME),
  };
}

export const build = {
  name: NAME,
  inputs: struct({ database: DATABASE, task: TASK, seeds: list(SEED), config: CONFIG }),
  outputs: struct({
    ...CELL_TENSORS,
    is_target: tensor,
    fk_adj: tensor,
    col_perm: tensor,
    out_perm: tensor,
    in_perm: tensor,
    text_batch_embeddings: tensor,
  }),
  run,
};
