/**
 * Every operator that this backend answers, by its method name.
 *
 * An operator is an object: `name`, the types of its `inputs`, `outputs` and `failure` record, and `run`,
 * which takes the inputs and returns the outputs or throws a ContractFailure. A family is a list of them; a machine
 * has a `name` and `methods`, which are such objects too.
 */
import { BATCH_OPERATORS } from "./batch/operators.js";
import { CHECKPOINT_OPERATORS } from "./checkpoint/operators.js";
import { DATA_OPERATORS } from "./data/operators.js";
import { ERROR_OPERATORS } from "./error/operators.js";
import { CONSUMER_MACHINE, PROVIDER_MACHINE } from "./pipeline/machines.js";
import { SERIALIZATION_OPERATORS } from "./serialization/operators.js";
import { STREAM_MACHINE, STREAM_OPERATORS } from "./stream/operators.js";

const FAMILIES = [
  DATA_OPERATORS,
  ERROR_OPERATORS,
  SERIALIZATION_OPERATORS,
  CHECKPOINT_OPERATORS,
  STREAM_OPERATORS,
  BATCH_OPERATORS,
];
const MACHINES = [PROVIDER_MACHINE, CONSUMER_MACHINE, STREAM_MACHINE];

const operators = FAMILIES.flat();
const methods = MACHINES.flatMap((machine) => machine.methods);

/** Everything that can be called: the operators, and the methods of the machines. */
export const OPERATORS = new Map([...operators, ...methods].map((operator) => [operator.name, operator]));

/** What hello says: the operators, and the machines, each of which promises all its methods. */
export const ANNOUNCED = [...operators, ...MACHINES].map(({ name }) => name);
