/** Batch.AttentionMasks: which position attends to which, by column and along keys (seed 004 §4; B29, B30). */
import { DEFAULT_FAILURE } from "../errors.js";
import { struct, tensor } from "../wire.js";
import { sequencesOf } from "./cells.js";
import { PLACED_CELLS, tensorOf } from "./tensors.js";

const NAME = "Batch.AttentionMasks";

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

function run(inputs) {
  const sequences = sequencesOf(inputs, NAME);
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

export const attentionMasks = {
  name: NAME,
  inputs: PLACED_CELLS,
  outputs: struct({ column_mask: tensor, outbound_mask: tensor, inbound_mask: tensor }),
  failure: DEFAULT_FAILURE,
  run,
};
