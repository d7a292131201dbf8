/** The cells of a batch, position by position, in the tensors of the seed (seed 004 §1 to §3; BA15, BA17, BA19). */
import { score } from "./numbers.js";
import { tensorOf } from "./tensors.js";
import { WIDTH, encodeTimestamp } from "./timestamps.js";

/** All positions of all sequences; one that nothing was written to is padding. */
export class Cells {
  constructor(count, length) {
    this.shape = [count, length];
    const size = count * length;
    this.semantic_types = new Int8Array(size);
    this.column_ids = new Int32Array(size);
    this.seq_row_ids = new Uint16Array(size);
    this.is_null = new Uint8Array(size);
    this.numeric_values = new Float32Array(size);
    this.timestamp_values = new Float32Array(size * WIDTH);
    this.bool_values = new Uint8Array(size);
    this.categorical_embed_ids = new Uint32Array(size);
    this.text_embed_ids = new Uint32Array(size);
    this.is_target = new Uint8Array(size);
    this.is_padding = new Uint8Array(size).fill(1);
  }

  /** Writes the rows of a sequence, each with its columns in order, up to the sequence's end (ruling BA09). */
  writeSequence(sequence, tables, rowIds) {
    const [, length] = this.shape;
    let position = 0;
    for (const [seqRowId, rowIdx] of rowIds.entries()) {
      const table = tables.find(({ firstRow, rowCount }) => firstRow <= rowIdx && rowIdx < firstRow + rowCount);
      for (const column of table.cellColumns) {
        if (position === length) return;
        this.write(sequence * length + position, seqRowId, column, rowIdx - table.firstRow);
        position += 1;
      }
    }
  }

  /** Writes one cell: where it stands, and its value in the slot of its type; a null has none (requirement B15). */
  write(at, seqRowId, column, row) {
    this.is_padding[at] = 0;
    this.semantic_types[at] = column.code;
    this.column_ids[at] = column.id;
    this.seq_row_ids[at] = seqRowId;
    if (column.semantic_type === "identifier") return; // never null, and never a value
    if (column.nulls[row]) {
      this.is_null[at] = 1;
      return;
    }
    const value = column.values[row];
    switch (column.semantic_type) {
      case "numerical": this.numeric_values[at] = score(value, column.mean, column.deviation); break;
      case "timestamp": this.timestamp_values.set(encodeTimestamp(value, column), at * WIDTH); break;
      case "boolean": this.bool_values[at] = value; break;
      case "categorical": this.categorical_embed_ids[at] = Number(column.cat_emb_start) + value; break;
      case "text": this.text_embed_ids[at] = value; break;
    }
  }

  /** The tensors by name, without the target. */
  tensors() {
    const of = (dtype, name, shape = this.shape) => [name, tensorOf(dtype, shape, this[name])];
    return Object.fromEntries([
      of("int8", "semantic_types"),
      of("int32", "column_ids"),
      of("uint16", "seq_row_ids"),
      of("bool", "is_null"),
      of("float32", "numeric_values"),
      of("float32", "timestamp_values", [...this.shape, WIDTH]),
      of("bool", "bool_values"),
      of("uint32", "categorical_embed_ids"),
      of("uint32", "text_embed_ids"),
      of("bool", "is_padding"),
    ]);
  }
}
