/** A contract failure: the code, and the failure record that travels beside it. */
import { REGISTRY } from "./error/registry.js";
import { string, struct } from "./wire.js";

/** The default failure record; an operator with another one declares it. */
export const DEFAULT_FAILURE = struct({ failure_code: string, failure_operator: string });

/** What an operator throws when its contract refuses the input. */
export class ContractFailure extends Error {
  constructor(code, data) {
    super(code);
    this.code = code;
    this.data = data;
  }

  /** The number of the code in the error registry. */
  get number() {
    return REGISTRY.get(this.code).number;
  }
}

/** The failure of an operator that uses the default record. */
export function defaultFailure(code, operator) {
  return new ContractFailure(code, { failure_code: code, failure_operator: operator });
}
