"""The place of a run: its pointer and its two folders, each of its own kind."""

from collections.abc import Iterator
from pathlib import Path

from impl.reference.checkpoint import disk, pointer, run_object, wal
from impl.reference.checkpoint.reason import Fault


def run_faults(root: Path) -> Iterator[Fault]:
    """Yield a fault for the pointer and each folder of a run that is a link or anything else than it should be."""
    if disk.exists(root / pointer.NAME) and not disk.is_file(root / pointer.NAME):
        yield Fault(pointer.NAME, "BAD_PATH")
    for folder in (run_object.FOLDER, wal.FOLDER):
        if disk.exists(root / folder) and not disk.is_folder(root / folder):
            yield Fault(folder, "BAD_PATH")
