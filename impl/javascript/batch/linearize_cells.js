/** Batch.LinearizeCells: the rows of each sequence as cells, row by row, cut or padded to one length (BA09, BA15). */
import { DEFAULT_FAILURE, defaultFailure } from "../errors.js";
import { list, struct, tensor, uint32, uint64List } from "../wire.js";
import { Cells } from "./cells.js";
import { databaseFault, lengthFault, sequencesFault } from "./faults.js";
import { numberedTables } from "./permutations.js";
import { DATABASE } from "./tensors.js";

const NAME = "Batch.LinearizeCells";

export const CELL_TENSORS = {
  semantic_types: tensor,
  column_ids: tensor,
  seq_row_ids: tensor,
  is_null: tensor,
  numeric_values: tensor,
  timestamp_values: tensor,
  bool_values: tensor,
  categorical_embed_ids: tensor,
  text_embed_ids: tensor,
  is_padding: tensor,
};

function run({ database, row_ids: rowIds, sequence_length: length }) {
  const rowCount = database.tables.reduce((count, table) => count + table.row_count, 0n);
  const fault = databaseFault(database) ?? lengthFault(length) ?? sequencesFault(rowCount, rowIds);
  if (fault !== undefined) throw defaultFailure(fault, NAME);
  const tables = numberedTables(database);
  const cells = new Cells(rowIds.length, Number(length));
  rowIds.forEach((ids, sequence) => cells.writeSequence(sequence, tables, Array.from(ids, Number)));
  return cells.tensors();
}

export const linearizeCells = {
  name: NAME,
  inputs: struct({ database: DATABASE, row_ids: list(uint64List), sequence_length: uint32 }),
  outputs: struct(CELL_TENSORS),
  failure: DEFAULT_FAILURE,
  run,
};
