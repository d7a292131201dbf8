"""The system calls of one recorded run become operations on an in-memory tree.

Calls outside the tree are ignored. A call that touches the tree and has no model here raises Untraceable (a shared
writable mapping, io_uring, copy_file_range and the like).
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from conformance.trial.crash.operation import (
    TOP,
    Acknowledge,
    Create,
    DiskImage,
    Link,
    Operation,
    Rename,
    SyncAll,
    SyncFile,
    SyncFolder,
    TracedOperation,
    Truncate,
    Unlink,
    Write,
)
from conformance.trial.crash.strace import BIRTHS, Event, OpenFile, Processes

_NUMBER: Final = re.compile(rb"-?(?:0x[0-9a-f]+|\d+)\Z")
_ALWAYS_REFUSED: Final = frozenset({"io_uring_setup", "io_submit", "open_by_handle_at", "chroot"})
_REFUSED_AT_PATH: Final = frozenset(
    {"symlink", "symlinkat", "mknod", "mknodat", "setxattr", "lsetxattr", "removexattr", "lremovexattr"}
)
_REFUSED_AT_DESCRIPTOR: Final = frozenset(
    {"copy_file_range", "sendfile", "splice", "fallocate", "fsetxattr", "fremovexattr"}
)
# Links of a process to what it has open: only that process could follow them.
_OWN_LINK: Final = re.compile(r"/(?:proc/[^/]+(?:/task/[^/]+)?/(?:fd|cwd|root)|dev/fd)/")


class Untraceable(Exception):
    """The run did something to the tree that has no model; says what."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A name in a folder of the tree; `inode` is what it leads to now, if anything."""

    folder: int
    name: str
    inode: int | None
    path: str


def reconstruct(
    events: Iterable[Event], root: str, initial: DiskImage, folder: str, answers: Mapping[int, int]
) -> tuple[TracedOperation, ...]:
    """The operations of a trace below `root`, which contained `initial`; raises Untraceable.

    `folder` is where the program was started, `answers` is how many answers are complete with an event, by its index.
    """
    run = _Run(root, Processes(folder), initial)
    for index, event in enumerate(events):
        run.take(event, answers.get(index))
    return tuple(run.operations)


