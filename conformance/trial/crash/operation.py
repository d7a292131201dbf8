"""What a program did to a directory tree, call by call, in terms of inodes: a name may change, the file stays.

An operation that a crash can undo is an effect; the others say what is durable from here on, or that a caller was told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


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
    """The content of a file made durable."""

    inode: int


@dataclass(frozen=True, slots=True)
class SyncFolder:
    """The entries of a folder made durable."""

    inode: int


@dataclass(frozen=True, slots=True)
class SyncAll:
    """Everything made durable."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """An answer written completely; `answers` counts those so far, the first is the answer to the first step."""

    answers: int


Entry: TypeAlias = Create | Link | Unlink | Rename
Data: TypeAlias = Write | Truncate
Effect: TypeAlias = Entry | Data
Operation: TypeAlias = Effect | SyncFile | SyncFolder | SyncAll | Acknowledge


@dataclass(frozen=True, slots=True)
class Traced:
    """An operation, how to show it, and which system call it was, counted by name in its process."""

    operation: Operation
    text: str
    call: str
    ordinal: int


def folders_of(entry: Entry) -> tuple[int, ...]:
    """The folders whose entries an operation changes."""
    return (entry.folder, entry.to_folder) if isinstance(entry, Rename) else (entry.folder,)
