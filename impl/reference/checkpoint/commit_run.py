"""A run committed: trace, checkpoint, lineage and certificate become visible together or not at all."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from impl.reference.checkpoint import disk, run_store, wal
from impl.reference.checkpoint.disk import folder_faults, root_faults, usable
from impl.reference.checkpoint.fields import Fault, is_string, refuse, refuse_any
from impl.reference.checkpoint.manifest import shard_of
from impl.reference.checkpoint.report import SUCCESS
from impl.reference.checkpoint.run_store import (
    Pointer,
    Run,
    bound_hashes,
    create_pointer,
    encode_run_certificate,
    object_hash_of,
    run_faults,
    write_objects,
)
from impl.reference.checkpoint.wal import RecordType, WalRecord, record_hash_of
from impl.types import bytes32, uint64

OPERATOR: Final = "UML_OS.Checkpoint.CommitRun_v1"

# Two names and a few hashes always fit in a record, a pointer and a certificate.
MAX_ID_BYTES: Final = 4_096


@dataclass(frozen=True, slots=True)
class RunCommitRecord:
    """Say of which run what was committed (seed 002 §II.J, step 4; requirement C59; ruling CA43)."""

    tenant_id: str
    run_id: str
    t: uint64
    replay_token: bytes32
    status: str
    trace_tail_hash: bytes32
    checkpoint_merkle_root: bytes32
    lineage_root_hash: bytes32


@dataclass(frozen=True, slots=True)
class CommittedRun:
    """Hold the hash of the certificate, that of the record that ends the log, and the record of the commit."""

    certificate_hash: bytes32
    wal_terminal_hash: bytes32
    run_commit_record: RunCommitRecord


def commit_run(
    *,
    root: str,
    tenant_id: str,
    run_id: str,
    t: uint64,
    replay_token: bytes32,
    trace: bytes,
    checkpoint: bytes,
    lineage: bytes,
    signing_key: bytes32,
) -> CommittedRun:
    """Commit a run in a root that holds none: log, objects, certificate, pointer, log, each durable before the next.

    The three hashes of the certificate are computed from the objects. A root with a pointer or a record is
    TARGET_EXISTS: an interrupted commit is recovered first. A folder where a file is to be written is BAD_PATH. An
    error of the disk stops the operator and deletes nothing (seed 002 §II.J; requirements C35, C36, C40, C57; rulings
    CA26, CA28, CA31, CA36, CA42).
    """
    step: dict[str, object] = {"t": t, "replay_token": replay_token}
    faults = [*root_faults(root), *_id_faults("tenant_id", tenant_id), *_id_faults("run_id", run_id)]
    refuse_any(OPERATOR, faults, step)
    run = Run(
        tenant_id=tenant_id,
        run_id=run_id,
        trace=shard_of("trace", trace),
        checkpoint=shard_of("checkpoint", checkpoint),
        lineage=shard_of("lineage", lineage),
    )
    certificate = encode_run_certificate(run, signing_key)
    with usable(OPERATOR, step):
        refuse_any(OPERATOR, run_faults(Path(root)), step)
        written = [object_hash_of(content) for content in (trace, checkpoint, lineage, certificate)]
        refuse_any(OPERATOR, [*_target_faults(Path(root)), *folder_faults(Path(root), _paths(written))], step)
        certificate_hash, wal_terminal_hash = _commit(Path(root), run, step, [trace, checkpoint, lineage], certificate)
    record = RunCommitRecord(tenant_id, run_id, t, replay_token, SUCCESS, **bound_hashes(run))
    return CommittedRun(certificate_hash, wal_terminal_hash, record)


def _id_faults(name: str, text: str) -> Iterator[Fault]:
    if not is_string(text):
        yield Fault(name, "WRONG_TYPE")
    elif len(text.encode()) > MAX_ID_BYTES:
        yield Fault(name, "LIMIT_EXCEEDED")


def _target_faults(root: Path) -> Iterator[Fault]:
    if disk.exists(root / run_store.NAME):
        yield Fault(run_store.NAME, "TARGET_EXISTS")
    if wal.is_started(root):
        yield Fault(wal.FOLDER, "TARGET_EXISTS")


def _paths(written: list[bytes]) -> Iterator[str]:
    """Yield every path under which a commit of these objects writes a file."""
    yield run_store.TEMPORARY_POINTER
    yield from map(run_store.object_path, written)
    yield from map(run_store.temporary_object_path, written)
    yield from map(wal.temporary_path, range(len(wal.SEQUENCE)))


def _commit(
    root: Path, run: Run, step: dict[str, object], contents: list[bytes], certificate: bytes
) -> tuple[bytes, bytes]:
    disk.make_folder(root / wal.FOLDER)
    disk.make_folder(root / run_store.FOLDER)
    disk.sync_folder(root)

    records: list[WalRecord] = []
    _append(root, records, _record(run, "PREPARE", step))

    write_objects(root, contents)
    objects: dict[str, object] = {
        "trace": run.trace.sha256,
        "checkpoint": run.checkpoint.sha256,
        "lineage": run.lineage.sha256,
    }
    _append(root, records, _record(run, "OBJECTS", objects))

    certificate_hash = object_hash_of(certificate)
    write_objects(root, [certificate])
    _append(root, records, _record(run, "CERT_SIGNED", {"certificate_hash": certificate_hash}))

    # The pointer binds the record that follows it, so that recovery can append the same bytes (ruling CA28).
    finalize = wal.next_record(records, _record(run, "FINALIZE", {"certificate_hash": certificate_hash}))
    wal_terminal_hash = record_hash_of(finalize)
    committed = Pointer(
        run.run_id, run.trace.sha256, run.checkpoint.sha256, run.lineage.sha256, certificate_hash, wal_terminal_hash
    )
    if not create_pointer(root, committed):
        refuse(OPERATOR, [Fault(run_store.NAME, "TARGET_EXISTS")], step)
    wal.append(root, finalize)
    return certificate_hash, wal_terminal_hash


def _record(run: Run, record_type: RecordType, details: dict[str, object]) -> WalRecord:
    return WalRecord(run.tenant_id, run.run_id, 0, record_type, bytes(32), details)


def _append(root: Path, records: list[WalRecord], record: WalRecord) -> None:
    chained = wal.next_record(records, record)
    wal.append(root, chained)
    records.append(chained)
