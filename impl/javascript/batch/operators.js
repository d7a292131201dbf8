/** The operators of the batch family that this backend has. */
import { attentionMasks } from "./attention_masks.js";
import { build } from "./build.js";
import { buildAdjacency } from "./build_adjacency.js";
import { buildGraph } from "./build_graph.js";
import { collectRows } from "./collect_rows.js";
import { linearizeCells } from "./linearize_cells.js";
import { permutations } from "./permutations.js";
import { remapText } from "./remap_text.js";

export const BATCH_OPERATORS = [
  buildGraph,
  collectRows,
  linearizeCells,
  buildAdjacency,
  permutations,
  remapText,
  attentionMasks,
  build,
];
