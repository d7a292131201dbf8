"""A backend under strace: its command line, the events in the log, and the open files of every traced process."""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from conformance.backend.resolve import BackendCommand
from conformance.vectors.files.temp_roots import run_folder

_LINE: Final = re.compile(rb"^(\d+) +(.*)\Z", re.S)
_CALL: Final = re.compile(rb"^(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(?:<((?:\\x[0-9a-f]{2})*)>)?", re.S)
_BEGUN: Final = re.compile(rb"^(\w+)\(", re.S)
_RESUMED: Final = re.compile(rb"^<\.\.\. (\w+) resumed>(.*)\Z", re.S)
_UNFINISHED: Final = b"<unfinished ...>"
_STRING: Final = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_DESCRIPTOR: Final = re.compile(rb"^(-?\d+|AT_FDCWD)(?:<((?:\\x[0-9a-f]{2})*)>)?")
_BORDER: Final = re.compile(rb"[\[\](){}]|, ")
HERE: Final = -100  # AT_FDCWD
BIRTHS: Final = frozenset({"clone", "clone3", "fork", "vfork"})


@dataclass(frozen=True, slots=True)
class FileDescriptor:
    """An argument that is a file descriptor: its number and what the kernel says it is open on."""

    number: int
    path: str


@dataclass(frozen=True, slots=True)
class Event:
    """One finished system call of one process, or a birth that has begun."""

    process: int
    name: str
    arguments: tuple[bytes, ...]
    result: int
    path: str  # of the descriptor that it answered
    ordinal: int  # how many calls of this name the process had begun, including this one
    begun: bool = False  # a birth, not finished yet
    since: int | None = None  # how many events had ended when it began, if others ended during it

    def descriptor(self, index: int) -> FileDescriptor:
        """The argument at `index` as a descriptor; the path is empty where strace knew none."""
        match = _DESCRIPTOR.match(self.arguments[index])
        if match is None:
            return FileDescriptor(-1, "")
        number = HERE if match[1] == b"AT_FDCWD" else int(match[1])
        return FileDescriptor(number, text(match[2] or b""))

    def paths(self) -> list[str]:
        """Every string among the arguments as a path, relative to the descriptor just before it if there is one."""
        found = []
        for index, argument in enumerate(self.arguments):
            for match in _STRING.finditer(argument):
                folder = self.descriptor(index - 1).path if index else ""
                found.append(posixpath.join(folder, text(match[1])))
        return found

    def strings(self) -> list[bytes]:
        """Every string among the arguments, in order."""
        return [decoded_hex(match[1]) for argument in self.arguments for match in _STRING.finditer(argument)]

    def has(self, flag: bytes) -> bool:
        """Whether a flag is among the arguments."""
        return any(flag in re.split(rb"\W+", argument) for argument in self.arguments if b'"' not in argument)


