/** A batch file in memory, and the batches that are cut from it (requirements Q29, Q30; rulings QA07 to QA09). */
export class LoadedFile {
  constructor(name, { batches, rowCount, tensors }, schema) {
    this.name = name;
    this.batches = batches;
    this.rowCount = rowCount;
    this.tensors = schema.map((field) => ({ field: field.name, ...tensors.get(field.name) }));
  }

  /** The batch that begins at a row, a short one repeated in a circle, and the row at which it stops. */
  batch(start, size) {
    const stop = Math.min(start + size, this.rowCount);
    const fields = this.tensors.map(({ field, dtype, shape, data }) => {
      const width = data.length / this.rowCount;
      const rows = data.subarray(start * width, stop * width);
      const filled = stop - start === size ? rows : Buffer.alloc(size * width, rows);
      return { name: field, tensor: { dtype, shape: [size, ...shape.slice(1)], data: filled } };
    });
    return { fields, stop };
  }
}
