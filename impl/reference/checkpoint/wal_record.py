"""A record of the run's write-ahead log: one map, framed, chained to the record before it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal, get_args

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint.crc32c import crc32c
from impl.reference.checkpoint.field_type import is_bytes32, is_named_map, is_string, is_uint64

RecordType = Literal["PREPARE", "OBJECTS", "CERT_SIGNED", "FINALIZE", "ROLLBACK"]
RECORD_TYPES: Final = get_args(RecordType)

NO_RECORD: Final = bytes(32)

# What each type says beyond the common keys, all of it 32 bytes (ruling CA29 and INTERFACES, run layout).
DETAILS: Final[Mapping[str, tuple[str, ...]]] = {
    "PREPARE": (),
    "OBJECTS": ("trace", "checkpoint", "lineage"),
    "CERT_SIGNED": ("certificate_hash",),
    "FINALIZE": ("certificate_hash",),
    "ROLLBACK": (),
}


@dataclass(frozen=True, slots=True)
class WalRecord:
    """Hold one record; `prev_record_hash` is 32 zero bytes in the first (ruling CA30)."""

    tenant_id: str
    run_id: str
    wal_seq: int
    record_type: RecordType
    prev_record_hash: bytes
    details: Mapping[str, bytes] = field(default_factory=dict)


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
    # One record has one file: whatever would be written otherwise is no record.
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
    details: dict[str, bytes] = {}
    for name in DETAILS[str(record_type)]:
        detail = item.get(name)
        if not is_bytes32(detail):
            return None
        details[name] = detail
    return WalRecord(tenant_id, run_id, wal_seq, record_type, prev_record_hash, details)  # type: ignore[arg-type]
