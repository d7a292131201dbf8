"""The certificate of a run: what was committed, signed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from impl.reference.checkpoint.certificate import RUN_CERTIFICATE, encode_certificate
from impl.reference.checkpoint.field_type import is_bytes32

# Signed as the caller of a commit gives them: nothing else in a run says what they are.
ROOT_HASHES: Final = ("trace_tail_hash", "checkpoint_merkle_root", "lineage_root_hash")


@dataclass(frozen=True, slots=True)
class Run:
    """Name a run, the hashes that it binds and the hashes of its three objects."""

    tenant_id: str
    run_id: str
    trace_tail_hash: bytes
    checkpoint_merkle_root: bytes
    lineage_root_hash: bytes
    trace: bytes
    checkpoint: bytes
    lineage: bytes


def run_payload(run: Run) -> dict[str, object]:
    """Return the payload that binds trace, checkpoint and lineage (seed 002 §II.J; requirement C36)."""
    return {
        "tenant_id": run.tenant_id,
        "run_id": run.run_id,
        "trace_tail_hash": run.trace_tail_hash,
        "checkpoint_merkle_root": run.checkpoint_merkle_root,
        "lineage_root_hash": run.lineage_root_hash,
        "trace": run.trace,
        "checkpoint": run.checkpoint,
        "lineage": run.lineage,
    }


def encode_run_certificate(run: Run, signing_key: bytes) -> bytes:
    """Return the canonical bytes of the run's certificate, signed."""
    return encode_certificate(RUN_CERTIFICATE, run_payload(run), signing_key)


def missing_hashes(payload: Mapping[str, object]) -> Iterator[str]:
    """Yield the root hashes that a payload has not; keys that no commit writes are left alone (ruling CA41)."""
    yield from (name for name in ROOT_HASHES if not is_bytes32(payload.get(name)))
