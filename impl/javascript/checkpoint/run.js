/** A run is committed, and what a crash left of that is ended (seed 002 §II.J; C35 to C40; CA26 to CA28, CA36). */
import { Pairs } from "../cbor.js";
import { bytes, bytes32, optional, string, struct, uint64 } from "../wire.js";
import { isFolder } from "./durable.js";
import { FAILURE, Findings, failureOf } from "./reasons.js";
import {
  COMMITTED,
  RunStore,
  SIGNED_LENGTH,
  nextRecord,
  planCommit,
  recordPath,
  temporaryPath,
  verifyPointer,
  writtenPaths,
} from "./run_store.js";
import { IS_OF_TYPE } from "./subject.js";
import { readLog, stepOf } from "./wal.js";

const COMMIT = "UML_OS.Checkpoint.CommitRun_v1";

// Two names and a few hashes always fit in a record, a pointer and a certificate.
const MAX_ID_BYTES = 4096;

/** Adds what is wrong with a name. */
function judgeId(name, text, findings) {
  if (!IS_OF_TYPE.string(text)) findings.add(name, "WRONG_TYPE");
  else if (Buffer.byteLength(text) > MAX_ID_BYTES) findings.add(name, "LIMIT_EXCEEDED");
}

/** Adds everything for which the run may not be committed in this place; an interrupted commit is recovered first. */
function judge(store, plan, findings) {
  const misplaced = store.misplaced();
  if (misplaced !== undefined) {
    findings.add(misplaced, "BAD_PATH");
    return;
  }
  if (store.kind(COMMITTED) !== undefined) findings.add(COMMITTED, "TARGET_EXISTS");
  if (store.recordCount() > 0) findings.add("wal", "TARGET_EXISTS");
  for (const path of store.folders(writtenPaths(plan))) findings.add(path, "BAD_PATH");
}

/** Writes the commit; each step is durable before the next begins (seed 002 §II.J; ruling CA26). */
function commit(store, plan, step) {
  const [prepare, objects, signed, finalize] = plan.records.map(({ framed }) => framed);
  store.makeFolders();
  store.appendRecord(0, prepare);
  for (const content of plan.contents) store.writeObject(content);
  store.appendRecord(1, objects);
  store.writeObject(plan.certificate);
  store.appendRecord(2, signed);
  if (!store.createPointer(plan.pointer)) {
    throw failureOf(COMMIT, { field_path: COMMITTED, reason: "TARGET_EXISTS" }, step);
  }
  store.appendRecord(3, finalize);
}

function runCommit(inputs) {
  const findings = new Findings();
  const step = new Pairs(["t", "replay_token"].map((name) => [name, inputs[name]]));
  if (!isFolder(inputs.root)) findings.add("root", "BAD_PATH");
  for (const name of ["tenant_id", "run_id"]) judgeId(name, inputs[name], findings);
  findings.refuse(COMMIT, step);
  const store = new RunStore(inputs.root);
  const plan = planCommit(inputs);
  judge(store, plan, findings);
  findings.refuse(COMMIT, step);
  commit(store, plan, step);
  const { tenant_id, run_id, t, replay_token } = inputs;
  return {
    certificate_hash: plan.certificateHash,
    wal_terminal_hash: plan.terminalHash,
    run_commit_record: { tenant_id, run_id, t, replay_token, status: "success", ...plan.bound },
  };
}

/** UML_OS.Checkpoint.CommitRun_v1: four objects become visible at once, or not at all (seed 002 §II.J; C35, C40). */
export const commitRun = {
  name: COMMIT,
  inputs: struct({
    root: string,
    tenant_id: string,
    run_id: string,
    t: uint64,
    replay_token: bytes32,
    trace: bytes,
    checkpoint: bytes,
    lineage: bytes,
    signing_key: bytes32,
  }),
  outputs: struct({
    certificate_hash: bytes32,
    wal_terminal_hash: bytes32,
    run_commit_record: struct({
      tenant_id: string,
      run_id: string,
      t: uint64,
      replay_token: bytes32,
      status: string,
      trace_tail_hash: bytes32,
      checkpoint_merkle_root: bytes32,
      lineage_root_hash: bytes32,
    }),
  }),
  failure: FAILURE,
  run: runCommit,
};

const RECOVER = "UML_OS.Checkpoint.RecoverRun_v1";

/**
 * What a rolled back run says, however often it is asked (requirement C39; ruling CA36).
 *
 * Its reason is constant because the ROLLBACK record holds none: a second recovery could not repeat another one.
 */
const rolledBack = ({ t, replay_token }) => ({
  state: "rolled_back",
  failure: { t, failure_code: "CONTRACT_VIOLATION", failure_operator: RECOVER, replay_token, reason: "MISSING_COMPONENT" },
});

/** Refuses, before anything changes, a folder where the next record is to be written (ruling CA31). */
function requirePlace(store, log) {
  const findings = new Findings();
  for (const path of store.folders([temporaryPath(recordPath(log.length))])) findings.add(path, "BAD_PATH");
  findings.refuse(RECOVER, stepOf(log));
}

/** The pointer goes first: from then on a crash leads here again. ROLLBACK comes after records that are durable. */
function rollBack(store, log) {
  const isOpen = log.at(-1).record_type !== "ROLLBACK";
  if (isOpen) requirePlace(store, log);
  store.removePointer();
  if (isOpen) {
    store.settle();
    store.appendRecord(log.length, nextRecord(log[0], log, "ROLLBACK", {}).framed);
  }
  return rolledBack(log[0]);
}

/** A valid pointer is a commit: FINALIZE is appended, byte for byte what the commit would have written (CA28). */
function rollForward(store, log, final) {
  if (log.length === SIGNED_LENGTH) requirePlace(store, log);
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
    throw failureOf(RECOVER, { field_path: recordPath(log.length), reason: "WAL_RECORD_INVALID" }, stepOf(log));
  }
  const { findings, final } = verifyPointer(store, log, publicKey);
  const isFinal = log.at(-1).record_type === "FINALIZE";
  if (isFinal || findings.first()?.reason === "SIGNATURE_INVALID") findings.refuse(RECOVER, stepOf(log));
  return findings.list.length === 0 ? rollForward(store, log, final) : rollBack(store, log);
}

function recover({ root, public_key: publicKey }) {
  const findings = new Findings();
  if (!isFolder(root)) findings.add("root", "BAD_PATH");
  findings.refuse(RECOVER);
  const store = new RunStore(root);
  const misplaced = store.misplaced();
  if (misplaced !== undefined) findings.add(misplaced, "BAD_PATH");
  findings.refuse(RECOVER);
  const outcome = settleRun(store, readLog(store, RECOVER), publicKey);
  store.removeTemporaries();
  return outcome;
}

/** UML_OS.Checkpoint.RecoverRun_v1: ends what a crash left open, forward or back (seed 002 §II.J; CA27). */
export const recoverRun = {
  name: RECOVER,
  inputs: struct({ root: string, public_key: bytes32 }),
  outputs: struct({
    state: string,
    failure: optional(
      struct({ t: uint64, failure_code: string, failure_operator: string, replay_token: bytes32, reason: string }),
    ),
  }),
  failure: FAILURE,
  run: recover,
};
