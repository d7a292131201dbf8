"""An interrupted commit, rolled forward or back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from impl.reference.checkpoint import disk, run_store, wal
from impl.reference.checkpoint.disk import folder_faults, root_faults, usable
from impl.reference.checkpoint.fields import Fault, first_fault, is_bytes32, is_uint64, refuse, refuse_any
from impl.reference.checkpoint.report import (
    MAX_CERTIFICATE_BYTES,
    RUN_CERTIFICATE,
    decode_certificate,
    is_certified,
)
from impl.reference.checkpoint.run_store import (
    Pointer,
    Run,
    committed_object,
    object_fault,
    object_path,
    read_pointer,
    run_faults,
    run_payload,
)
from impl.reference.checkpoint.wal import WalRecord, record_hash_of
from impl.types import bytes32, uint64

OPERATOR: Final = "UML_OS.Checkpoint.RecoverRun_v1"


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Say why a run was rolled back, and at which step of which replay (seed 002 §II.J, §0.Z; ruling CA36)."""

    t: uint64
    failure_code: str
    failure_operator: str
    replay_token: bytes32
    reason: str


@dataclass(frozen=True, slots=True)
class RecoveredRun:
    """Hold the state of a run after recovery, and the failure record of one that was rolled back."""

    state: Literal["committed", "rolled_back", "empty"]
    failure: RunFailure | None = None


def recover_run(*, root: str, public_key: bytes32) -> RecoveredRun:
    """Finish a commit whose pointer is valid, take back every other one, and say which.

    It may be called at any time and may itself be interrupted. A torn or foreign record is WAL_CORRUPTION; a commit
    that was finished and is damaged since, or that another key signed, is refused and left as it is (seed 002 §II.J;
    requirements C36-C41; rulings CA27, CA28, CA31, CA41).
    """
    refuse_any(OPERATOR, root_faults(root))
    with usable(OPERATOR):
        refuse_any(OPERATOR, run_faults(Path(root)))
        return _recover(Path(root), public_key)


def _recover(root: Path, public_key: bytes) -> RecoveredRun:
    try:
        records = wal.read_records(root)
    except wal.InvalidRecord as invalid:
        refuse(OPERATOR, [Fault(invalid.path, "WAL_RECORD_INVALID")], _step(invalid.before))
    if records and records[-1].record_type == "ROLLBACK":
        _take_back(root)
        return _rolled_back(records)
    if disk.exists(root / run_store.NAME) and len(records) < len(wal.SEQUENCE) - 1:
        # The pointer is created after all records but the last: one of them is missing.
        refuse(OPERATOR, [Fault(f"{wal.FOLDER}/{wal.record_name(len(records))}", "WAL_RECORD_INVALID")], _step(records))
    if not records:
        _remove_temporaries(root)
        return RecoveredRun("empty")
    last = records[-1].record_type
    faults = list(_commit_faults(root, records, public_key))
    if not faults:
        if last != "FINALIZE":
            _require_place(root, records)
            # What a killed writer left may be seen before it is durable.
            disk.sync_folder(root)
            wal.append(root, _finalize(records))
        _remove_temporaries(root)
        return RecoveredRun("committed")
    if last == "FINALIZE" or first_fault(faults).reason == "SIGNATURE_INVALID":
        refuse(OPERATOR, faults, _step(records))
    _require_place(root, records)
    # First the name by which the run is seen, then the word that it is over, then the rest.
    _withdraw(root / run_store.NAME)
    # The records that a killed writer left may not be durable: none of them may be lost after ROLLBACK is written.
    disk.sync_folder(root / wal.FOLDER)
    wal.append(root, wal.next_record(records, _following(records, "ROLLBACK")))
    _take_back(root)
    return _rolled_back(records)


def _require_place(root: Path, records: Sequence[WalRecord]) -> None:
    """Refuse, before anything changes, a folder where the next record is to be written (ruling CA31)."""
    refuse_any(OPERATOR, folder_faults(root, [wal.temporary_path(len(records))]), _step(records))


