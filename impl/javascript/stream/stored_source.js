/** Tokens that are all there: given in the call, or standing in a file (requirements S02, S06, S15). */

/** What is the same for both; `words` reads the tokens of a half-open range. */
class StoredSource {
  isSeekable = true;

  constructor(length, declaration) {
    this.length = BigInt(length);
    this.wraps = declaration.on_end !== "stop";
    this.boundaries = declaration.boundaries ?? [];
  }

  tokens(pass, from, to) {
    return this.words(Number(from), Number(to));
  }

  /** Whether a document, or the data, ends behind a token of the range (rulings SA07, SA09). */
  breaks(pass, from, to) {
    return to > from && (to === this.length || this.boundaries.some((offset) => from < offset && offset <= to));
  }

  randomState() {
    return undefined;
  }

  isReady() {
    return true;
  }

  restart() {}

  resume() {}

  close() {}
}

/** Tokens in memory. */
export class GivenTokens extends StoredSource {
  constructor(declaration) {
    super(declaration.tokens.length, declaration);
    this.given = declaration.tokens;
  }

  words(from, to) {
    return this.given.slice(from, to);
  }
}

/** Tokens in an open file, see `token_file.js`. */
export class FiledTokens extends StoredSource {
  constructor(file, declaration) {
    super(file.count, declaration);
    this.file = file;
  }

  words(from, to) {
    return this.file.read(from, to);
  }

  close() {
    this.file.close();
  }
}
