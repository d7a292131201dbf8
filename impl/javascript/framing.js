/** Cuts a stream of chunks into whole messages: lines for JSON, items for CBOR. */

const NEWLINE = 0x0a;

/** The stream can no longer be cut into messages. */
export class FramingError extends Error {}

/** Cuts at newlines; a partial line is kept as its pieces, so a long line is joined once. */
export class LineFrames {
  constructor() {
    this.pieces = [];
  }

  /** Yields the lines that the chunk completes, without their newlines. */
  *push(chunk) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield this.#join(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.pieces.push(chunk.subarray(start));
  }

  /** Yields what stands after the last newline, at the end of the stream. */
  *end() {
    const line = this.#join(Buffer.alloc(0));
    if (line.length > 0) yield line;
  }

  #join(last) {
    if (this.pieces.length === 0) return last;
    const line = Buffer.concat([...this.pieces, last]);
    this.pieces = [];
    return line;
  }
}

/**
 * Cuts a CBOR sequence (RFC 8742) at the ends of its items.
 *
 * The scan is resumable: it remembers how many items are still open at each level, so that a message that comes
 * in a thousand chunks is walked once and not a thousand times.
 */
export class ItemFrames {
  constructor() {
    this.buffer = Buffer.alloc(1 << 16);
    this.length = 0;
    this.at = 0;
    // How many items are still due at each level; Infinity until a break ends an indefinite length.
    this.open = [1];
  }

  /** Yields the items that the chunk completes, valid until the next; raises FramingError where none can begin. */
  *push(chunk) {
    this.#append(chunk);
    let start = 0;
    while (this.#scan()) {
      yield this.buffer.subarray(start, this.at);
      start = this.at;
      this.open = [1];
    }
    this.buffer.copyWithin(0, start, this.length);
    this.length -= start;
    this.at -= start;
  }

  /** Yields an item that was cut off, at the end of the stream; its reader will say so. */
  *end() {
    if (this.length > 0) yield this.buffer.subarray(0, this.length);
  }

  #append(chunk) {
    if (this.length + chunk.length > this.buffer.length) {
      const larger = Buffer.alloc(2 * (this.length + chunk.length));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    chunk.copy(this.buffer, this.length);
    this.length += chunk.length;
  }

  /** Walks on, head by head; true when an item of the outermost level has ended. */
  #scan() {
    while (this.open.length > 0) {
      if (this.at >= this.length) return false;
      const initial = this.buffer[this.at];
      const info = initial & 31;
      const extra = info < 24 || info === 31 ? 0 : 1 << (info - 24);
      if (info > 27 && info < 31) throw new FramingError(`no CBOR item begins with ${initial.toString(16)}`);
      if (this.at + 1 + extra > this.length) return false;
      const argument = info < 24 ? info : this.#argument(extra);
      const major = initial >> 5;
      const content = (major === 2 || major === 3) && info !== 31 ? argument : 0;
      if (this.at + 1 + extra + content > this.length) return false;
      this.at += 1 + extra + content;
      this.#count(initial, major, info, argument);
    }
    return true;
  }

  #argument(extra) {
    if (extra === 0) return 0;
    if (extra === 8) return Number(this.buffer.readBigUInt64BE(this.at + 1));
    return this.buffer.readUIntBE(this.at + 1, extra);
  }

  /** Counts one head: it opens a level, or ends an item and every level that this completes. */
  #count(initial, major, info, argument) {
    const { open } = this;
    if (initial === 0xff) {
      if (open.pop() !== Infinity) throw new FramingError("a break outside an item of indefinite length");
    } else if (info === 31 && major >= 2 && major <= 5) {
      open.push(Infinity);
      return;
    } else if (major === 4 && argument > 0) {
      open.push(argument);
      return;
    } else if (major === 5 && argument > 0) {
      open.push(2 * argument);
      return;
    } else if (major === 6) {
      return;
    }
    while (open.length > 0) {
      open[open.length - 1] -= 1;
      if (open.at(-1) !== 0) return;
      open.pop();
    }
  }
}
