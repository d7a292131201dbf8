"""A checkpoint in one piece, verified and restored."""

from dataclasses import dataclass
from typing import Final

from impl.reference.checkpoint.blob import SHUT, open_blob
from impl.reference.checkpoint.expected import (
    BLOB_DIGESTS,
    chain_faults,
    digest_faults,
    expectation_faults,
    identity_faults,
)
from impl.reference.checkpoint.header import checkpoint_hash_of, header_faults
from impl.reference.checkpoint.reason import Fault, refuse, refuse_any
from impl.reference.checkpoint.report import RestoreReport, restore_report
from impl.reference.checkpoint.stopwatch import Stopwatch
from impl.types import Value

OPERATOR: Final = "UML_OS.Checkpoint.Restore_v1"


@dataclass(frozen=True, slots=True)
class RestoredHeader:
    """Hold the header as it was stored, unknown fields included, and the report."""

    header: Value
    report: RestoreReport


def restore(*, checkpoint_blob: bytes, expected: Value) -> RestoredHeader:
    """Verify a blob's form, schema, hash and identity, and return its header.

    Absent keys of `expected` are not compared. Fails with the first reason that applies; a differing identity field is
    REPLAY_DIVERGENCE (seed 002 §5, §II.I; requirements C07, C09, C11-C13; rulings CA11, CA23).
    """
    stopwatch = Stopwatch()
    opened = open_blob(checkpoint_blob)
    header = opened.header
    faults = list(expectation_faults(expected, BLOB_DIGESTS))
    if opened.fault is not None:
        faults.append(opened.fault)
    if opened.header is not SHUT:
        faults += header_faults(header)
    refuse_any(OPERATOR, faults, header)
    assert isinstance(header, dict)
    assert isinstance(expected, dict)

    checkpoint_hash = checkpoint_hash_of(header)
    if opened.checkpoint_hash != checkpoint_hash:
        refuse(OPERATOR, [Fault("checkpoint_hash", "HASH_MISMATCH")], header)
    refuse_any(OPERATOR, digest_faults(expected, {"checkpoint_hash": checkpoint_hash}), header)
    refuse_any(OPERATOR, chain_faults(expected, header), header)
    refuse_any(OPERATOR, identity_faults(expected, header), header)
    return RestoredHeader(header=header, report=restore_report(header, len(checkpoint_blob), stopwatch.elapsed_ms()))
