/** What stops a step of the queue: a code of the contract, or a file that is none. */

/** The step is refused with a code; the machine adds the name of the operation. */
export class Refusal extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** The bytes are no batch file, no archive or no metadata (rulings QA14, QA21). */
export class Damaged extends Error {}
