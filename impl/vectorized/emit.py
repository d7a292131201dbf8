"""The record of an error, and its canonical bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from impl.arguments import MAX_UINT64
from impl.failure import NUMBERS, default_failure
from impl.types import Value, bytes32, uint32, uint64
from impl.vectorized.preimages import MAP, UINT, boolean, head, octets, text

Severity = Literal["ERROR", "FATAL"]

FATAL: Final = frozenset(
    (
        "CARDINALITY_MISMATCH",
        "CONTRACT_VIOLATION",
        "COUNTER_OVERFLOW",
        "REPLAY_DIVERGENCE",
        "RNG_CONSUMPTION_VIOLATION",
        "WAL_CORRUPTION",
    )
)

# The hundreds of a number name its subsystem; pipeline, stream and batch codes count as data.
SUBSYSTEMS: Final[Mapping[int, str]] = MappingProxyType(
    {11: "data", 12: "data", 13: "data", 14: "dp", 15: "trace", 18: "runtime", 19: "replay", 20: "data"}
)

# The codes with diagnostics, which are exactly these.
DIAGNOSTICS: Final[Mapping[str, Mapping[str, type[int] | type[str]]]] = MappingProxyType(
    {
        "BATCH_SIZE_INCONSISTENT": {"global_batch_size": int, "world_size": int},
        "INVALID_DATASET_KEY": {"dataset_key": str},
        "CARDINALITY_MISMATCH": {"dataset_key": str, "cardinality": int},
        "GLOBAL_POSITION_EXCEEDS_CARDINALITY": {"global_position": int, "cardinality": int},
        "INVALID_STAGE_TYPE": {"stage_type": str},
        "COUNTER_OVERFLOW": {"counter": str},
    }
)

MESSAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "BATCH_SIZE_INCONSISTENT": "The batch, block and world sizes do not fit together.",
        "INVALID_DATASET_KEY": "The manifest has no dataset of that key.",
        "CARDINALITY_MISMATCH": "The dataset's cardinality is zero or is not the registered one.",
        "GLOBAL_POSITION_EXCEEDS_CARDINALITY": "The cursor stands beyond the end of the dataset.",
        "QUEUE_TIMEOUT": "No data file arrived in the queue in time.",
        "META_MISSING": "The queue has no metadata file.",
        "META_INVALID": "The queue's metadata file is not valid.",
        "SCHEMA_MISMATCH": "A data file does not have the declared fields.",
        "CONFIG_INVALID": "The configuration is not valid.",
        "LEGACY_INVALID": "The legacy data file is not valid.",
        "QUARANTINE_FULL": "Too many data files of the queue could not be read.",
        "CHUNK_TOO_SMALL": "The chunk size is below the smallest allowed one.",
        "STEP_OPEN": "The step has not been ended by an advance.",
        "CHECKPOINT_MID_STEP": "A checkpoint was asked for in the middle of a step.",
        "STREAM_MODEL_MISMATCH": "The stream and the model stand at different pulses.",
        "POSITION_OUT_OF_BOUNDS": "The stream position is outside the source.",
        "CONFIG_MISMATCH": "The configuration is not the one that was saved.",
        "CONTENT_MISMATCH": "The source's content is not the content that was saved.",
        "CURSOR_MISSING": "The checkpoint has no stream cursor.",
        "DATASET_MISMATCH": "The dataset is not the one that was saved.",
        "RNG_CONSUMPTION_VIOLATION": "An operator consumed another number of draws than it declares.",
        "WAL_CORRUPTION": "The write-ahead log is corrupt.",
        "CONTRACT_VIOLATION": "A declared precondition does not hold.",
        "INVALID_STAGE_TYPE": "The stage is not train, eval or infer.",
        "COUNTER_OVERFLOW": "A counter would exceed 64 bits.",
        "REPLAY_DIVERGENCE": "The run differs from the run that it replays.",
        "UNKNOWN_TABLE": "The database has no table or column of that name.",
        "DANGLING_KEY": "A foreign key refers to a row that does not exist.",
        "NON_FINITE": "A number is not finite.",
        "COMPOSITE_KEY": "A foreign key spans more than one column.",
        "ROW_NOT_FOUND": "The seed row does not exist.",
        "LIMIT_EXCEEDED": "The database exceeds a declared limit.",
        "TARGET_TRUNCATED": "The target cell does not fit into the sequence.",
        "MIXED_TASKS": "The seeds of one batch belong to different tasks.",
    }
)


def severity(code: str) -> Severity:
    """Return how grave an error of a known code is."""
    return "FATAL" if code in FATAL else "ERROR"


def subsystem(code: str) -> str:
    """Return which part of the system a known code belongs to."""
    return SUBSYSTEMS[NUMBERS[code] // 100]


OPERATOR: Final = "UML_OS.Error.Emit_v1"


@dataclass(frozen=True, slots=True)
class ErrorContext:
    """Say where an error happened, and give its diagnostics."""

    t: uint64
    rank: uint32
    failure_operator: str
    replay_token: bytes32
    diagnostics: Value


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """Hold everything that is said about an error."""

    code_id: str
    numeric_code: uint32
    severity: Severity
    subsystem: str
    t: uint64
    rank: uint32
    failure_operator: str
    replay_token: bytes32
    message: str
    retryable: bool
    privacy_class: Literal["PUBLIC"]
    diagnostics: Value


@dataclass(frozen=True, slots=True)
class EmittedError:
    """Hold the record and its canonical bytes."""

    record: ErrorRecord
    record_cbor: bytes


def emit(*, code_id: str, context: ErrorContext) -> EmittedError:
    """Return the record of a registered error and its canonical CBOR.

    An unknown code, or diagnostics that are not exactly the registered ones, is CONTRACT_VIOLATION (seed 000 §0.K).
    """
    diagnostics = context.diagnostics
    if code_id not in MESSAGES or not isinstance(diagnostics, dict) or not _registered(code_id, diagnostics):
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    record = ErrorRecord(
        code_id=code_id,
        numeric_code=NUMBERS[code_id],
        severity=severity(code_id),
        subsystem=subsystem(code_id),
        t=context.t,
        rank=context.rank,
        failure_operator=context.failure_operator,
        replay_token=context.replay_token,
        message=MESSAGES[code_id],
        retryable=False,
        privacy_class="PUBLIC",
        diagnostics=diagnostics,
    )
    return EmittedError(record, _encoded({name: getattr(record, name) for name in ErrorRecord.__slots__}))


def _registered(code_id: str, diagnostics: dict[object, object]) -> bool:
    declared = DIAGNOSTICS.get(code_id, {})
    return diagnostics.keys() == declared.keys() and all(
        _has_type(diagnostics[name], kind) for name, kind in declared.items()
    )


def _has_type(item: object, kind: type[int] | type[str]) -> bool:
    if kind is str:
        return isinstance(item, str)
    return isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= MAX_UINT64


def _encoded(item: object) -> bytes:
    """Return the canonical bytes of what a record holds; keys are in the bytewise order of their encodings."""
    match item:
        case bool():
            return boolean(item)
        case int():
            return head(UINT, item)
        case str():
            return text(item)
        case bytes():
            return octets(item)
        case dict():
            return head(MAP, len(item)) + b"".join(sorted(text(key) + _encoded(item[key]) for key in item))
    raise TypeError(f"no field of a record is a {type(item).__name__}")
