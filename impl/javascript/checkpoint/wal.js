/** The log of a run as it stands on disk: records in sequence, each bound to the one before (rulings CA29 to CA31). */
import { failureOf } from "./reasons.js";
import { recordPath } from "./run_store.js";
import { isSame } from "./subject.js";
import { FIRST_PREVIOUS_HASH, readRecord } from "./wal_record.js";

/** The order of a commit; ROLLBACK may stand in place of any but the first. */
const TYPES = ["PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE"];
const TERMINAL = new Set(["FINALIZE", "ROLLBACK"]);

/** Reads the log; a record that is torn, missing or out of place is corruption (WAL_CORRUPTION). */
export function readLog(store, operator) {
  const records = [];
  for (let sequence = 0; sequence < store.recordCount(); sequence += 1) {
    const framed = store.readRecord(sequence);
    const record = framed && readRecord(framed);
    if (record === undefined || !follows(record, records)) {
      throw failureOf(operator, { field_path: recordPath(sequence), reason: "WAL_RECORD_INVALID" });
    }
    records.push(record);
  }
  return records;
}

function follows(record, records) {
  const previous = records.at(-1);
  const { record_type: type } = record;
  const isDue = type === TYPES[records.length] || (type === "ROLLBACK" && previous !== undefined);
  if (!isDue || record.wal_seq !== BigInt(records.length)) return false;
  if (previous === undefined) return isSame(record.prev_record_hash, FIRST_PREVIOUS_HASH);
  if (type === "FINALIZE" && !isSame(record.certificate_hash, previous.certificate_hash)) return false;
  return (
    !TERMINAL.has(previous.record_type) &&
    isSame(record.prev_record_hash, previous.hash) &&
    record.tenant_id === previous.tenant_id &&
    record.run_id === previous.run_id
  );
}
