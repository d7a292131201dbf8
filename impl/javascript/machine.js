/** A machine: what it keeps between calls, by handle, and how its methods are declared. */
import { DEFAULT_FAILURE, defaultFailure } from "./errors.js";
import { string, struct } from "./wire.js";

/** The type of what opens something. */
export const HANDLE = { handle: string };

/** One machine of this process; a handle is given once, and ends with the process at the latest. */
export class Machine {
  #held = new Map();
  #count = 0;

  constructor(name, failure = DEFAULT_FAILURE) {
    this.name = name;
    this.failure = failure;
  }

  keep(thing) {
    this.#count += 1;
    const handle = `open-${this.#count}`;
    this.#held.set(handle, thing);
    return handle;
  }

  drop(handle) {
    this.#held.delete(handle);
  }

  /** An operator of this machine; `run` takes the inputs and the operator's name. */
  method(operation, inputs, outputs, run) {
    const name = `${this.name}.${operation}`;
    return {
      name,
      inputs: struct(inputs),
      outputs: struct(outputs),
      failure: this.failure,
      run: (given) => run(given, name),
    };
  }

  /** An operator on one held thing, which its handle names; `run` takes the thing, the inputs and the name. */
  handled(operation, inputs, outputs, run) {
    return this.method(operation, { ...HANDLE, ...inputs }, outputs, (given, name) => {
      const thing = this.#held.get(given.handle);
      if (thing === undefined) throw defaultFailure("CONTRACT_VIOLATION", name);
      return run(thing, given, name);
    });
  }
}
