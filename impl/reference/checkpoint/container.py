"""A container on disk, opened: its files by size, its header and its manifest as they stand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from impl.reference.canonical_cbor import NotCanonical, decode_canonical
from impl.reference.checkpoint import disk
from impl.reference.checkpoint.header import MAX_HEADER_BYTES
from impl.reference.checkpoint.manifest import MAX_MANIFEST_BYTES, MAX_SHARDS
from impl.reference.checkpoint.path import HEADER_PATH, MANIFEST_PATH
from impl.reference.checkpoint.reason import Fault

# Every shard may stand in a folder of its own, with one folder around it.
MAX_ENTRIES: Final = 3 * MAX_SHARDS + 16


@dataclass(frozen=True, slots=True)
class Document:
    """Hold one CBOR file of a container: its bytes and its item, or the fault that keeps them away."""

    content: bytes = b""
    item: object = None
    fault: Fault | None = None


def read_document(folder: Path, path: str, sizes: dict[str, int], most_bytes: int) -> Document:
    """Read one CBOR file of a container; nothing of a file that is too long is looked at."""
    if path not in sizes:
        return Document(fault=Fault(path, "MISSING_SHARD"))
    try:
        content = disk.read(folder / path, most_bytes)
    except disk.LimitExceeded:
        return Document(fault=Fault(path, "LIMIT_EXCEEDED"))
    try:
        return Document(content, decode_canonical(content))
    except NotCanonical:
        return Document(content, fault=Fault(path, "NON_CANONICAL"))


def read_header(folder: Path, sizes: dict[str, int]) -> Document:
    """Read a container's header (ruling CA15)."""
    return read_document(folder, HEADER_PATH, sizes, MAX_HEADER_BYTES)


def read_manifest(folder: Path, sizes: dict[str, int]) -> Document:
    """Read a container's manifest."""
    return read_document(folder, MANIFEST_PATH, sizes, MAX_MANIFEST_BYTES)
