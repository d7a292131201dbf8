"""A checkpoint in one piece, verified and restored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint.container import (
    BLOB_DIGESTS,
    chain_faults,
    digest_faults,
    expectation_faults,
    identity_faults,
)
from impl.reference.checkpoint.fields import Fault, is_bytes32, refuse, refuse_any
from impl.reference.checkpoint.report import RestoreReport, Step, Stopwatch, restore_report
from impl.reference.checkpoint.schema import MAX_HEADER_BYTES, Header, checkpoint_hash_of, header_faults, limit_faults
from impl.types import Value, bytes32

FORMAT: Final = "uml_os_checkpoint_v1"

# The array head, the format's text of 21 bytes and the hash's byte string of 34 are around the header.
MAX_BLOB_BYTES: Final = 1 + 21 + MAX_HEADER_BYTES + 34


# Represents the header of a blob that does not open, because null is a header too.
SHUT: Final = object()


@dataclass(frozen=True, slots=True)
class OpenedBlob:
    """Hold what a blob says, however wrong, or the fault that keeps it shut."""

    header: object = SHUT
    checkpoint_hash: bytes = b""
    fault: Fault | None = None


def encode_blob(header: Header) -> bytes:
    """Return the canonical CBOR of the format, the header and its hash (ruling CA23)."""
    return encode_canonical([FORMAT, header, checkpoint_hash_of(header)])


def open_blob(checkpoint_blob: bytes) -> OpenedBlob:
    """Take a blob apart; nothing of a blob that is too long is looked at (requirements C07, C11; ruling CA23)."""
    if len(checkpoint_blob) > MAX_BLOB_BYTES:
        return OpenedBlob(fault=Fault("checkpoint_blob", "LIMIT_EXCEEDED"))
    try:
        parts = decode_canonical(checkpoint_blob)
    except NotCanonical:
        return OpenedBlob(fault=Fault("checkpoint_blob", "NON_CANONICAL"))
    if not isinstance(parts, list) or len(parts) != 3 or parts[0] != FORMAT:
        return OpenedBlob(fault=Fault("checkpoint_blob", "WRONG_TYPE"))
    if not is_bytes32(parts[2]):
        return OpenedBlob(header=parts[1], fault=Fault("checkpoint_hash", "WRONG_TYPE"))
    return OpenedBlob(header=parts[1], checkpoint_hash=parts[2])


SERIALIZE: Final = "UML_OS.Checkpoint.Serialize_v1"


@dataclass(frozen=True, slots=True)
class SerializedCheckpoint:
    """Hold a checkpoint in one piece, the hash of its header, and the report on what was written."""

    checkpoint_blob: bytes
    checkpoint_hash: bytes32
    report: RestoreReport


def serialize(*, header: Value) -> SerializedCheckpoint:
    """Serialize a header in canonical CBOR, attach its hash and restore the blob in verification mode.

    A header that its schema refuses fails with the first reason (seed 002 §5, §6, §II.F; requirements C06, C08, C10,
    C58, C59; rulings CA23, CA43).
    """
    stopwatch = Stopwatch()
    refuse_any(SERIALIZE, header_faults(header), header)
    assert isinstance(header, dict)
    refuse_any(SERIALIZE, limit_faults(header), header)
    checkpoint_blob, checkpoint_hash = encode_blob(header), checkpoint_hash_of(header)
    restore(checkpoint_blob=checkpoint_blob, expected={"checkpoint_hash": checkpoint_hash}, verify=True)
    report = restore_report(header, "serialize", len(checkpoint_blob), stopwatch.elapsed_ms())
    return SerializedCheckpoint(checkpoint_blob, checkpoint_hash, report)


RESTORE: Final = "UML_OS.Checkpoint.Restore_v1"


@dataclass(frozen=True, slots=True)
class RestoredHeader:
    """Hold the report, and the header as it was stored, unknown fields included; a verification has no header."""

    report: RestoreReport
    header: Value | None = None


def restore(*, checkpoint_blob: bytes, expected: Value, verify: bool | None = None) -> RestoredHeader:
    """Verify a blob's form, schema, hash and identity, and return its header unless it was only to be verified.

    Absent keys of `expected` are not compared. Fails with the first reason that applies; a differing identity field is
    REPLAY_DIVERGENCE (seed 002 §5, §6, §II.I; requirements C07, C09, C11-C13, C58; rulings CA11, CA23, CA43).
    """
    stopwatch = Stopwatch()
    opened = open_blob(checkpoint_blob)
    header = opened.header
    faults = list(expectation_faults(expected, BLOB_DIGESTS))
    if opened.fault is not None:
        faults.append(opened.fault)
    if opened.header is not SHUT:
        faults += header_faults(header)
    refuse_any(RESTORE, faults, header)
    assert isinstance(header, dict)
    assert isinstance(expected, dict)

    checkpoint_hash = checkpoint_hash_of(header)
    if opened.checkpoint_hash != checkpoint_hash:
        refuse(RESTORE, [Fault("checkpoint_hash", "HASH_MISMATCH")], header)
    refuse_any(RESTORE, digest_faults(expected, {"checkpoint_hash": checkpoint_hash}), header)
    refuse_any(RESTORE, chain_faults(expected, header), header)
    refuse_any(RESTORE, identity_faults(expected, header), header)
    step: Step = "verify" if verify else "restore"
    report = restore_report(header, step, len(checkpoint_blob), stopwatch.elapsed_ms())
    return RestoredHeader(report=report, header=None if verify else header)
