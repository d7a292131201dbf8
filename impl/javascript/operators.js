/**
 * Every operator that this backend answers, by its method name.
 *
 * An operator is an object: `name`, the types of its `inputs`, `outputs` and `failure` record, and `run`,
 * which takes the inputs and returns the outputs or throws a ContractFailure. A family is a list of them.
 */
import { CHECKPOINT_OPERATORS } from "./checkpoint/operators.js";
import { DATA_OPERATORS } from "./data/operators.js";
import { ERROR_OPERATORS } from "./error/operators.js";
import { SERIALIZATION_OPERATORS } from "./serialization/operators.js";

const FAMILIES = [DATA_OPERATORS, ERROR_OPERATORS, SERIALIZATION_OPERATORS, CHECKPOINT_OPERATORS];

export const OPERATORS = new Map(FAMILIES.flat().map((operator) => [operator.name, operator]));
