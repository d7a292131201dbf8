/** Batch.BuildAdjacency: which row of a sequence refers to which (seed 004 §4; rulings BA11, BA13, BA28). */
import { DEFAULT_FAILURE, defaultFailure } from "../errors.js";
import { list, struct, tensor, uint64List } from "../wire.js";
import { graphFault, sequencesFault } from "./faults.js";
import { GRAPH_ROW, tensorOf } from "./tensors.js";

const NAME = "Batch.BuildAdjacency";

/** The matrices of all sequences, padded with false to the most rows of any, or to a fixed number (B20 to B22, BA37). */
export function adjacencyOf(rows, rowIds, fixedRows) {
  const longest = rowIds.reduce((found, ids) => Math.max(found, ids.length), 0);
  const most = fixedRows === undefined ? longest : Number(fixedRows);
  const flags = new Uint8Array(rowIds.length * most * most);
  rowIds.forEach((ids, sequence) => {
    const places = new Map(Array.from(ids, (row, place) => [Number(row), place]));
    for (const [row, from] of places) {
      for (const parent of rows[row].parents) {
        const to = places.get(parent);
        if (to !== undefined) flags[(sequence * most + from) * most + to] = 1;
      }
    }
  });
  return tensorOf("bool", [rowIds.length, most, most], flags);
}

function run({ rows, row_ids: rowIds }) {
  const fault = graphFault(rows) ?? sequencesFault(rows.length, rowIds);
  if (fault !== undefined) throw defaultFailure(fault, NAME);
  return { fk_adj: adjacencyOf(rows, rowIds) };
}

export const buildAdjacency = {
  name: NAME,
  inputs: struct({ rows: list(GRAPH_ROW), row_ids: list(uint64List) }),
  outputs: struct({ fk_adj: tensor }),
  failure: DEFAULT_FAILURE,
  run,
};
