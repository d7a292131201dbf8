"""The write-ahead log of a run commit: one file per record, each complete under its name or not there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, get_args

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint import disk
from impl.reference.checkpoint.fields import CHECKS, FieldType, is_bytes32, is_named_map, is_string, is_uint64
from impl.reference.checkpoint.manifest import crc32c

RecordType = Literal["PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE", "ROLLBACK"]
RECORD_TYPES: Final = get_args(RecordType)

NO_RECORD: Final = bytes(32)

# What each type says beyond the common keys (rulings CA29, CA36).
DETAILS: Final[Mapping[str, Mapping[str, FieldType]]] = {
    "PREPARE": {"t": "uint64", "replay_token": "bytes32"},
    "OBJECTS": {"trace": "bytes32", "checkpoint": "bytes32", "lineage": "bytes32"},
    "CERT_SIGNED": {"certificate_hash": "bytes32"},
    "FINALIZE": {"certificate_hash": "bytes32"},
    "ROLLBACK": {},
}


@dataclass(frozen=True, slots=True)
class WalRecord:
    """Hold one record; `prev_record_hash` is 32 zero bytes in the first (ruling CA30)."""

    tenant_id: str
    run_id: str
    wal_seq: int
    record_type: RecordType
    prev_record_hash: bytes
    details: Mapping[str, object] = field(default_factory=dict)


def record_map(record: WalRecord) -> dict[str, object]:
    """Return the record as a map without its hash."""
    return {
        "tenant_id": record.tenant_id,
        "run_id": record.run_id,
        "wal_seq": record.wal_seq,
        "record_type": record.record_type,
        "prev_record_hash": record.prev_record_hash,
        **record.details,
    }


def record_hash_of(record: WalRecord) -> bytes:
    """Return the hash of a record; length and checksum are framing and no part of it (ruling CA29)."""
    return sha256(encode_canonical(["wal_record", record_map(record)])).digest()


def frame(record: WalRecord) -> bytes:
    """Return the bytes of a record's file: length, map with hash, checksum of the map's bytes (ruling CA29)."""
    content = encode_canonical({**record_map(record), "record_hash": record_hash_of(record)})
    return len(content).to_bytes(4, "little") + content + crc32c(content).to_bytes(4, "little")


def unframe(data: bytes) -> WalRecord | None:
    """Return the record of a file's bytes, None where anything about them is wrong."""
    if len(data) < 8:
        return None
    length, content, checksum = data[:4], data[4:-4], data[-4:]
    if int.from_bytes(length, "little") != len(content):
        return None
    if int.from_bytes(checksum, "little") != crc32c(content):
        return None
    try:
        item = decode_canonical(content)
    except NotCanonical:
        return None
    record = _typed(item)
    # A record can be written in one way only: any other bytes are no record.
    if record is None or frame(record) != data:
        return None
    return record


def _typed(item: object) -> WalRecord | None:
    if not is_named_map(item):
        return None
    record_type = item.get("record_type")
    if record_type not in RECORD_TYPES:
        return None
    tenant_id, run_id, wal_seq = item.get("tenant_id"), item.get("run_id"), item.get("wal_seq")
    if not is_string(tenant_id) or not is_string(run_id) or not is_uint64(wal_seq):
        return None
    prev_record_hash = item.get("prev_record_hash")
    if not is_bytes32(prev_record_hash):
        return None
    details: dict[str, object] = {}
    for name, detail_type in DETAILS[str(record_type)].items():
        detail = item.get(name)
        if not CHECKS[detail_type](detail):
            return None
        details[name] = detail
    return WalRecord(tenant_id, run_id, wal_seq, record_type, prev_record_hash, details)  # type: ignore[arg-type]


FOLDER: Final = "wal"
RECORD_NAME: Final = re.compile(r"[0-9]{20}\.rec")
TEMPORARY_NAME: Final = re.compile(r"\.[0-9]{20}\.rec\.tmp")
MAX_RECORD_BYTES: Final = 65_536

# What may follow what; a log that ends in FINALIZE or ROLLBACK is over.
SEQUENCE: Final = ("PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE")


class InvalidRecord(Exception):
    """A record, or the log around it, is corrupt; `path` is relative to the run's root, `before` comes before it."""

    def __init__(self, path: str, before: Sequence[WalRecord]) -> None:
        super().__init__(path)
        self.path = path
        self.before = before


def record_name(wal_seq: int) -> str:
    """Return the file name of a record (ruling CA31)."""
    return f"{wal_seq:020}.rec"


def temporary_path(wal_seq: int) -> str:
    """Return the path under which a record is written, relative to the run's root (ruling CA31)."""
    return f"{FOLDER}/.{record_name(wal_seq)}.tmp"


def next_record(records: Sequence[WalRecord], record: WalRecord) -> WalRecord:
    """Return a record chained to the last of a log."""
    prev_record_hash = record_hash_of(records[-1]) if records else NO_RECORD
    return WalRecord(
        record.tenant_id, record.run_id, len(records), record.record_type, prev_record_hash, record.details
    )


def append(root: Path, record: WalRecord) -> None:
    """Write a record so that it is whole and durable before anything that follows it."""
    folder = root / FOLDER
    temporary = root / temporary_path(record.wal_seq)
    disk.remove(temporary)
    with disk.new_file(temporary) as file:
        disk.write(file, frame(record))
        disk.sync(file)
    disk.rename(temporary, folder / record_name(record.wal_seq))
    disk.sync_folder(folder)


def read_records(root: Path) -> list[WalRecord]:
    """Return the records of a log in order, none if there is no log; InvalidRecord.

    What has not the name of a record is ignored. Because a record is renamed into place, a torn one is corruption, the
    last one too (ruling CA31).
    """
    records: list[WalRecord] = []
    for name in _names(root):
        due = record_name(len(records))
        if name != due:
            raise InvalidRecord(f"{FOLDER}/{due}", records)
        record = _read_record(root, name)
        if record is None or record != next_record(records, record):
            raise InvalidRecord(f"{FOLDER}/{name}", records)
        if not _may_follow(records, record):
            raise InvalidRecord(f"{FOLDER}/{name}", records)
        records.append(record)
    return records


def _names(root: Path) -> list[str]:
    folder = root / FOLDER
    if not disk.is_folder(folder):
        return []
    return sorted(name for name in disk.names(folder) if RECORD_NAME.fullmatch(name))


def _read_record(root: Path, name: str) -> WalRecord | None:
    try:
        return unframe(disk.read(root / FOLDER / name, MAX_RECORD_BYTES))
    except (disk.LimitExceeded, disk.NotRegular):
        return None


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
            disk.remove_file(folder / name)


def is_over(records: Sequence[WalRecord]) -> bool:
    """Tell whether nothing may follow the last record."""
    return bool(records) and records[-1].record_type in ("FINALIZE", "ROLLBACK")