def _step(records: Sequence[WalRecord]) -> dict[str, object]:
    """Return the step and the token of a log's run, as its first record says; nothing if the log is empty."""
    return dict(records[0].details) if records else {}


def _rolled_back(records: Sequence[WalRecord]) -> RecoveredRun:
    # Always the same words, so that a second recovery answers like the first (requirement C41).
    t, replay_token = records[0].details["t"], records[0].details["replay_token"]
    assert is_uint64(t)
    assert is_bytes32(replay_token)
    return RecoveredRun(
        "rolled_back", RunFailure(t, "CONTRACT_VIOLATION", OPERATOR, replay_token, "MISSING_COMPONENT")
    )


def _withdraw(committed: Path) -> None:
    disk.remove(committed)
    disk.sync_folder(committed.parent)


def _take_back(root: Path) -> None:
    disk.remove(root / run_store.NAME)
    run_store.remove_objects(root)
    _remove_temporaries(root)


def _remove_temporaries(root: Path) -> None:
    disk.remove_file(root / run_store.TEMPORARY_POINTER)
    wal.remove_temporaries(root)
    run_store.remove_temporaries(root)


def _following(records: list[WalRecord], record_type: Literal["FINALIZE", "ROLLBACK"]) -> WalRecord:
    details = dict(records[-1].details) if record_type == "FINALIZE" else {}
    return WalRecord(records[0].tenant_id, records[0].run_id, len(records), record_type, bytes(32), details)


def _finalize(records: list[WalRecord]) -> WalRecord:
    return wal.next_record(records, _following(records, "FINALIZE"))


def _commit_faults(root: Path, records: list[WalRecord], public_key: bytes) -> Iterator[Fault]:
    """Yield what keeps a run from being committed: its pointer, an object, or what they say of each other."""
    committed = read_pointer(root)
    if committed is None:
        yield Fault(run_store.NAME, "MISSING_COMPONENT")
        return
    yield from _pointer_faults(committed, records)
    objects = [committed.trace, committed.checkpoint, committed.lineage, committed.certificate]
    found = [fault for fault in (object_fault(root, object_hash) for object_hash in objects) if fault is not None]
    yield from found
    if not found:
        yield from _certificate_faults(root, committed, records, public_key)


def _pointer_faults(committed: Pointer, records: list[WalRecord]) -> Iterator[Fault]:
    terminal = records[-1] if records[-1].record_type == "FINALIZE" else _finalize(records)
    said = {
        "run_id": records[0].run_id,
        **records[1].details,
        "certificate": records[2].details["certificate_hash"],
        "wal_terminal_hash": record_hash_of(terminal),
    }
    for name, content in said.items():
        if getattr(committed, name) != content:
            yield Fault(f"{run_store.NAME}.{name}", "HASH_MISMATCH")


def _certificate_faults(root: Path, committed: Pointer, records: list[WalRecord], public_key: bytes) -> Iterator[Fault]:
    path = object_path(committed.certificate)
    try:
        content = disk.read(root / path, MAX_CERTIFICATE_BYTES)
    except disk.LimitExceeded:
        content = b""
    certificate = decode_certificate(content, RUN_CERTIFICATE)
    if certificate is None:
        yield Fault(path, "SIGNATURE_INVALID")
        return
    if not is_certified(certificate, public_key):
        yield Fault(path, "SIGNATURE_INVALID")
        return
    run = Run(
        tenant_id=records[0].tenant_id,
        run_id=records[0].run_id,
        trace=committed_object(root, "trace", committed.trace),
        checkpoint=committed_object(root, "checkpoint", committed.checkpoint),
        lineage=committed_object(root, "lineage", committed.lineage),
    )
    # Further keys are left alone (ruling CA41).
    for name, said in run_payload(run).items():
        if certificate.payload.get(name) != said:
            yield Fault(f"{path}.{name}", "HASH_MISMATCH")
