"""The certificate of a run: what was committed, signed."""

from dataclasses import dataclass

from impl.reference.checkpoint.certificate import RUN_CERTIFICATE, encode_certificate


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
