/** UML_OS.Checkpoint.CommitRun_v1: four objects become visible at once, or not at all (seed 002 §II.J; C35, C40). */
import { Pairs } from "../cbor.js";
import { bytes, bytes32, string, struct, uint64 } from "../wire.js";
import { isFolder } from "./durable.js";
import { FAILURE, Findings, failureOf } from "./reasons.js";
import { COMMITTED, RunStore, planCommit } from "./run_store.js";
import { IS_OF_TYPE } from "./subject.js";

const NAME = "UML_OS.Checkpoint.CommitRun_v1";

// Two names and a few hashes always fit in a record, a pointer and a certificate.
const MAX_ID_BYTES = 4096;

/** Adds what is wrong with a name. */
function judgeId(name, text, findings) {
  if (!IS_OF_TYPE.string(text)) findings.add(name, "WRONG_TYPE");
  else if (Buffer.byteLength(text) > MAX_ID_BYTES) findings.add(name, "LIMIT_EXCEEDED");
}

/** Adds everything for which the run may not be committed in this place; an interrupted commit is recovered first. */
function judge(store, findings) {
  const misplaced = store.misplaced();
  if (misplaced !== undefined) {
    findings.add(misplaced, "BAD_PATH");
    return;
  }
  if (store.kind(COMMITTED) !== undefined) findings.add(COMMITTED, "TARGET_EXISTS");
  if (store.recordCount() > 0) findings.add("wal", "TARGET_EXISTS");
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
    throw failureOf(NAME, { field_path: COMMITTED, reason: "TARGET_EXISTS" }, step);
  }
  store.appendRecord(3, finalize);
}

function run(inputs) {
  const findings = new Findings();
  const step = new Pairs(["t", "replay_token"].map((name) => [name, inputs[name]]));
  if (!isFolder(inputs.root)) findings.add("root", "BAD_PATH");
  for (const name of ["tenant_id", "run_id"]) judgeId(name, inputs[name], findings);
  findings.refuse(NAME, step);
  const store = new RunStore(inputs.root);
  const plan = planCommit(inputs);
  judge(store, findings);
  findings.refuse(NAME, step);
  commit(store, plan, step);
  const { tenant_id, run_id, t, replay_token } = inputs;
  return {
    certificate_hash: plan.certificateHash,
    wal_terminal_hash: plan.terminalHash,
    run_commit_record: { tenant_id, run_id, t, replay_token, status: "success", ...plan.bound },
  };
}

export const commitRun = {
  name: NAME,
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
  run,
};
