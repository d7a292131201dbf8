/** What somebody says, token by token; nobody can say it again (requirement S18). */
export class InteractiveSource {
  isSeekable = false;
  wraps = false;

  constructor() {
    this.base = 0n;
    this.said = [];
    this.breakOffsets = new Set();
    this.hasEnded = false;
  }

  get heard() {
    return this.base + BigInt(this.said.length);
  }

  /** Where the data end, as far as anybody knows: what was not said yet may be said. */
  get length() {
    return this.heard;
  }

  get totalTokens() {
    return undefined;
  }

  push(tokens, isBreak) {
    for (const token of tokens) this.said.push(token);
    if (isBreak) this.breakOffsets.add(this.heard);
  }

  isReady(wanted) {
    return this.hasEnded || this.heard >= wanted;
  }

  tokens(pass, from, to) {
    const tokens = Uint32Array.from(this.said.slice(Number(from - this.base), Number(to - this.base)));
    this.forget(to);
    return tokens;
  }

  breaks(pass, from, to) {
    if (to > from && this.hasEnded && to === this.heard) return true;
    return [...this.breakOffsets].some((offset) => from < offset && offset <= to);
  }

  forget(to) {
    this.said.splice(0, Number(to - this.base));
    this.base = to;
  }

  randomState() {
    return undefined;
  }

  /** What was said and not served is the beginning of the new context. */
  restart(position) {
    this.forget(position);
    this.resume(0n);
  }

  resume(position) {
    const shift = position - this.base;
    this.breakOffsets = new Set([...this.breakOffsets].filter((at) => at > this.base).map((at) => at + shift));
    this.base = position;
  }

  close() {}
}
