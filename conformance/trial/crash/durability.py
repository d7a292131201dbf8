"""What a crash may take back, under three models of a file system.

- `kill`: the process dies, the system lives: nothing that was done is lost.
- `ext4`: entries survive in the order in which they were made, content that was never made durable may be missing. Any
  fsync makes every earlier change of entries durable. This is a mount without auto_da_alloc.
- `posix`: anything may be missing that no fsync of its own file, or of its own folder, made durable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from conformance.trial.crash.operation import (
    Acknowledge,
    Create,
    Link,
    Operation,
    Rename,
    SyncAll,
    SyncFile,
    SyncFolder,
    Truncate,
    Unlink,
    Write,
    folders_of,
)


class Model(IntEnum):
    """How much of what a program did a crash may take back; a higher one takes more."""

    KILL = 1
    EXT4 = 2
    POSIX = 3

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A crash before operation number `at`: what is pending then, and how many answers were written."""

    at: int
    pending: tuple[int, ...]
    answers: int


def crash_points(operations: Sequence[Operation], model: Model) -> Iterator[CrashPoint]:
    """Every place where a crash can happen, with the operations before it that the model does not promise to keep."""
    pending: list[int] = []
    answers = 0
    yield CrashPoint(0, (), 0)
    for index, operation in enumerate(operations):
        if isinstance(operation, Acknowledge):
            answers = operation.answers
        elif isinstance(operation, SyncAll):
            pending = []
        elif isinstance(operation, SyncFile | SyncFolder):
            pending = [one for one in pending if _stays_pending(operations[one], operation, model)]
        elif model is not Model.KILL:
            pending.append(index)
        yield CrashPoint(index + 1, tuple(pending), answers)


def in_order(operation: Operation, model: Model) -> bool:
    """Whether an operation survives only if all earlier ones of its sort do."""
    return model is Model.EXT4 and not isinstance(operation, Write)


def _stays_pending(operation: Operation, sync: SyncFile | SyncFolder, model: Model) -> bool:
    if model is Model.EXT4:
        # Either sync commits the journal, and with it every earlier change of entries and sizes.
        return isinstance(operation, Write) and operation.inode != sync.inode
    if isinstance(sync, SyncFile):
        return not (isinstance(operation, Write | Truncate) and operation.inode == sync.inode)
    return not (isinstance(operation, Create | Link | Rename | Unlink) and sync.inode in folders_of(operation))
