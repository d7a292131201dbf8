/** The cells of a batch as Permutations and AttentionMasks see them: column, row and padding of every position. */
import { defaultFailure } from "../errors.js";
import { MOST } from "./faults.js";
import { isShapedLike, partsOf } from "./tensors.js";

/** One object per sequence: its positions, its rows, and whether one of its rows refers to another. */
export function sequencesOf({ column_ids: columns, seq_row_ids: rows, is_padding: padding, fk_adj: edges }, operator) {
  const [count, length] = columns.shape;
  const isOneShape = columns.shape.length === 2 && isShapedLike(rows, columns) && isShapedLike(padding, columns);
  const isSquare = edges.shape.length === 3 && edges.shape[0] === count && edges.shape[1] === edges.shape[2];
  if (!isOneShape || !isSquare) throw defaultFailure("CONTRACT_VIOLATION", operator);
  const size = edges.shape[1];
  if (length > MOST || size > MOST) throw defaultFailure("LIMIT_EXCEEDED", operator);
  const parts = [columns, rows, padding, edges].map(partsOf);
  const sequences = Array.from({ length: count }, (_, sequence) => {
    const [columnIds, rowIds, paddings, flags] = parts.map((part) => part[sequence]);
    return { length, columnIds, rowIds, paddings, refers: (from, to) => flags[from * size + to] === 1 };
  });
  const isOutside = ({ rowIds, paddings }) => rowIds.some((row, position) => !paddings[position] && row >= size);
  if (sequences.some(isOutside)) throw defaultFailure("CONTRACT_VIOLATION", operator);
  return sequences;
}
