/** Where one split stands: the file in hand, its next row, and what was handed out (requirements Q29, Q31, Q39). */
export class SplitReader {
  #file;
  #row = 0;
  #batch = 0;
  #handedOut = 0n;

  constructor(source) {
    this.source = source;
  }

  /** Whether the next batch does not wait. */
  isReady() {
    this.source.tidy();
    return this.#file !== undefined || this.source.isThere();
  }

  /** The fields of the next batch; undefined where no file is there. */
  next(size) {
    this.source.tidy();
    this.#file ??= this.source.take();
    if (this.#file === undefined) return undefined;
    const { fields, stop } = this.#file.batch(this.#row, size);
    this.#handedOut += 1n;
    this.#batch += 1;
    this.#row = stop;
    if (stop === this.#file.rowCount) {
      const finished = this.#file;
      this.#begin(undefined);
      this.source.finish(finished);
    }
    return fields;
  }

  #begin(file) {
    this.#file = file;
    this.#row = this.#batch = 0;
  }

  reset() {
    this.#begin(this.source.reset() ? undefined : this.#file);
  }

  stats({ high, low }) {
    const backlog = BigInt(this.source.backlog());
    const stats = {
      batches: this.#handedOut,
      files_loaded: this.source.counts.loaded,
      files_finished: this.source.counts.finished,
      files_quarantined: this.source.counts.quarantined,
      files_held: BigInt(this.source.held(this.#file)),
      files_undeleted: BigInt(this.source.undeleted),
      backlog,
      above_high: backlog > high,
      below_low: backlog <= low,
      current_batch: BigInt(this.#batch),
      current_row: BigInt(this.#row),
    };
    return this.#file === undefined ? stats : { ...stats, current_file: this.#file.name };
  }
}
