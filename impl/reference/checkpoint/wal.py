"""The write-ahead log of a run commit: one file per record, each complete under its name or not there."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from impl.reference.checkpoint import disk
from impl.reference.checkpoint.wal_record import NO_RECORD, WalRecord, frame, record_hash_of, unframe

FOLDER: Final = "wal"
RECORD_NAME: Final = re.compile(r"[0-9]{20}\.rec")
TEMPORARY_NAME: Final = re.compile(r"\.[0-9]{20}\.rec\.tmp")
MAX_RECORD_BYTES: Final = 65_536

# What may follow what; a log that ends in FINALIZE or ROLLBACK is over.
SEQUENCE: Final = ("PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE")


class InvalidRecord(Exception):
    """A record, or the log around it, is corrupt; `path` is relative to the run's root."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def record_name(wal_seq: int) -> str:
    """Return the file name of a record (ruling CA31)."""
    return f"{wal_seq:020}.rec"


def next_record(records: Sequence[WalRecord], record: WalRecord) -> WalRecord:
    """Return a record chained to the last of a log."""
    prev_record_hash = record_hash_of(records[-1]) if records else NO_RECORD
    return WalRecord(
        record.tenant_id, record.run_id, len(records), record.record_type, prev_record_hash, record.details
    )


def append(root: Path, record: WalRecord) -> None:
    """Write a record so that it is whole and durable before anything that follows it."""
    folder = root / FOLDER
    name = record_name(record.wal_seq)
    temporary = folder / f".{name}.tmp"
    disk.remove(temporary)
    with disk.new_file(temporary) as file:
        disk.write(file, frame(record))
        disk.sync(file)
    disk.rename(temporary, folder / name)
    disk.sync_folder(folder)


def read_records(root: Path) -> list[WalRecord]:
    """Return the records of a log in order, none where there is no log; InvalidRecord.

    What has not the name of a record is ignored. Because a record is renamed into place, a torn one is corruption, the
    last one too (ruling CA31).
    """
    records: list[WalRecord] = []
    for name in _names(root):
        due = record_name(len(records))
        if name != due:
            raise InvalidRecord(f"{FOLDER}/{due}")
        record = _read_record(root, name)
        if record != next_record(records, record):
            raise InvalidRecord(f"{FOLDER}/{name}")
        if not _may_follow(records, record):
            raise InvalidRecord(f"{FOLDER}/{name}")
        records.append(record)
    return records


def _names(root: Path) -> list[str]:
    folder = root / FOLDER
    if not disk.is_folder(folder):
        return []
    return sorted(name for name in disk.names(folder) if RECORD_NAME.fullmatch(name))


def _read_record(root: Path, name: str) -> WalRecord:
    try:
        data = disk.read(root / FOLDER / name, MAX_RECORD_BYTES)
    except (disk.LimitExceeded, disk.NotRegular):
        raise InvalidRecord(f"{FOLDER}/{name}") from None
    record = unframe(data)
    if record is None:
        raise InvalidRecord(f"{FOLDER}/{name}")
    return record


def _may_follow(records: Sequence[WalRecord], record: WalRecord) -> bool:
    if records and (record.tenant_id, record.run_id) != (records[0].tenant_id, records[0].run_id):
        return False
    if is_over(records):
        return False
    if record.record_type == "ROLLBACK":
        return bool(records)
    if record.record_type == "FINALIZE" and record.details != records[-1].details:
        return False
    return record.record_type == SEQUENCE[len(records)]


def is_started(root: Path) -> bool:
    """Tell whether a log holds a record."""
    return bool(_names(root))


def remove_temporaries(root: Path) -> None:
    """Remove the records that were never finished."""
    folder = root / FOLDER
    if not disk.is_folder(folder):
        return
    for name in disk.names(folder):
        if TEMPORARY_NAME.fullmatch(name):
            disk.remove(folder / name)


def is_over(records: Sequence[WalRecord]) -> bool:
    """Tell whether nothing may follow the last record."""
    return bool(records) and records[-1].record_type in ("FINALIZE", "ROLLBACK")
