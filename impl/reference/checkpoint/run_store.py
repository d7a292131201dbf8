"""The certificate of a run: what was committed, signed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical
from impl.reference.checkpoint import disk, wal
from impl.reference.checkpoint.fields import Fault, Fields, FieldType, field_faults, is_named_map
from impl.reference.checkpoint.manifest import Shard, checkpoint_merkle_root, leaf
from impl.reference.checkpoint.report import RUN_CERTIFICATE, encode_certificate

FOLDER: Final = "objects"
OBJECT_NAME: Final = re.compile(r"[0-9a-f]{64}")
TEMPORARY_OBJECT: Final = re.compile(r"\.[0-9a-f]{64}\.tmp")


def object_hash_of(content: bytes) -> bytes:
    """Return the hash that names an object."""
    return sha256(content).digest()


def object_path(object_hash: bytes) -> str:
    """Return the path of an object, relative to the run's root."""
    return f"{FOLDER}/{object_hash.hex()}"


def temporary_object_path(object_hash: bytes) -> str:
    """Return the path under which an object is written, relative to the run's root."""
    return f"{FOLDER}/.{object_hash.hex()}.tmp"


def write_objects(root: Path, contents: Iterable[bytes]) -> None:
    """Write objects so that they and their names are durable."""
    for content in contents:
        _write_object(root, content)
    disk.sync_folder(root / FOLDER)


def _write_object(root: Path, content: bytes) -> None:
    object_hash = object_hash_of(content)
    final = root / object_path(object_hash)
    temporary = root / temporary_object_path(object_hash)
    disk.remove(temporary)
    with disk.new_file(temporary) as file:
        disk.write(file, content)
        disk.sync(file)
    disk.rename(temporary, final)


def object_fault(root: Path, object_hash: bytes) -> Fault | None:
    """Return what is wrong with an object: it is not there, or its content is another one."""
    path = object_path(object_hash)
    if not disk.is_folder(root / FOLDER):
        return Fault(path, "MISSING_COMPONENT")
    try:
        if disk.digest(root / path) != object_hash:
            return Fault(path, "HASH_MISMATCH")
    except (FileNotFoundError, disk.NotRegular):
        return Fault(path, "MISSING_COMPONENT")
    return None


def committed_object(root: Path, name: str, object_hash: bytes) -> Shard:
    """Return an existing object with its content, under the name that the run has for it (ruling CA42)."""
    return Shard(name, object_hash, disk.size(root / object_path(object_hash)))


def remove_objects(root: Path) -> None:
    """Remove all finished objects."""
    _remove_matching(root / FOLDER, OBJECT_NAME)


def remove_temporaries(root: Path) -> None:
    """Remove the objects that were never finished."""
    _remove_matching(root / FOLDER, TEMPORARY_OBJECT)


def _remove_matching(folder: Path, form: re.Pattern[str]) -> None:
    if not disk.is_folder(folder):
        return
    for name in sorted(disk.names(folder)):
        if form.fullmatch(name):
            disk.remove_file(folder / name)


NAME: Final = "COMMITTED"
TEMPORARY_POINTER: Final = ".COMMITTED.tmp"
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
    temporary = root / TEMPORARY_POINTER
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


def run_faults(root: Path) -> Iterator[Fault]:
    """Yield a fault for the pointer and each folder of a run that is a link or anything else than it should be."""
    if disk.exists(root / NAME) and not disk.is_file(root / NAME):
        yield Fault(NAME, "BAD_PATH")
    for folder in (FOLDER, wal.FOLDER):
        if disk.exists(root / folder) and not disk.is_folder(root / folder):
            yield Fault(folder, "BAD_PATH")


def trace_tail_hash_of(trace: Shard) -> bytes:
    """Return the tail of the chain whose one record is the trace (seed 002 §II.J; requirement C57; ruling CA42)."""
    head = object_hash_of(encode_canonical(["trace_chain", []]))
    return object_hash_of(encode_canonical(["trace_chain", [head, trace.sha256]]))


def lineage_root_hash_of(lineage: Shard) -> bytes:
    """Return the joint hash of the one object of the lineage (seed 002 §II.J; requirement C57; ruling CA42)."""
    return object_hash_of(encode_canonical(["lineage_root", [leaf(lineage)]]))


@dataclass(frozen=True, slots=True)
class Run:
    """Name a run, and its three objects as shards: name, hash and size in bytes."""

    tenant_id: str
    run_id: str
    trace: Shard
    checkpoint: Shard
    lineage: Shard


def bound_hashes(run: Run) -> dict[str, bytes]:
    """Return what a commit computes of its objects (seed 002 §II.J, step 2; requirement C57; ruling CA42)."""
    return {
        "trace_tail_hash": trace_tail_hash_of(run.trace),
        "checkpoint_merkle_root": checkpoint_merkle_root([run.checkpoint]),
        "lineage_root_hash": lineage_root_hash_of(run.lineage),
    }


def run_payload(run: Run) -> dict[str, object]:
    """Return the payload that binds trace, checkpoint and lineage (seed 002 §II.J; requirement C36)."""
    return {
        "tenant_id": run.tenant_id,
        "run_id": run.run_id,
        **bound_hashes(run),
        "trace": run.trace.sha256,
        "checkpoint": run.checkpoint.sha256,
        "lineage": run.lineage.sha256,
    }


def encode_run_certificate(run: Run, signing_key: bytes) -> bytes:
    """Return the canonical bytes of the run's certificate, signed."""
    return encode_certificate(RUN_CERTIFICATE, run_payload(run), signing_key)
