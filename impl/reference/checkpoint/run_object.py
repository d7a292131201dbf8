"""The objects of a run: immutable files named by the hash of their content."""

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

from impl.reference.checkpoint import disk
from impl.reference.checkpoint.reason import Fault

FOLDER: Final = "objects"
OBJECT_NAME: Final = re.compile(r"[0-9a-f]{64}")
TEMPORARY_NAME: Final = re.compile(r"\.[0-9a-f]{64}\.tmp")


def object_hash_of(content: bytes) -> bytes:
    """Return the hash that names an object."""
    return sha256(content).digest()


def object_path(object_hash: bytes) -> str:
    """Return the path of an object, relative to the run's root."""
    return f"{FOLDER}/{object_hash.hex()}"


def write_objects(root: Path, contents: Iterable[bytes]) -> None:
    """Write objects so that they and their names are durable."""
    for content in contents:
        _write_object(root, content)
    disk.sync_folder(root / FOLDER)


def _write_object(root: Path, content: bytes) -> None:
    object_hash = object_hash_of(content)
    final = root / object_path(object_hash)
    temporary = final.with_name(f".{final.name}.tmp")
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


def remove_objects(root: Path) -> None:
    """Remove all finished objects."""
    _remove_matching(root / FOLDER, OBJECT_NAME)


def remove_temporaries(root: Path) -> None:
    """Remove the objects that were never finished."""
    _remove_matching(root / FOLDER, TEMPORARY_NAME)


def _remove_matching(folder: Path, form: re.Pattern[str]) -> None:
    if not disk.is_folder(folder):
        return
    for name in sorted(disk.names(folder)):
        if form.fullmatch(name):
            disk.remove(folder / name)
