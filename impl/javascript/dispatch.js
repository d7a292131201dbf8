/** From one message to its answer: hello, bye, the operators, and JSON-RPC's own errors. */
import { ContractFailure, DEFAULT_FAILURE } from "./errors.js";
import { ANNOUNCED, OPERATORS } from "./operators.js";
import { int32, list, string, struct, uint32 } from "./wire.js";

const HELLO = struct({
  protocol: uint32,
  name: string,
  version: string,
  language: string,
  wires: list(string),
  operators: list(string),
  max_in_flight: uint32,
});

const hello = {
  protocol: 1n,
  name: "tallystick-javascript",
  version: "1.0.0",
  language: "JavaScript",
  wires: ["json", "cbor"],
  operators: ANNOUNCED,
  max_in_flight: 64n,
};

const PARSE_ERROR = -32700n;
const INVALID_REQUEST = -32600n;
const METHOD_NOT_FOUND = -32601n;
const INVALID_PARAMS = -32602n;
const INTERNAL_ERROR = -32603n;

/** What becomes of one frame: the `answer` to send, or a promise of it, if any, and whether it was the `last`. */
export function handle(wire, frame) {
  let message;
  try {
    message = wire.parse(frame);
  } catch (error) {
    return { answer: errorAnswer(wire, null, PARSE_ERROR, error.message), last: false };
  }
  if (typeof message?.method !== "string") {
    return { answer: errorAnswer(wire, message?.id ?? null, INVALID_REQUEST, "no method"), last: false };
  }
  const answer = message.id === undefined ? undefined : respond(wire, message);
  return { answer, last: message.method === "tally.bye" };
}

/** The answer to a request. */
function respond(wire, { id, method, params }) {
  if (method === "tally.hello") return answerOf(wire, id, { result: wire.write(HELLO, hello) });
  if (method === "tally.bye") return answerOf(wire, id, { result: null });
  const operator = OPERATORS.get(method);
  if (operator === undefined) return errorAnswer(wire, id, METHOD_NOT_FOUND, `unknown method ${method}`);
  let inputs;
  try {
    inputs = wire.read(operator.inputs, params);
  } catch (error) {
    return errorAnswer(wire, id, INVALID_PARAMS, error.message);
  }
  return call(wire, id, operator, inputs);
}

/** Runs an operator, which may promise its outputs where it has to wait for them. */
function call(wire, id, operator, inputs) {
  const answer = (outputs) => answerOf(wire, id, { result: wire.write(operator.outputs, outputs) });
  const fail = (error) => failureAnswer(wire, id, operator, error);
  try {
    const outputs = operator.run(inputs);
    return outputs instanceof Promise ? outputs.then(answer).catch(fail) : answer(outputs);
  } catch (error) {
    return fail(error);
  }
}

/** The answer to what an operator threw: its contract failure, or an internal error, which is never a verdict. */
function failureAnswer(wire, id, operator, error) {
  if (!(error instanceof ContractFailure)) {
    process.stderr.write(`${error.stack}\n`);
    return errorAnswer(wire, id, INTERNAL_ERROR, String(error));
  }
  const data = wire.write(operator.failure ?? DEFAULT_FAILURE, error.data);
  return errorAnswer(wire, id, BigInt(error.number), error.code, data);
}

function answerOf(wire, id, body) {
  return wire.message({ jsonrpc: "2.0", id, ...body });
}

function errorAnswer(wire, id, code, message, data) {
  const error = { code: wire.write(int32, code), message };
  return answerOf(wire, id, { error: data === undefined ? error : { ...error, data } });
}

/** The last word to a stream that can no longer be cut into messages. */
export function lostFrame(wire, error) {
  return errorAnswer(wire, null, PARSE_ERROR, error.message);
}