@dataclass(slots=True)
class _Run:
    root: str
    processes: Processes
    initial: DiskImage
    folders: dict[int, dict[str, int]] = field(init=False)
    sizes: dict[int, int] = field(init=False)
    names: dict[int, str] = field(init=False)
    operations: list[TracedOperation] = field(default_factory=list)
    done: list[int] = field(default_factory=list)  # operations before each event
    _event: Event | None = None
    _answers: int | None = None  # complete with this event

    def __post_init__(self) -> None:
        self.folders = {inode: dict(entries) for inode, entries in self.initial.folders.items()}
        self.sizes = {inode: len(content) for inode, content in self.initial.files.items()}
        self.names = {TOP: "."} | {inode: path.rstrip("/") for path, inode in self.initial.paths()}

    def take(self, event: Event, answers: int | None) -> None:
        self._event, self._answers = event, answers
        self.done.append(len(self.operations))
        if event.name in BIRTHS:
            if event.begun:
                self.processes.begin_birth(event)
            elif event.result > 0:
                self.processes.end_birth(event)
        elif event.result >= 0:
            _HANDLERS.get(event.name, _Run.refuse)(self, event)

    def did(self, operation: Operation, text: str) -> None:
        assert self._event is not None
        self.operations.append(TracedOperation(operation, text, self._event.name, self._event.ordinal))

    # -- what has no model

    def refuse(self, event: Event) -> None:
        name = event.name
        if name in _ALWAYS_REFUSED:
            raise Untraceable(f"{name}: what it does cannot be seen")
        if name in _REFUSED_AT_PATH:
            for path in self.paths(event):
                if self.inside(path):
                    raise Untraceable(f"{name} below the root: {self.relative(path)}")
        elif name in _REFUSED_AT_DESCRIPTOR:
            for index in range(len(event.arguments)):
                if self.inside(event.descriptor(index).path):
                    raise Untraceable(f"{name} on {self.relative(event.descriptor(index).path)}")
        elif name == "mmap":
            descriptor = event.descriptor(4)
            shared = event.has(b"MAP_SHARED") or event.has(b"MAP_SHARED_VALIDATE")
            if shared and event.has(b"PROT_WRITE") and self.inside(descriptor.path):
                raise Untraceable(f"a shared writable mapping of {self.relative(descriptor.path)}")
        elif name == "ioctl" and any(b"FICLONE" in argument for argument in event.arguments):
            raise Untraceable("ioctl FICLONE shares blocks between files")

    # -- names

    def inside(self, path: str) -> bool:
        return path == self.root or path.startswith(self.root + "/")

    def relative(self, path: str) -> str:
        return posixpath.relpath(path, self.root)

    def paths(self, event: Event) -> list[str]:
        """The paths of a call; above its last part, one from outside the tree is without symbolic links."""
        folder = self.processes.working_folder(event.process)
        found = []
        for written in event.paths():
            path = posixpath.normpath(posixpath.join(folder, written))
            if _OWN_LINK.match(path):
                raise Untraceable(f"{event.name} by way of {path}")
            if not self.inside(path):
                path = posixpath.join(os.path.realpath(posixpath.dirname(path)), posixpath.basename(path))
            found.append(path)
        return found

    def place(self, event: Event) -> _Place | None:
        """Where the path of a call leads, None outside the tree."""
        return self.at(self.paths(event)[0])

    def at(self, path: str) -> _Place | None:
        if not self.inside(path):
            return None
        folder, steps = TOP, [] if path == self.root else self.relative(path).split("/")
        for step in steps[:-1]:
            inode = self.folders[folder].get(step)
            if inode is None or inode not in self.folders:
                raise Untraceable(f"{self.relative(path)}: a folder that no traced call made")
            folder = inode
        if not steps:
            return _Place(TOP, "", TOP, ".")
        return _Place(folder, steps[-1], self.folders[folder].get(steps[-1]), self.relative(path))

    def inode_of(self, place: _Place) -> int:
        if place.inode is None:
            raise Untraceable(f"{place.path}: a name that no traced call made")
        return place.inode

    # -- descriptors

    def open_file(self, event: Event) -> OpenFile | None:
        """What a descriptor of the tree is open on, None outside it."""
        descriptor = event.descriptor(0)
        if not self.inside(descriptor.path):
            return None
        found = self.processes.files(event.process).get(descriptor.number)
        if found is None:
            raise Untraceable(
                f"{event.name} on a descriptor of {self.relative(descriptor.path)} that no traced call opened"
            )
        return found

    def opened(self, event: Event) -> None:
        files = self.processes.files(event.process)
        files.pop(event.result, None)
        place = self.at(event.path)
        if place is None:
            return
        if event.has(b"O_TMPFILE"):
            raise Untraceable(f"a file without a name in {place.path} (O_TMPFILE)")
        inode = place.inode
        if inode is None:
            if not event.has(b"O_CREAT") and event.name != "creat":
                raise Untraceable(f"{place.path}: opened, but no traced call made it")
            inode = self.create(place, is_folder=False)
        is_folder = inode in self.folders
        emptied = event.has(b"O_TRUNC") or event.name == "creat"
        if not is_folder and emptied and self.sizes[inode]:
            self.resize(inode, 0)
        durable = event.has(b"O_SYNC") or event.has(b"O_DSYNC")
        files[event.result] = OpenFile(inode, is_folder, event.has(b"O_APPEND"), durable)

    def duplicated(self, event: Event) -> None:
        if event.name == "fcntl" and not (event.has(b"F_DUPFD") or event.has(b"F_DUPFD_CLOEXEC")):
            return
        files = self.processes.files(event.process)
        original = self.open_file(event)
        if original is None:
            files.pop(event.result, None)
        else:
            files[event.result] = original

    def closed(self, event: Event) -> None:
        self.processes.files(event.process).pop(event.descriptor(0).number, None)

    def moved(self, event: Event) -> None:
        if (found := self.open_file(event)) is not None:
            found.offset = event.result

    def changed_folder(self, event: Event) -> None:
        path = event.paths()[0] if event.name == "chdir" else event.descriptor(0).path
        self.processes.change_folder(event.process, path)

    # -- content

    def create(self, place: _Place, is_folder: bool) -> int:
        inode = max(*self.folders, *self.sizes, TOP, TOP) + 1
        self.folders[place.folder][place.name] = inode
        self.names[inode] = place.path
        if is_folder:
            self.folders[inode] = {}
        else:
            self.sizes[inode] = 0
        verb = "mkdir" if is_folder else "create"
        self.did(Create(place.folder, place.name, inode, is_folder), f"{verb} {place.path}")
        return inode

    def resize(self, inode: int, size: int) -> None:
        self.sizes[inode] = size
        self.did(Truncate(inode, size), f"truncate {self.names[inode]} to {size}")

    def wrote(self, event: Event) -> None:
        found = self.open_file(event)
        if found is None:
            if self._answers is not None:
                self.did(Acknowledge(self._answers), f"answer {self._answers}")
            return
        data = b"".join(event.strings())[: event.result]
        if len(data) != event.result:
            raise Untraceable(f"{event.name} to {self.names[found.inode]}: strace did not print all of it")
        if not data:
            return
        positioned = event.name.startswith("p")
        offset = self.number(event, 3) if positioned else found.offset
        if offset < 0:
            raise Untraceable(f"{event.name} to {self.names[found.inode]} at a position that is not written")
        if found.appends:
            offset = self.sizes[found.inode]
        if not positioned:
            found.offset = offset + len(data)
        self.sizes[found.inode] = max(self.sizes[found.inode], offset + len(data))
        shown = f"write {self.names[found.inode]} [{offset}, {offset + len(data)})"
        self.did(Write(found.inode, offset, data), shown)
        if found.durable or event.has(b"RWF_SYNC") or event.has(b"RWF_DSYNC"):
            written = SyncFile(found.inode, offset, offset + len(data))
            self.did(written, f"made durable by O_SYNC: {self.names[found.inode]}")

    def number(self, event: Event, index: int) -> int:
        argument = event.arguments[index]
        if not _NUMBER.match(argument):
            raise Untraceable(f"{event.name} with an argument that is no number: {argument[:40]!r}")
        return int(argument, 0)

    def truncated(self, event: Event) -> None:
        if event.name == "ftruncate":
            found = self.open_file(event)
            inode = None if found is None else found.inode
        else:
            place = self.place(event)
            inode = None if place is None else self.inode_of(place)
        if inode is not None and self.sizes[inode] != (size := self.number(event, 1)):
            self.resize(inode, size)

    def synced(self, event: Event) -> None:
        before = None if event.since is None else self.done[event.since]
        if before == len(self.operations):
            before = None
        if event.name == "sync":
            self.did(SyncAll(before), event.name)
        elif event.name == "syncfs":
            place = event.descriptor(0).path
            if not self.inside(place):
                raise Untraceable(f"syncfs on {place}: whether the root is on that file system cannot be seen")
            self.did(SyncAll(before), event.name)
        elif (found := self.open_file(event)) is not None:
            kind = SyncFolder if found.is_folder else SyncFile
            operation = kind(found.inode, before=before)
            self.did(operation, f"fsync {self.names[found.inode]}{'/' * found.is_folder}")

    # -- entries

    def made_folder(self, event: Event) -> None:
        if (place := self.place(event)) is not None:
            self.create(place, is_folder=True)

    def unlinked(self, event: Event) -> None:
        if (place := self.place(event)) is None:
            return
        inode = self.inode_of(place)
        del self.folders[place.folder][place.name]
        verb = "rmdir" if inode in self.folders else "unlink"
        self.did(Unlink(place.folder, place.name, inode), f"{verb} {place.path}")

    def renamed(self, event: Event) -> None:
        pair = self.pair(event)
        if pair is None:
            return
        old, new = pair
        inode = self.inode_of(old)
        if event.has(b"RENAME_WHITEOUT"):
            raise Untraceable(f"{old.path}: RENAME_WHITEOUT")
        swapped = self.inode_of(new) if event.has(b"RENAME_EXCHANGE") else None
        if inode == new.inode:
            return  # two names of one file: POSIX does nothing
        del self.folders[old.folder][old.name]
        self.folders[new.folder][new.name] = inode
        self.rename_below(inode, new.path)
        if swapped is not None:
            self.folders[old.folder][old.name] = swapped
            self.rename_below(swapped, old.path)
        sign = "<->" if swapped is not None else "->"
        operation = Rename(old.folder, old.name, new.folder, new.name, inode, swapped)
        self.did(operation, f"rename {old.path} {sign} {new.path}")

    def linked(self, event: Event) -> None:
        pair = self.pair(event)
        if pair is None:
            return
        old, new = pair
        inode = self.inode_of(old)
        self.folders[new.folder][new.name] = inode
        self.did(Link(new.folder, new.name, inode), f"link {old.path} as {new.path}")

    def pair(self, event: Event) -> tuple[_Place, _Place] | None:
        """The two places of a rename or link; None if both are outside the tree."""
        paths = self.paths(event)
        old, new = (self.at(path) for path in paths)
        if old is None and new is None:
            return None
        if old is None or new is None:
            raise Untraceable(f"{event.name} across the border of the root: {' and '.join(paths)}")
        return old, new

    def rename_below(self, inode: int, path: str) -> None:
        self.names[inode] = path
        for name, below in self.folders.get(inode, {}).items():
            self.rename_below(below, f"{path}/{name}")


_HANDLERS: Final[dict[str, Callable[[_Run, Event], None]]] = {
    name: handler
    for names, handler in (
        ("open openat openat2 creat", _Run.opened),
        ("dup dup2 dup3 fcntl", _Run.duplicated),
        ("close", _Run.closed),
        ("lseek", _Run.moved),
        ("chdir fchdir", _Run.changed_folder),
        ("write writev pwrite64 pwritev pwritev2", _Run.wrote),
        ("ftruncate truncate", _Run.truncated),
        ("fsync fdatasync sync syncfs", _Run.synced),
        ("mkdir mkdirat", _Run.made_folder),
        ("unlink unlinkat rmdir", _Run.unlinked),
        ("rename renameat renameat2", _Run.renamed),
        ("link linkat", _Run.linked),
    )
    for name in names.split()
}
# Every call that can change a tree, whether it has a model or is refused.
TRACED: Final = (
    *_HANDLERS,
    *sorted(BIRTHS),
    *sorted(_ALWAYS_REFUSED | _REFUSED_AT_PATH | _REFUSED_AT_DESCRIPTOR),
    *("mmap", "ioctl"),
)
