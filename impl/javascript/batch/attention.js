/** Which position attends to which, and orders in which what attends to each other is together (seed 004 §4). */
import { compareBytewise } from "../digest.js";
import { list, struct, tensor, uint32List } from "../wire.js";
import { sequencesOf } from "./cells.js";
import { PLACED_CELLS, elements, tensorOf } from "./tensors.js";

/** The reverse Cuthill-McKee order of rows that refer to each other (requirement B28; rulings BA24 to BA26). */

/** The rows, ordered so that neighbours are close together; a key counts in both directions, one to itself never. */
function rowOrder(rows, refers) {
  const neighbours = new Map(
    rows.map((row) => [row, rows.filter((other) => other !== row && (refers(row, other) || refers(other, row)))]),
  );
  const byDegree = (one, other) => neighbours.get(one).length - neighbours.get(other).length || one - other;
  const marked = new Set();
  const order = [];
  for (const start of rows.toSorted(byDegree)) {
    if (marked.has(start)) continue;
    marked.add(start);
    const queue = [start];
    for (const row of queue) {
      order.push(row);
      for (const neighbour of neighbours.get(row).toSorted(byDegree)) {
        if (marked.has(neighbour)) continue;
        marked.add(neighbour);
        queue.push(neighbour);
      }
    }
  }
  return order.reverse();
}

const PERMUTATIONS = "Batch.Permutations";

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
  // Padding is ordered by its column id too, which is 0 unless the caller gives another (ruling BA23).
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

/** Batch.Permutations: orders in which what attends to each other is together (seed 004 §4; BA23 to BA27). */
export const permutations = {
  name: PERMUTATIONS,
  inputs: PLACED_CELLS,
  outputs: struct({ col_perm: tensor, out_perm: tensor, in_perm: tensor, row_order: list(uint32List) }),
  run: (inputs) => ordersOf(inputs, PERMUTATIONS),
};

const ATTENTION_MASKS = "Batch.AttentionMasks";

/** The mask of one sequence: `attends` of every pair of positions of which neither is padding. */
function maskOf({ length, paddings }, attends) {
  const mask = new Uint8Array(length * length);
  for (let i = 0; i < length; i += 1) {
    for (let j = 0; j < length; j += 1) {
      if (!paddings[i] && !paddings[j] && attends(i, j)) mask[i * length + j] = 1;
    }
  }
  return mask;
}

function runMasks(inputs) {
  const sequences = sequencesOf(inputs, ATTENTION_MASKS);
  const [count, length] = inputs.column_ids.shape;
  const masks = (attends) => {
    const parts = sequences.map((one) => maskOf(one, (i, j) => attends(one, i, j)));
    return tensorOf("bool", [count, length, length], new Uint8Array(Buffer.concat(parts)));
  };
  return {
    column_mask: masks(({ columnIds }, i, j) => columnIds[i] === columnIds[j]),
    outbound_mask: masks(({ rowIds, refers }, i, j) => rowIds[i] === rowIds[j] || refers(rowIds[i], rowIds[j])),
    inbound_mask: masks(({ rowIds, refers }, i, j) => refers(rowIds[j], rowIds[i])),
  };
}

/** Batch.AttentionMasks: which position attends to which, by column and along keys (seed 004 §4; B29, B30). */
export const attentionMasks = {
  name: ATTENTION_MASKS,
  inputs: PLACED_CELLS,
  outputs: struct({ column_mask: tensor, outbound_mask: tensor, inbound_mask: tensor }),
  run: runMasks,
};