def events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Every finished call in the order of their ends; a birth is also given when it begins."""
    begun: dict[int, tuple[bytes, int, int]] = {}
    ended = 0
    counts: dict[tuple[int, bytes], int] = {}
    for line in lines:
        if (match := _LINE.match(line.rstrip(b"\n"))) is None:
            continue
        process, rest = int(match[1]), match[2]
        since = None
        if resumed := _RESUMED.match(rest):
            head, ordinal, since = begun.pop(process, (b"", 0, ended))
            rest = head + resumed[2]
        elif named := _BEGUN.match(rest):
            ordinal = counts[process, named[1]] = counts.get((process, named[1]), 0) + 1
            if rest.endswith(_UNFINISHED):
                begun[process] = (rest[: -len(_UNFINISHED)], ordinal, ended)
                if (name := named[1].decode()) in BIRTHS:
                    ended += 1
                    yield Event(process, name, (rest,), 0, "", ordinal, begun=True)
                continue
        else:
            continue
        if call := _CALL.match(rest):
            name, answered = call[1].decode(), text(call[4] or b"")
            yield Event(process, name, split(call[2]), int(call[3], 0), answered, ordinal, since=since)
            ended += 1


def split(arguments: bytes) -> tuple[bytes, ...]:
    """Arguments split at their commas; commas inside brackets do not count."""
    if not any(bracket in arguments for bracket in (b"[", b"{", b"(")):
        return tuple(arguments.split(b", "))
    parts, depth, start = [], 0, 0
    for match in _BORDER.finditer(arguments):
        if match[0] == b", ":
            if not depth:
                parts.append(arguments[start : match.start()])
                start = match.end()
        else:
            depth += 1 if match[0] in b"[({" else -1
    return (*parts, arguments[start:])


def decoded_hex(hexadecimal: bytes) -> bytes:
    """The bytes of a string as strace escapes it."""
    return bytes.fromhex(hexadecimal.replace(b"\\x", b"").decode("ascii"))


def text(hexadecimal: bytes) -> str:
    """The text of a string as strace escapes it; what is not UTF-8 survives as surrogates."""
    return decoded_hex(hexadecimal).decode("utf-8", "surrogateescape")


_OPTIONAL: Final = "?"  # before a call that this machine may not have
_LONGEST: Final = "1000000000"  # bytes of a string that strace prints whole


class NotRun(Exception):
    """Tracing is impossible here, so nothing was judged; says why."""


@dataclass(frozen=True, slots=True)
class Injection:
    """A system call at which strace injects an error or a signal: the ordinal-th of that name in a process."""

    call: str
    ordinal: int
    effect: str  # signal=KILL, error=EIO, error=ENOSPC, error=EACCES

    def __str__(self) -> str:
        return f"{self.call}:{self.effect}:when={self.ordinal}"


def require_tracing() -> str:
    """The path of strace; raises NotRun if it is missing or may not trace."""
    strace = shutil.which("strace")
    if strace is None:
        raise NotRun("strace not found")
    with tempfile.NamedTemporaryFile() as log:
        probe = [strace, "-f", "--seccomp-bpf", "-qq", "-o", log.name, "-e", "trace=write", "--", strace, "-V"]
        try:
            made = subprocess.run(probe, capture_output=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotRun(f"strace cannot run: {error}") from None
        if made.returncode or b"write(" not in Path(log.name).read_bytes():
            said = made.stderr.decode("utf-8", "replace").strip().splitlines()
            raise NotRun(f"strace cannot trace here: {said[0] if said else 'it recorded nothing'}")
    return strace


def traced(command: BackendCommand, strace: str, log: Path, calls: Iterable[str]) -> BackendCommand:
    """The same backend with these calls written to `log`."""
    names = ",".join(_OPTIONAL + call for call in calls)
    options = ["--seccomp-bpf", "-e", "signal=none", "-y", "-xx", "-s", _LONGEST, "-o", str(log)]
    return _under(command, [strace, "-f", "-qq", *options, "-e", f"trace={names}"])


def interrupted(command: BackendCommand, strace: str, log: Path, injection: Injection) -> BackendCommand:
    """The same backend with a failure injected at one call; `log` contains that call alone.

    Without --seccomp-bpf, under which strace 6.1 injects errors but lets the process outlive its SIGKILL.
    """
    options = ["-o", str(log), "-e", f"trace={injection.call}", "-e", f"inject={injection}"]
    return _under(command, [strace, "-f", "-qq", *options])


def _under(command: BackendCommand, strace: Sequence[str]) -> BackendCommand:
    # libuv would otherwise send its file calls through io_uring, where strace does not see them.
    environment = {**command.environment, "UV_USE_IO_URING": "0"}
    return replace(command, arguments=(*strace, "--", *command.arguments), environment=environment)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder in memory where the system has one: rebuilding 20 files there takes under a millisecond."""
    return tempfile.TemporaryDirectory(prefix="tally-crash-", dir=run_folder())


@dataclass(slots=True)
class OpenFile:
    """An open file description; duplicated descriptors share it, and its offset."""

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
    """The processes of one trace; a child may make calls before its parent knows its number."""

    folder: str
    _known: dict[int, _Process] = field(default_factory=dict)
    _unborn: dict[int, Event] = field(default_factory=dict)  # births that have begun, by parent

    def begin_birth(self, event: Event) -> None:
        """A process begins to make another."""
        self._unborn[event.process] = event

    def end_birth(self, event: Event) -> None:
        """A process has made another."""
        self._unborn.pop(event.process, None)
        if event.result not in self._known:
            self._known[event.result] = self._child(event)

    def files(self, process: int) -> dict[int, OpenFile]:
        """The descriptor table of a process."""
        return self._process(process).files

    def working_folder(self, process: int) -> str:
        """Where a relative path of a process begins."""
        return self._process(process).folder.path

    def change_folder(self, process: int, path: str) -> None:
        """Change the working folder of a process, and of those that share it."""
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
