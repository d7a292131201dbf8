"""The record of an error, and its canonical bytes."""

from dataclasses import dataclass
from typing import Final, Literal

from impl.failure import NUMBERS, default_failure
from impl.types import Value, bytes32, uint32, uint64
from impl.vectorized.error_codes import DIAGNOSTICS, MESSAGES, Severity, severity, subsystem
from impl.vectorized.guards import UINT64_MAX
from impl.vectorized.preimages import MAP, UINT, boolean, head, octets, text

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
    return isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= UINT64_MAX


def _encoded(item: object) -> bytes:
    """Return the canonical bytes of what a record holds; keys stand in the bytewise order of their encodings."""
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
