"""The error registry: for every code its subsystem, its severity, its diagnostics and its sentence.

The numbers are in `impl.failure`; no code is retryable and every record is public.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

Subsystem = Literal["data", "dp", "trace", "runtime", "replay"]
Severity = Literal["ERROR", "FATAL"]
DiagnosticType = Literal["string", "uint64"]

RETRYABLE: Final = False
PRIVACY_CLASS: Final = "PUBLIC"


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """Describe one code; its diagnostics are exactly these, no more and no fewer."""

    subsystem: Subsystem
    severity: Severity
    message: str
    diagnostics: Mapping[str, DiagnosticType] = field(default_factory=lambda: MappingProxyType({}))


REGISTRY: Final[Mapping[str, ErrorCode]] = MappingProxyType(
    {
        "BATCH_SIZE_INCONSISTENT": ErrorCode(
            "data",
            "ERROR",
            "The batch, block and world sizes do not fit together.",
            {"global_batch_size": "uint64", "world_size": "uint64"},
        ),
        "INVALID_DATASET_KEY": ErrorCode(
            "data", "ERROR", "The manifest has no dataset of that key.", {"dataset_key": "string"}
        ),
        "CARDINALITY_MISMATCH": ErrorCode(
            "data",
            "FATAL",
            "The dataset's cardinality is zero or is not the registered one.",
            {"dataset_key": "string", "cardinality": "uint64"},
        ),
        "GLOBAL_POSITION_EXCEEDS_CARDINALITY": ErrorCode(
            "data",
            "ERROR",
            "The cursor stands beyond the end of the dataset.",
            {"global_position": "uint64", "cardinality": "uint64"},
        ),
        "QUEUE_TIMEOUT": ErrorCode("data", "ERROR", "No data file arrived in the queue in time."),
        "META_MISSING": ErrorCode("data", "ERROR", "The queue has no metadata file."),
        "META_INVALID": ErrorCode("data", "ERROR", "The queue's metadata file is not valid."),
        "SCHEMA_MISMATCH": ErrorCode("data", "ERROR", "A data file does not have the declared fields."),
        "CONFIG_INVALID": ErrorCode("data", "ERROR", "The configuration is not valid."),
        "LEGACY_INVALID": ErrorCode("data", "ERROR", "The legacy data file is not valid."),
        "QUARANTINE_FULL": ErrorCode("data", "ERROR", "Too many data files of the queue could not be read."),
        "CHUNK_TOO_SMALL": ErrorCode("data", "ERROR", "The chunk size is below the smallest allowed one."),
        "STEP_OPEN": ErrorCode("data", "ERROR", "The step has not been ended by an advance."),
        "CHECKPOINT_MID_STEP": ErrorCode("data", "ERROR", "A checkpoint was asked for in the middle of a step."),
        "STREAM_MODEL_MISMATCH": ErrorCode("data", "ERROR", "The stream and the model stand at different pulses."),
        "POSITION_OUT_OF_BOUNDS": ErrorCode("data", "ERROR", "The stream position is outside the source."),
        "CONFIG_MISMATCH": ErrorCode("data", "ERROR", "The configuration is not the one that was saved."),
        "CONTENT_MISMATCH": ErrorCode("data", "ERROR", "The source's content is not the content that was saved."),
        "CURSOR_MISSING": ErrorCode("data", "ERROR", "The checkpoint has no stream cursor."),
        "DATASET_MISMATCH": ErrorCode("data", "ERROR", "The dataset is not the one that was saved."),
        "RNG_CONSUMPTION_VIOLATION": ErrorCode(
            "dp", "FATAL", "An operator consumed another number of draws than it declares."
        ),
        "WAL_CORRUPTION": ErrorCode("trace", "FATAL", "The write-ahead log is corrupt."),
        "CONTRACT_VIOLATION": ErrorCode("runtime", "FATAL", "A declared precondition does not hold."),
        "INVALID_STAGE_TYPE": ErrorCode(
            "runtime", "ERROR", "The stage is not train, eval or infer.", {"stage_type": "string"}
        ),
        "COUNTER_OVERFLOW": ErrorCode("runtime", "FATAL", "A counter would exceed 64 bits.", {"counter": "string"}),
        "REPLAY_DIVERGENCE": ErrorCode("replay", "FATAL", "The run differs from the run that it replays."),
        "UNKNOWN_TABLE": ErrorCode("data", "ERROR", "The database has no table or column of that name."),
        "DANGLING_KEY": ErrorCode("data", "ERROR", "A foreign key refers to a row that does not exist."),
        "NON_FINITE": ErrorCode("data", "ERROR", "A number is not finite."),
        "COMPOSITE_KEY": ErrorCode("data", "ERROR", "A foreign key spans more than one column."),
        "ROW_NOT_FOUND": ErrorCode("data", "ERROR", "The seed row does not exist."),
        "LIMIT_EXCEEDED": ErrorCode("data", "ERROR", "The database exceeds a declared limit."),
        "TARGET_TRUNCATED": ErrorCode("data", "ERROR", "The target cell does not fit into the sequence."),
        "MIXED_TASKS": ErrorCode("data", "ERROR", "The seeds of one batch belong to different tasks."),
    }
)
