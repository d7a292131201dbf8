/** UML_OS.Error.Emit_v1: the whole error record of a code, and its canonical bytes. */
import { Pairs, encodeCanonical } from "./cbor.js";
import { REGISTRY, defaultFailure } from "./errors.js";
import { bool, bytes, bytes32, string, struct, uint32, uint64, value } from "./wire.js";

const NAME = "UML_OS.Error.Emit_v1";
const MAX_UINT64 = (1n << 64n) - 1n;

const IS_OF_TYPE = {
  string: (item) => typeof item === "string",
  uint64: (item) => typeof item === "bigint" && item >= 0n && item <= MAX_UINT64,
};

/** Whether the diagnostics are exactly the declared ones, each of its type. */
function areDeclared(diagnostics, declared) {
  if (!(diagnostics instanceof Pairs)) return false;
  const given = new Map(diagnostics.entries);
  const names = Object.keys(declared);
  return (
    diagnostics.entries.length === names.length &&
    names.every((name) => IS_OF_TYPE[declared[name]](given.get(name)))
  );
}

function run({ code_id: codeId, context }) {
  const entry = REGISTRY.get(codeId);
  if (entry === undefined || !areDeclared(context.diagnostics, entry.diagnostics)) {
    throw defaultFailure("CONTRACT_VIOLATION", NAME);
  }
  const record = {
    code_id: codeId,
    numeric_code: BigInt(entry.number),
    severity: entry.severity,
    subsystem: entry.subsystem,
    t: context.t,
    rank: context.rank,
    failure_operator: context.failure_operator,
    replay_token: context.replay_token,
    message: entry.message,
    retryable: entry.retryable,
    privacy_class: entry.privacyClass,
    diagnostics: context.diagnostics,
  };
  return { record, record_cbor: encodeCanonical(record) };
}

export const emit = {
  name: NAME,
  inputs: struct({
    code_id: string,
    context: struct({
      t: uint64,
      rank: uint32,
      failure_operator: string,
      replay_token: bytes32,
      diagnostics: value,
    }),
  }),
  outputs: struct({
    record: struct({
      code_id: string,
      numeric_code: uint32,
      severity: string,
      subsystem: string,
      t: uint64,
      rank: uint32,
      failure_operator: string,
      replay_token: bytes32,
      message: string,
      retryable: bool,
      privacy_class: string,
      diagnostics: value,
    }),
    record_cbor: bytes,
  }),
  run,
};
