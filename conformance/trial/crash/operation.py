"""What a program did to a directory tree in terms of inodes, and the content of a tree by inode."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Create:
    """A new file, or folder, under a name."""

    folder: int
    name: str
    inode: int
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes of a file replaced or appended."""

    inode: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file cut off, or filled up with zeros, at a size."""

    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class Link:
    """A second name for a file."""

    folder: int
    name: str
    inode: int


@dataclass(frozen=True, slots=True)
class Unlink:
    """A name of a file, or an empty folder, taken away."""

    folder: int
    name: str
    inode: int


@dataclass(frozen=True, slots=True)
class Rename:
    """A name moved, atomically; `swapped` is the inode that takes the old name where two names are exchanged."""

    folder: int
    name: str
    to_folder: int
    to_name: str
    inode: int
    swapped: int | None = None


@dataclass(frozen=True, slots=True)
class SyncFile:
    """The content of a file made durable, or one write of it: the bytes from `start` to `end`."""

    inode: int
    start: int = 0
    end: int | None = None
    before: int | None = None  # how many operations had ended when a sync began, if others ended during it


@dataclass(frozen=True, slots=True)
class SyncFolder:
    """The entries of a folder made durable."""

    inode: int
    before: int | None = None


@dataclass(frozen=True, slots=True)
class SyncAll:
    """Everything made durable."""

    before: int | None = None


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """An answer written completely; `answers` counts those so far, the first is the answer to the first step."""

    answers: int


Entry: TypeAlias = Create | Link | Unlink | Rename
Data: TypeAlias = Write | Truncate
EditEffect: TypeAlias = Entry | Data
Operation: TypeAlias = EditEffect | SyncFile | SyncFolder | SyncAll | Acknowledge


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """An operation, how to show it, and which system call it was, counted by name in its process."""

    operation: Operation
    text: str
    call: str
    ordinal: int


def folders_of(entry: Entry) -> tuple[int, ...]:
    """The folders whose entries an operation changes."""
    return (entry.folder, entry.to_folder) if isinstance(entry, Rename) else (entry.folder,)


TOP: Final = 0


def renumbered(operation: Operation, inode: Callable[[int], int], answers: int, earlier: int) -> Operation:
    """An operation with other numbers of inodes, and so many answers and operations before it."""
    if isinstance(operation, SyncAll | SyncFile | SyncFolder) and operation.before is not None:
        operation = replace(operation, before=earlier + operation.before)
    match operation:
        case SyncAll():
            return operation
        case Acknowledge(count):
            return Acknowledge(answers + count)
        case Write() | Truncate() | SyncFile() | SyncFolder():
            return replace(operation, inode=inode(operation.inode))
        case Rename(swapped=swapped):
            moved = None if swapped is None else inode(swapped)
            folder, target = inode(operation.folder), inode(operation.to_folder)
            return replace(operation, folder=folder, to_folder=target, inode=inode(operation.inode), swapped=moved)
    return replace(operation, folder=inode(operation.folder), inode=inode(operation.inode))


_LOOKS: Final = 5


class StrangeFile(Exception):
    """A tree contains something that is neither a file nor a folder; it has no crash states."""


@dataclass(frozen=True, slots=True)
class DiskImage:
    """The entries of every folder and the content of every file; inode 0 is the top."""

    folders: Mapping[int, Mapping[str, int]]
    files: Mapping[int, bytes]

    def paths(self, folder: int = TOP, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Every path below a folder with its inode, in the order of names; a folder's path ends in a slash."""
        for name, inode in sorted(self.folders[folder].items()):
            if inode in self.folders:
                yield f"{prefix}{name}/", inode
                yield from self.paths(inode, f"{prefix}{name}/")
            else:
                yield f"{prefix}{name}", inode

    def digests(self) -> dict[str, str]:
        """SHA-256 of every reachable file by path; of a folder the empty text."""
        return {
            path: "" if inode in self.folders else hashlib.sha256(self.files[inode]).hexdigest()
            for path, inode in self.paths()
        }


def snapshot(folder: Path) -> DiskImage:
    """The content of a folder; raises StrangeFile for links, pipes, what cannot be read or keeps vanishing."""
    for _ in range(_LOOKS):
        try:
            return _image(folder)
        except FileNotFoundError:  # removed since its folder was listed
            continue
        except OSError as error:  # such as a file without rights, or a path that is too long
            raise StrangeFile(f"{Path(error.filename or folder).name:.99} cannot be read: {error.strerror}") from None
    raise StrangeFile("files vanish while they are read")


def _image(folder: Path) -> DiskImage:
    folders: dict[int, dict[str, int]] = {TOP: {}}
    files: dict[int, bytes] = {}
    known: dict[tuple[int, int], int] = {}
    waiting = [(folder, TOP)]
    while waiting:
        place, number = waiting.pop()
        for entry in sorted(os.scandir(place), key=lambda one: one.name):
            status = entry.stat(follow_symlinks=False)
            identity = (status.st_dev, status.st_ino)
            inode = known.setdefault(identity, len(known) + 1)
            folders[number][entry.name] = inode
            if stat.S_ISDIR(status.st_mode):
                folders[inode] = {}
                waiting.append((Path(entry.path), inode))
            elif stat.S_ISREG(status.st_mode):
                if inode not in files:
                    files[inode] = Path(entry.path).read_bytes()
            else:
                raise StrangeFile(f"{Path(entry.path).relative_to(folder)} is neither a file nor a folder")
    return DiskImage(folders, files)


def materialise(volume: DiskImage, folder: Path) -> None:
    """Write a volume below a new folder; names of one inode become links to one file."""
    top = str(folder)
    os.mkdir(top)  # noqa: PTH102 (20 files in half the time that Path takes)
    written: dict[int, str] = {}
    for path, inode in volume.paths():
        place = f"{top}/{path}"
        if inode in volume.folders:
            os.mkdir(place)  # noqa: PTH102
        elif inode in written:
            os.link(written[inode], place)
        else:
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                if volume.files[inode]:
                    os.write(descriptor, volume.files[inode])
            finally:
                os.close(descriptor)
            written[inode] = place
