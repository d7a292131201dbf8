"""Arrays that grow part by part: in memory, or in files without a name if a disk has room."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike

from impl.vectorized.batch.arrays import AnyArray
from impl.vectorized.batch.front.schema import refuse

PART = 1 << 16  # values that are worked on together
SPILL = PART * 8  # bytes that are written together
PREFIX, SUFFIX = "loading-", ".new"  # of the files, on systems where every file has a name


class Room:
    """A folder for files that are gone with their arrays, and how many of them there may be.

    A mapped file takes one of the files that a process may have open, often 1,024; what comes later is in memory.
    """

    def __init__(self, folder: Path, files: int = 384) -> None:
        self._folder, self._left = folder, files

    def file(self) -> IO[bytes] | None:
        """Return a new file, or None if there are enough."""
        if not self._left:
            return None
        try:
            made = _nameless(self._folder)
        except OSError as reason:
            if reason.errno in (errno.EMFILE, errno.ENFILE, errno.EROFS, errno.EACCES):
                self._left = 0
                return None
            raise unwritten(reason) from reason
        if made.fileno() >= _half_of_files():
            made.close()
            self._left = 0
            return None
        self._left -= 1
        return made


def _nameless(folder: Path) -> IO[bytes]:
    return tempfile.TemporaryFile(dir=folder, prefix=PREFIX, suffix=SUFFIX, buffering=0)


def temporary_room() -> Room | None:
    """Return room in the system's temporary folder, or None if it cannot be written."""
    try:
        return Room(Path(tempfile.gettempdir()))
    except OSError:
        return None


def _half_of_files() -> int:
    """Return how many files may be open before arrays stay in memory: the other half is the program's."""
    most = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1
    return most // 2 if most > 0 else 512


def unwritten(reason: OSError) -> Exception:
    """Return the refusal of a write that the system did not do: LIMIT_EXCEEDED for want of room."""
    got, other = reason.strerror or reason, "name another one (TMPDIR, or keep)"
    if reason.errno in _WITHOUT_ROOM:
        said = f"the folder for columns must have room for them: got {got}; make room, or {other}"
        return refuse("LIMIT_EXCEEDED", said)
    return refuse("CONTRACT_VIOLATION", f"the folder for columns must be one that can be written: got {got}; {other}")


_WITHOUT_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM})


class Growing:
    """Gather an array whose length is not known; one of no more than half a megabyte stays in memory."""

    def __init__(self, dtype: DTypeLike, room: Room | None, side: tuple[int, ...] = ()) -> None:
        self._dtype, self._room, self._side = np.dtype(dtype), room, side
        self._parts: list[AnyArray] = []
        self._waiting = self._written = 0
        self._size = self._dtype.itemsize * prod(side)
        self._file: IO[bytes] | None = None

    def add(self, values: AnyArray) -> None:
        """Add elements at the end."""
        self._parts.append(values)
        self._waiting += len(values)
        if self._room is not None and self._waiting * self._size > SPILL:
            self._file = self._file or self._room.file()
            if self._file is None:
                self._room = None
            else:
                self._write(self._file)

    def array(self) -> AnyArray:
        """Return the array; that of a file is mapped, and the file is gone with it."""
        if self._file is None:
            return np.concatenate([np.zeros((0, *self._side), self._dtype), *self._parts])
        with self._file as file:
            self._write(file)
            try:
                mapped: AnyArray = np.memmap(file, self._dtype, "r", shape=(self._written, *self._side))
            except OSError as reason:
                raise unwritten(reason) from reason
        return mapped.view(np.ndarray)

    def _write(self, file: IO[bytes]) -> None:
        for part in self._parts:
            left = np.ascontiguousarray(part, self._dtype).reshape(-1).view(np.uint8).data
            try:
                while len(left):
                    left = left[file.write(left) :]
            except OSError as reason:
                raise unwritten(reason) from reason
        self._written += self._waiting
        self._parts, self._waiting = [], 0


def grown(dtype: DTypeLike, room: Room | None, parts: Iterable[AnyArray]) -> AnyArray:
    """Return the array of these parts."""
    growing = Growing(dtype, room)
    for part in parts:
        growing.add(part)
    return growing.array()


def slices(length: int, step: int | None = None) -> Iterator[slice]:
    """Return the places of the parts of an array."""
    size = step or PART
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def release(*arrays: AnyArray) -> None:
    """Let the system take back the memory of what was read of mapped arrays; it is read again when it is needed."""
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
            base.madvise(mmap.MADV_DONTNEED)
