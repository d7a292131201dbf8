/** Batch.Permutations: orders in which what attends to each other stands together (seed 004 §4; BA23 to BA27). */
import { DEFAULT_FAILURE } from "../errors.js";
import { list, struct, tensor, uint32List } from "../types.js";
import { sequencesOf } from "./placed_cells.js";
import { rowOrder } from "./row_order.js";
import { tensorOf } from "./tensors.js";
import { PLACED_CELLS } from "./types.js";

const NAME = "Batch.Permutations";

/** The positions, those of padding last, otherwise by what `rank` says of them, then by position. */
function positionsBy({ length, paddings }, rank) {
  const byRank = (one, other) => paddings[one] - paddings[other] || rank(one) - rank(other) || one - other;
  return Array.from({ length }, (_, position) => position).sort(byRank);
}

/** The rows that own a position, ascending. */
function owners({ rowIds, paddings }) {
  return [...new Set(rowIds.filter((_, position) => !paddings[position]))].sort((one, other) => one - other);
}

/** The three permutations, and the order of the rows behind two of them. */
export function ordersOf(inputs, operator) {
  const sequences = sequencesOf(inputs, operator);
  const orders = sequences.map((sequence) => rowOrder(owners(sequence), sequence.refers));
  // Padding too stands by its column id, which is 0 unless somebody says otherwise (ruling BA23).
  const byColumn = sequences.map((one) => positionsBy(one, (position) => one.columnIds[position]));
  const byRow = sequences.map((one, sequence) => {
    const ranks = new Map(orders[sequence].map((row, rank) => [row, rank]));
    return positionsBy(one, (position) => (one.paddings[position] ? 0 : ranks.get(one.rowIds[position])));
  });
  const tensorOfAll = (permutations) => tensorOf("uint16", inputs.column_ids.shape, permutations.flat());
  return {
    col_perm: tensorOfAll(byColumn),
    out_perm: tensorOfAll(byRow),
    in_perm: tensorOfAll(byRow), // the same: bandwidth does not change by transposing
    row_order: orders.map((order) => Uint32Array.from(order)),
  };
}

export const permutations = {
  name: NAME,
  inputs: PLACED_CELLS,
  outputs: struct({ col_perm: tensor, out_perm: tensor, in_perm: tensor, row_order: list(uint32List) }),
  failure: DEFAULT_FAILURE,
  run: (inputs) => ordersOf(inputs, NAME),
};
