/** A contract failure: the code, and the failure record that travels beside it; and the registry of all codes. */
import { string, struct } from "./wire.js";

const ROWS = [
  ["BATCH_SIZE_INCONSISTENT", 1101, "data", "ERROR",
    "The batch, block and world sizes do not fit together.",
    { global_batch_size: "uint64", world_size: "uint64" }],
  ["INVALID_DATASET_KEY", 1102, "data", "ERROR",
    "The manifest has no dataset of that key.",
    { dataset_key: "string" }],
  ["CARDINALITY_MISMATCH", 1103, "data", "FATAL",
    "The dataset's cardinality is zero or is not the registered one.",
    { dataset_key: "string", cardinality: "uint64" }],
  ["GLOBAL_POSITION_EXCEEDS_CARDINALITY", 1104, "data", "ERROR",
    "The cursor stands beyond the end of the dataset.",
    { global_position: "uint64", cardinality: "uint64" }],
  ["QUEUE_TIMEOUT", 1201, "data", "ERROR", "No data file arrived in the queue in time."],
  ["META_MISSING", 1202, "data", "ERROR", "The queue has no metadata file."],
  ["META_INVALID", 1203, "data", "ERROR", "The queue's metadata file is not valid."],
  ["SCHEMA_MISMATCH", 1204, "data", "ERROR", "A data file does not have the declared fields."],
  ["CONFIG_INVALID", 1205, "data", "ERROR", "The configuration is not valid."],
  ["LEGACY_INVALID", 1206, "data", "ERROR", "The legacy data file is not valid."],
  ["QUARANTINE_FULL", 1207, "data", "ERROR", "Too many data files of the queue could not be read."],
  ["CHUNK_TOO_SMALL", 1301, "data", "ERROR", "The chunk size is below the smallest allowed one."],
  ["STEP_OPEN", 1302, "data", "ERROR", "The step has not been ended by an advance."],
  ["CHECKPOINT_MID_STEP", 1303, "data", "ERROR", "A checkpoint was asked for in the middle of a step."],
  ["STREAM_MODEL_MISMATCH", 1304, "data", "ERROR", "The stream and the model stand at different pulses."],
  ["POSITION_OUT_OF_BOUNDS", 1305, "data", "ERROR", "The stream position is outside the source."],
  ["CONFIG_MISMATCH", 1306, "data", "ERROR", "The configuration is not the one that was saved."],
  ["CONTENT_MISMATCH", 1307, "data", "ERROR", "The source's content is not the content that was saved."],
  ["CURSOR_MISSING", 1308, "data", "ERROR", "The checkpoint has no stream cursor."],
  ["DATASET_MISMATCH", 1309, "data", "ERROR", "The dataset is not the one that was saved."],
  ["RNG_CONSUMPTION_VIOLATION", 1407, "dp", "FATAL", "An operator consumed another number of draws than it declares."],
  ["WAL_CORRUPTION", 1502, "trace", "FATAL", "The write-ahead log is corrupt."],
  ["CONTRACT_VIOLATION", 1801, "runtime", "FATAL", "A declared precondition does not hold."],
  ["INVALID_STAGE_TYPE", 1802, "runtime", "ERROR",
    "The stage is not train, eval or infer.",
    { stage_type: "string" }],
  ["COUNTER_OVERFLOW", 1804, "runtime", "FATAL",
    "A counter would exceed 64 bits.",
    { counter: "string" }],
  ["REPLAY_DIVERGENCE", 1901, "replay", "FATAL", "The run differs from the run that it replays."],
  ["UNKNOWN_TABLE", 2001, "data", "ERROR", "The database has no table or column of that name."],
  ["DANGLING_KEY", 2002, "data", "ERROR", "A foreign key refers to a row that does not exist."],
  ["NON_FINITE", 2003, "data", "ERROR", "A number is not finite."],
  ["COMPOSITE_KEY", 2004, "data", "ERROR", "A foreign key spans more than one column."],
  ["ROW_NOT_FOUND", 2005, "data", "ERROR", "The seed row does not exist."],
  ["LIMIT_EXCEEDED", 2006, "data", "ERROR", "The database exceeds a declared limit."],
  ["TARGET_TRUNCATED", 2007, "data", "ERROR", "The target cell does not fit into the sequence."],
  ["MIXED_TASKS", 2008, "data", "ERROR", "The seeds of one batch belong to different tasks."],
];

/** Code -> entry; no code is retryable and every record is public. */
export const REGISTRY = new Map(
  ROWS.map(([code, number, subsystem, severity, message, diagnostics = {}]) => [
    code,
    { number, subsystem, severity, message, diagnostics, retryable: false, privacyClass: "PUBLIC" },
  ]),
);

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
