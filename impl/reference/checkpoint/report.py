"""What a restore says about itself."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.checkpoint.header import Header, checkpoint_hash_of
from impl.reference.checkpoint.schema_registry import NEWEST
from impl.reference.checkpoint.version import parse_version
from impl.types import bytes32, uint64

CompatibilityLevel = Literal["exact", "minor_newer", "migrated"]

SUCCESS: Final = "success"
STEP: Final = "restore"


@dataclass(frozen=True, slots=True)
class RestoreTraceRecord:
    """Hold the fields of run_header, iter and run_end (seed 002 §7; requirement C48)."""

    schema_version: str
    source_hash: bytes32
    step: str
    status: str
    checkpoint_hash: bytes32
    restore_status: str


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """Hold the metrics of a restore: sizes in bytes, times in milliseconds (seed 002 §0.I; requirement C47)."""

    status: str
    compatibility_level: CompatibilityLevel
    checkpoint_size_bytes: uint64
    trace_record: RestoreTraceRecord
    restore_time_ms: uint64
    restore_profile_id: str | None = None


def source_hash_of(header: Header) -> bytes:
    """Return the hash that names the run a checkpoint comes from (seed 002 §0.L; requirement C53)."""
    preimage = ["source_run", header["tenant_id"], header["run_id"], header["manifest_hash"]]
    return sha256(encode_canonical(preimage)).digest()


def compatibility_level_of(header: Header) -> CompatibilityLevel:
    """Return how a valid header's MINOR stands to the newest registered one.

    A header of an older MINOR is read as its migration would leave it: the two differ in nothing but the version.
    """
    version, newest = parse_version(str(header["checkpoint_schema_version"])), parse_version(NEWEST)
    assert version is not None
    assert newest is not None
    if version.minor == newest.minor:
        return "exact"
    return "minor_newer" if version.minor > newest.minor else "migrated"


def restore_report(
    header: Header, checkpoint_size_bytes: int, restore_time_ms: int, restore_profile_id: str | None = None
) -> RestoreReport:
    """Return the report of a restore that succeeded."""
    trace_record = RestoreTraceRecord(
        schema_version=str(header["checkpoint_schema_version"]),
        source_hash=source_hash_of(header),
        step=STEP,
        status=SUCCESS,
        checkpoint_hash=checkpoint_hash_of(header),
        restore_status=SUCCESS,
    )
    return RestoreReport(
        status=SUCCESS,
        compatibility_level=compatibility_level_of(header),
        checkpoint_size_bytes=checkpoint_size_bytes,
        trace_record=trace_record,
        restore_time_ms=restore_time_ms,
        restore_profile_id=restore_profile_id,
    )
