/** An iterator of the caller: its documents come by calls, each after it was asked for (ruling SA22). */

/** What was supplied does not decide the round. */
export class ItemWanted extends Error {}

/** The pass has fewer tokens than a restored stream has served of it (ruling SA14). */
export class NoSuchPlace extends Error {}

const newPass = (base = 0n) => ({ base, tokens: [], ends: [], isWhole: false });
const heardIn = ({ base, tokens }) => base + BigInt(tokens.length);

export class SuppliedSource {
  isSeekable = false;
  isSupplied = true;
  totalTokens = undefined;

  constructor(declaration) {
    this.wraps = declaration.on_end !== "stop";
    this.standAt({ pass: 0n, index: 0n });
  }

  /** Holds nothing; of the place's pass, tokens before its index will be passed over as they come. */
  standAt(place) {
    this.place = place;
    this.passes = [newPass()];
    this.isAsked = false;
  }

  /** The pass that the next item belongs to. */
  get #current() {
    const last = this.passes.at(-1);
    if (!last.isWhole) return last;
    this.passes.push(newPass());
    return this.passes.at(-1);
  }

  supply(tokens) {
    this.isAsked = false;
    const pass = this.#current;
    for (const token of tokens) pass.tokens.push(token);
    pass.ends.push(heardIn(pass));
    if (pass === this.passes[0]) this.#dropServed();
  }

  endPass() {
    const pass = this.#current;
    const { index } = this.place;
    const length = heardIn(pass);
    const isThere = index === 0n || index < length || (index === length && !this.wraps);
    if (pass === this.passes[0] && !isThere) throw new NoSuchPlace();
    this.isAsked = false;
    pass.isWhole = true;
  }

  #dropServed() {
    const pass = this.passes[0];
    const served = this.place.index < heardIn(pass) ? this.place.index : heardIn(pass);
    pass.tokens.splice(0, Number(served - pass.base));
    pass.ends = pass.ends.filter((end) => end > served);
    pass.base = served;
  }

  /** Nothing before a place is needed any more: the next round begins there. */
  settle(place) {
    this.isAsked = false;
    this.passes.splice(0, Number(place.pass - this.place.pass));
    this.place = place;
    if (this.passes.length === 0) this.standAt(place);
    else this.#dropServed();
  }

  #ask() {
    this.isAsked = true;
    throw new ItemWanted();
  }

  #passOf(number) {
    return this.passes[Number(number - this.place.pass)] ?? this.#ask();
  }

  /** Where the chunk at a place ends: whole, or cut where the pass is known to end. */
  endOfChunk({ pass: number, index }, size) {
    const pass = this.#passOf(number);
    const heard = heardIn(pass);
    if (index + size <= heard) return index + size;
    return pass.isWhole ? heard : this.#ask();
  }

  /** The place behind so many chunks; a pass that wraps is over where its end was supplied, and not where that is unknown. */
  placeAfter(place, size, count) {
    let { pass, index } = place;
    for (let left = count; left > 0n; left -= 1n) {
      const end = this.endOfChunk({ pass, index }, size);
      const known = this.#passOf(pass);
      if (this.wraps && end > index && end === heardIn(known)) {
        if (!known.isWhole) this.#ask();
        [pass, index] = [pass + 1n, 0n];
      } else if (end === index) {
        break;
      } else {
        index = end;
      }
    }
    return { pass, index };
  }

  tokens(number, from, to) {
    const { base, tokens } = this.#passOf(number);
    return Uint32Array.from(tokens.slice(Number(from - base), Number(to - base)));
  }

  /** Every document ends behind its last token, and so does the pass. */
  breaks(number, from, to) {
    return this.#passOf(number).ends.some((end) => from < end && end <= to);
  }

  randomState() {
    return undefined;
  }

  isReady() {
    return true;
  }

  restart() {
    this.standAt({ pass: this.place.pass, index: 0n });
  }

  resume(index, pass) {
    this.standAt({ pass, index });
  }

  close() {}
}
