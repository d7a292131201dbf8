/** The operators of the data family. */
import { decodeCursors } from "./decode_cursors.js";
import { encodeCursors } from "./encode_cursors.js";
import { nextBatch } from "./next_batch.js";
import { seededBlockPermute } from "./seeded_block_permute.js";
import { seededIntraBlockMap } from "./seeded_intra_block_map.js";
import { summarizeRun } from "./summarize_run.js";

export const DATA_OPERATORS = [
  nextBatch,
  seededBlockPermute,
  seededIntraBlockMap,
  summarizeRun,
  encodeCursors,
  decodeCursors,
];
