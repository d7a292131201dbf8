"""What a restore says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic_ns
from typing import Final, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint.fields import is_named_map
from impl.reference.checkpoint.schema import NEWEST, Header, checkpoint_hash_of, parse_version
from impl.types import bytes32, uint64


class Stopwatch:
    """Measure from its creation on."""

    def __init__(self) -> None:
        self._since = monotonic_ns()

    def elapsed_ms(self) -> int:
        """Return the whole milliseconds since the creation."""
        return (monotonic_ns() - self._since) // 1_000_000


def sign(payload: Mapping[str, object], signing_key: bytes) -> bytes:
    """Return the 64 bytes of signature of a payload by the key whose seed has these 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(signing_key).sign(encode_canonical(payload))


def is_signed(payload: Mapping[str, object], signature: object, public_key: bytes) -> bool:
    """Tell whether a signature is that of the payload by the owner of the public key (requirement C37)."""
    if not isinstance(signature, bytes):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, encode_canonical(payload))
    except (InvalidSignature, ValueError):
        return False
    return True


def public_key_of(signing_key: bytes) -> bytes:
    """Return the 32 bytes of the public key that belongs to a seed."""
    return Ed25519PrivateKey.from_private_bytes(signing_key).public_key().public_bytes_raw()


RUN_CERTIFICATE: Final = "run_certificate_v1"
MIGRATION_CERTIFICATE: Final = "migration_certificate_v1"
MAX_CERTIFICATE_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Certificate:
    """Hold the parts of a certificate as they were read."""

    payload: dict[str, object]
    signature: object


def encode_certificate(certificate_format: str, payload: Mapping[str, object], signing_key: bytes) -> bytes:
    """Return the canonical bytes of a certificate, signed (seed 002 §II.J, §II.K; requirement C42)."""
    return encode_canonical([certificate_format, dict(payload), sign(payload, signing_key)])


def decode_certificate(certificate: bytes, certificate_format: str) -> Certificate | None:
    """Return the parts of a certificate of that format, None for any other bytes; the signature is not verified."""
    try:
        parts = decode_canonical(certificate)
    except NotCanonical:
        return None
    if not isinstance(parts, list) or len(parts) != 3 or parts[0] != certificate_format:
        return None
    if not is_named_map(parts[1]):
        return None
    return Certificate(payload=parts[1], signature=parts[2])


def is_certified(certificate: Certificate, public_key: bytes) -> bool:
    """Tell whether the owner of the public key signed exactly this payload (requirement C37)."""
    return is_signed(certificate.payload, certificate.signature, public_key)


CompatibilityLevel = Literal["exact", "minor_newer", "migrated"]

SUCCESS: Final = "success"

Step = Literal["serialize", "write", "restore", "verify"]

# What a record says of the restore: a write may have none, a verification gives nothing back (ruling CA43).
RESTORE_STATUS: Final[Mapping[Step, str]] = {
    "serialize": "verified",
    "write": "not_restored",
    "restore": SUCCESS,
    "verify": "verified",
}


@dataclass(frozen=True, slots=True)
class RestoreTraceRecord:
    """Hold the fields of run_header, iter and run_end (seed 002 §7; requirements C48, C59)."""

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
    """Return how a valid header's MINOR compares with the newest registered one.

    A header of an older MINOR is read as its migration would leave it: only the version differs.
    """
    version, newest = parse_version(str(header["checkpoint_schema_version"])), parse_version(NEWEST)
    assert version is not None
    assert newest is not None
    if version.minor == newest.minor:
        return "exact"
    return "minor_newer" if version.minor > newest.minor else "migrated"


def trace_record_of(header: Header, step: Step) -> RestoreTraceRecord:
    """Return the record that a write or a restore leaves when it succeeded (ruling CA43)."""
    return RestoreTraceRecord(
        schema_version=str(header["checkpoint_schema_version"]),
        source_hash=source_hash_of(header),
        step=step,
        status=SUCCESS,
        checkpoint_hash=checkpoint_hash_of(header),
        restore_status=RESTORE_STATUS[step],
    )


def restore_report(
    header: Header,
    step: Step,
    checkpoint_size_bytes: int,
    restore_time_ms: int,
    restore_profile_id: str | None = None,
) -> RestoreReport:
    """Return the report of a restore or a verification that succeeded."""
    return RestoreReport(
        status=SUCCESS,
        compatibility_level=compatibility_level_of(header),
        checkpoint_size_bytes=checkpoint_size_bytes,
        trace_record=trace_record_of(header, step),
        restore_time_ms=restore_time_ms,
        restore_profile_id=restore_profile_id,
    )
