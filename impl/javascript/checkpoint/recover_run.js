/** UML_OS.Checkpoint.RecoverRun_v1: ends what a crash left open, forward or back (seed 002 §II.J; CA27). */
import { bytes32, optional, string, struct, uint64 } from "../wire.js";
import { isFolder } from "./durable.js";
import { FAILURE, Findings, failureOf } from "./reasons.js";
import { COMMITTED, RunStore, SIGNED_LENGTH, nextRecord, recordPath, verifyPointer } from "./run_store.js";
import { readLog, stepOf } from "./wal.js";

const NAME = "UML_OS.Checkpoint.RecoverRun_v1";

/**
 * What a rolled back run says, however often it is asked (requirement C39; ruling CA36).
 *
 * Its reason is constant because the ROLLBACK record holds none: a second recovery could not repeat another one.
 */
const rolledBack = ({ t, replay_token }) => ({
  state: "rolled_back",
  failure: { t, failure_code: "CONTRACT_VIOLATION", failure_operator: NAME, replay_token, reason: "MISSING_COMPONENT" },
});

/** The pointer goes first: from then on a crash leads here again. ROLLBACK comes after records that are durable. */
function rollBack(store, log) {
  store.removePointer();
  const isOpen = log.at(-1).record_type !== "ROLLBACK";
  if (isOpen) {
    store.settle();
    store.appendRecord(log.length, nextRecord(log[0], log, "ROLLBACK", {}).framed);
  }
  return rolledBack(log[0]);
}

/** A valid pointer is a commit: FINALIZE is appended, byte for byte what the commit would have written (CA28). */
function rollForward(store, log, final) {
  store.settle();
  store.appendRecord(SIGNED_LENGTH, final.framed);
  return { state: "committed" };
}

/** Decides by the log and the pointer; a wrong key is refused and changes nothing (requirement C37). */
function settleRun(store, log, publicKey) {
  if (log.at(-1)?.record_type === "ROLLBACK") return rollBack(store, log);
  if (log.length < SIGNED_LENGTH) {
    if (store.kind(COMMITTED) === undefined) return log.length === 0 ? { state: "empty" } : rollBack(store, log);
    // The pointer is created after all records but the last: one of them is missing.
    throw failureOf(NAME, { field_path: recordPath(log.length), reason: "WAL_RECORD_INVALID" }, stepOf(log));
  }
  const { findings, final } = verifyPointer(store, log, publicKey);
  const isFinal = log.at(-1).record_type === "FINALIZE";
  if (isFinal || findings.first()?.reason === "SIGNATURE_INVALID") findings.refuse(NAME, stepOf(log));
  return findings.list.length === 0 ? rollForward(store, log, final) : rollBack(store, log);
}

function run({ root, public_key: publicKey }) {
  const findings = new Findings();
  if (!isFolder(root)) findings.add("root", "BAD_PATH");
  findings.refuse(NAME);
  const store = new RunStore(root);
  const misplaced = store.misplaced();
  if (misplaced !== undefined) findings.add(misplaced, "BAD_PATH");
  findings.refuse(NAME);
  const outcome = settleRun(store, readLog(store, NAME), publicKey);
  store.removeTemporaries();
  return outcome;
}

export const recoverRun = {
  name: NAME,
  inputs: struct({ root: string, public_key: bytes32 }),
  outputs: struct({
    state: string,
    failure: optional(
      struct({ t: uint64, failure_code: string, failure_operator: string, replay_token: bytes32, reason: string }),
    ),
  }),
  failure: FAILURE,
  run,
};
