"""The cheapest test of a recorded run: a file must be durable before it is renamed, linked or acknowledged.

A run that passes may still write wrong bytes; a run that fails has a bad crash state. Removals need not be durable, and
neither do files without a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.trial.crash.operation import (
    Acknowledge,
    Create,
    Data,
    Entry,
    Link,
    Operation,
    Rename,
    Traced,
    Truncate,
    Unlink,
    Write,
    folders_of,
)
from conformance.trial.crash.recording import Recording
from conformance.trial.crash.report import Sweep
from conformance.trial.crash.states import Model, crash_points
from conformance.trial.crash.workload import CrashWorkload

Name = tuple[int, str]  # the inode of a folder, and a name in it


def order_sweep(workload: CrashWorkload, recording: Recording) -> Sweep:
    """Check that everything a rename, link or answer depends on is durable before it, as POSIX promises."""
    traced = recording.traced
    findings: list[str] = []
    looked_at = 0
    for point in crash_points(recording.operations, Model.POSIX):
        if point.at == len(traced):
            break
        operation = traced[point.at].operation
        names = _Names(recording.operations[: point.at])
        if isinstance(operation, Acknowledge):
            looked_at += 1
            step = workload.steps[operation.answers - 1]
            if step.acknowledged:
                ending = f"is not durable when {step.name} is answered"
                findings += [
                    f"{traced[k].text}: it {ending}" for k in point.pending if names.keeps(traced[k].operation)
                ]
        elif isinstance(operation, Rename | Link):
            looked_at += 1
            findings += _named_early(traced, point.at, operation, point.pending, names)
    return Sweep("order", looked_at, looked_at, tuple(findings), "names and answers looked at")


def _named_early(
    traced: Sequence[Traced], at: int, named: Rename | Link, pending: Sequence[int], names: _Names
) -> Iterator[str]:
    """The operations on what is named that are not durable before it has the name."""
    for k in pending:
        operation = traced[k].operation
        if names.keeps(operation) and names.is_within(operation, named.inode):
            yield f"{traced[at].text}: {traced[k].text} is not durable then"


class _Names:
    """The names after some operations; names from before the recording are unknown, and never asked for."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._inodes: dict[Name, int] = {}
        self._taken: set[int] = set()  # inodes that have lost a name
        for operation in operations:
            match operation:
                case Create(folder, name, inode) | Link(folder, name, inode):
                    self._inodes[folder, name] = inode
                case Unlink(folder, name, inode):
                    self._inodes.pop((folder, name), None)
                    self._taken.add(inode)
                case Rename(folder, name, to_folder, to_name, inode, swapped):
                    self._inodes.pop((folder, name), None)
                    if swapped is not None:
                        self._inodes[folder, name] = swapped
                    elif (to_folder, to_name) in self._inodes:
                        self._taken.add(self._inodes[to_folder, to_name])
                    self._inodes[to_folder, to_name] = inode
        self._folders = {inode: folder for (folder, _), inode in self._inodes.items()}

    def keeps(self, operation: Operation) -> bool:
        """Whether the effect of an operation can still be reached by a name."""
        match operation:
            case Write(inode) | Truncate(inode):
                return inode in self._folders or inode not in self._taken
            case Create(folder, name, inode) | Link(folder, name, inode):
                return self._inodes.get((folder, name)) == inode
            case Rename(_, _, folder, name, inode):
                return self._inodes.get((folder, name)) == inode
        return False

    def is_within(self, operation: Operation, inode: int) -> bool:
        """Whether an operation changed a file, or an entry of a folder, that is this inode or below it."""
        assert isinstance(operation, Data | Entry)
        places = {operation.inode} if isinstance(operation, Write | Truncate) else set(folders_of(operation))
        while places:
            if inode in places:
                return True
            places = {self._folders[place] for place in places if place in self._folders}
        return False
