"""stdout and stderr as a command needs them: a reader who goes away, or a full disk, neither ends it nor judges it."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any


class Outlet(io.FileIO):
    """A file descriptor that swallows what can no longer be written; `failure` says why it could not.

    A closed pipe is no failure: who closed it has read enough.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.failure: OSError | None = None
        self._lost = False

    def write(self, data: Any) -> int:
        """Write what can be written; the number of bytes given."""
        view = memoryview(data).cast("B")
        size = len(view)
        try:
            while view and not self._lost:
                view = view[super().write(view) or 0 :]
        except OSError as error:
            self._lost = True
            if error.errno != errno.EPIPE:
                self.failure = error
        return size


def opened_outlets() -> tuple[Outlet, Outlet]:
    """stdout and stderr over outlets of their own; a standard descriptor that is closed becomes the null device."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Else the next file that is opened takes its place, and a print lands in it.
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    out, err = Outlet(1), Outlet(2)
    sys.stdout, sys.stderr = _text(out, sys.stdout), _text(err, sys.stderr)
    return out, err


def _text(outlet: Outlet, before: Any) -> io.TextIOWrapper:
    encoding = getattr(before, "encoding", None) or "utf-8"
    buffered = io.BufferedWriter(outlet)
    return io.TextIOWrapper(buffered, encoding, errors="backslashreplace", line_buffering=outlet.isatty())
