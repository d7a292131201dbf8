"""The pointer: the one name whose appearance commits a run (seed 002 §II.J; ruling CA26)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint import disk
from impl.reference.checkpoint.field_type import FieldType, is_named_map
from impl.reference.checkpoint.fields import Fields, field_faults

NAME: Final = "COMMITTED"
TEMPORARY_NAME: Final = ".COMMITTED.tmp"
MAX_POINTER_BYTES: Final = 65_536

POINTER_TYPES: Final[Mapping[str, FieldType]] = {
    "run_id": "string",
    "trace": "bytes32",
    "checkpoint": "bytes32",
    "lineage": "bytes32",
    "certificate": "bytes32",
    "wal_terminal_hash": "bytes32",
}
POINTER: Final = Fields(required=POINTER_TYPES, optional={})


@dataclass(frozen=True, slots=True)
class Pointer:
    """Name a run, the hashes of its four objects, and the hash of the record that will end its log (ruling CA28)."""

    run_id: str
    trace: bytes
    checkpoint: bytes
    lineage: bytes
    certificate: bytes
    wal_terminal_hash: bytes


def create_pointer(root: Path, pointer: Pointer) -> bool:
    """Create the pointer whole and durable; tell whether there was none."""
    temporary = root / TEMPORARY_NAME
    disk.remove(temporary)
    with disk.new_file(temporary) as file:
        disk.write(file, encode_canonical(asdict(pointer)))
        disk.sync(file)
    created = disk.link_if_absent(temporary, root / NAME)
    disk.sync_folder(root)
    disk.remove(temporary)
    return created


def read_pointer(root: Path) -> Pointer | None:
    """Return the pointer of a run, None where it is absent or not a pointer at all."""
    try:
        item = decode_canonical(disk.read(root / NAME, MAX_POINTER_BYTES))
    except (FileNotFoundError, NotCanonical, disk.LimitExceeded, disk.NotRegular):
        return None
    if not is_named_map(item) or any(field_faults(item, POINTER)):
        return None
    return Pointer(**item)  # type: ignore[arg-type]
