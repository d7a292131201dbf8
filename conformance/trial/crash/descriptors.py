"""The open files of every traced process: shared between threads, copied at a fork, one offset per opening."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.trial.crash.strace_log import Event


@dataclass(slots=True)
class OpenFile:
    """An open file description: every descriptor that was duplicated from it moves its offset."""

    inode: int
    is_folder: bool
    appends: bool = False
    durable: bool = False  # opened with O_SYNC or O_DSYNC: every write is made durable
    offset: int = 0


@dataclass(slots=True)
class _Folder:
    path: str


@dataclass(slots=True)
class _Process:
    files: dict[int, OpenFile]
    folder: _Folder


@dataclass(slots=True)
class Processes:
    """The processes of one trace; a child may speak before its parent knows its number."""

    folder: str
    _known: dict[int, _Process] = field(default_factory=dict)
    _unborn: dict[int, Event] = field(default_factory=dict)  # births that have begun, by parent

    def begin_birth(self, event: Event) -> None:
        """A process begins to make another."""
        self._unborn[event.process] = event

    def end_birth(self, event: Event) -> None:
        """A process has made another."""
        self._unborn.pop(event.process, None)
        assert event.result is not None
        if event.result not in self._known:
            self._known[event.result] = self._child(event)

    def files(self, process: int) -> dict[int, OpenFile]:
        """The descriptor table of a process."""
        return self._process(process).files

    def working_folder(self, process: int) -> str:
        """Where a relative path of a process begins."""
        return self._process(process).folder.path

    def change_folder(self, process: int, path: str) -> None:
        """A process, and whoever shares its working folder, moves."""
        place = self._process(process).folder
        place.path = posixpath.join(place.path, path)

    def _process(self, number: int) -> _Process:
        if number not in self._known:
            births: Iterable[Event] = reversed(self._unborn.values())
            mother = next(iter(births), None)
            self._known[number] = self._child(mother) if mother else _Process({}, _Folder(self.folder))
        return self._known[number]

    def _child(self, birth: Event) -> _Process:
        parent = self._process(birth.process)
        # A thread shares both; vfork shares the memory, not the descriptors.
        files = parent.files if birth.has(b"CLONE_FILES") else dict(parent.files)
        folder = parent.folder if birth.has(b"CLONE_FS") else _Folder(parent.folder.path)
        return _Process(files, folder)
