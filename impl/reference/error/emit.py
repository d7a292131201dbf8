"""The record of an error."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal

from impl.failure import NUMBERS, default_failure
from impl.reference.canonical_cbor import encode_canonical
from impl.reference.error.registry import PRIVACY_CLASS, REGISTRY, RETRYABLE, DiagnosticType, Severity, Subsystem
from impl.types import Value, bytes32, uint32, uint64

OPERATOR: Final = "UML_OS.Error.Emit_v1"
MAX_UINT64: Final = 2**64 - 1


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
    subsystem: Subsystem
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
    if code_id not in REGISTRY:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    error_code = REGISTRY[code_id]
    if not _diagnostics_fit(context.diagnostics, error_code.diagnostics):
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    record = ErrorRecord(
        code_id=code_id,
        numeric_code=NUMBERS[code_id],
        severity=error_code.severity,
        subsystem=error_code.subsystem,
        t=context.t,
        rank=context.rank,
        failure_operator=context.failure_operator,
        replay_token=context.replay_token,
        message=error_code.message,
        retryable=RETRYABLE,
        privacy_class=PRIVACY_CLASS,
        diagnostics=context.diagnostics,
    )
    record_map = {field.name: getattr(record, field.name) for field in fields(record)}
    return EmittedError(record=record, record_cbor=encode_canonical(record_map))


def _diagnostics_fit(diagnostics: object, declared: Mapping[str, DiagnosticType]) -> bool:
    if not isinstance(diagnostics, dict):
        return False
    if set(diagnostics) != set(declared):
        return False
    return all(_has_type(diagnostics[name], kind) for name, kind in declared.items())


def _has_type(item: object, kind: DiagnosticType) -> bool:
    if kind == "string":
        return isinstance(item, str)
    return isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= MAX_UINT64
