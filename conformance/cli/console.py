"""The output of commands: complaints, and outputs whose reader may close the pipe."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from conformance.contract.suggest import nearest as nearest
from conformance.report.untrusted import for_log, one_line, printable


def say(text: str, err: bool = False, nl: bool = True) -> None:
    """Print lines on stdout or stderr, with everything escaped that could control a terminal or a CI service."""
    click.echo(for_log(printable(text)), err=err, nl=nl)


def write_report(data: bytes) -> None:
    """Write the bytes of a report on stdout; on a terminal, everything that could control it is escaped."""
    if sys.stdout.isatty():
        say(data.decode("utf-8"), nl=False)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


MUTANT_IDS: Final = "the ids are in the mutants.yaml of each family"  # `tally mutants` would run for a long time


class CommandError(Exception):
    """A command cannot do its work: the place, the code, what was expected and found, and the next step.

    `status` is 1 if the judged thing is at fault, 2 if there is no judgement. Codes: T001 no such backend,
    T002 no valid hello, T003 no such operator or check, T004 unusable vectors, T005 a file is in the way,
    T006 no such option or argument, or not with the others, T007 the backend was lost, T008 no derivation,
    T009 no specification, T010 contracts with findings, T011 a file cannot be written, T013 the system has no more
    memory, processes or file descriptors, T014 no sandbox, T015 a record or a run manifest that cannot be used,
    T020 a certificate, policy or key that cannot be read, T021 no artifact, T022 refused a certificate,
    T023 no such folder, revision or release of a suite, T024 refused a release.
    """

    def __init__(self, place: str, code: str, message: str, hint: str = "", status: int = 2, extra: str = "") -> None:
        super().__init__(message)
        self.place, self.code, self.message, self.hint = place, code, message, hint
        self.status, self.extra = status, extra

    def __str__(self) -> str:
        lines = [one_line(f"{self.place}: {self.code} {self.message}")]
        if self.hint:
            lines.append(one_line(f"    hint: {self.hint}"))
        return "\n".join([*lines, *(one_line(f"    | {line}") for line in self.extra.splitlines())])


def require_known(place: str, name: str, known: Collection[str], message: str, otherwise: str = "") -> None:
    """Refuse a name that is not among the known ones; raises CommandError, which lists similar names."""
    if name not in known:
        raise CommandError(place, "T003", message, nearest(name, sorted(known), otherwise))


@contextmanager
def writing(place: str, hint: str) -> Iterator[None]:
    """Report an error of the system on writing as CommandError."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        raise CommandError(place, "T011", f"cannot be written: {where}{error.strerror}", hint) from None


def tell(complaint: CommandError) -> None:
    """Print a complaint on stderr."""
    say(str(complaint), err=True)


class OutputDescriptor(io.FileIO):
    """A file descriptor that drops output after an error; `failure` is the error.

    A closed pipe is no failure: its reader has read enough.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.failure: OSError | None = None
        self._lost = False

    def write(self, data: Any) -> int:
        """Write the bytes, or drop them; return their number."""
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


def opened_outlets() -> tuple[OutputDescriptor, OutputDescriptor]:
    """Put stdout and stderr on new outlets and return these; a closed standard descriptor becomes the null device."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Else the next file that is opened takes its number, and prints go into it.
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    out, err = OutputDescriptor(1), OutputDescriptor(2)
    sys.stdout, sys.stderr = _text(out, sys.stdout), _text(err, sys.stderr)
    return out, err


def _text(outlet: OutputDescriptor, before: Any) -> io.TextIOWrapper:
    encoding = getattr(before, "encoding", None) or "utf-8"
    buffered = io.BufferedWriter(outlet)
    return io.TextIOWrapper(buffered, encoding, errors="backslashreplace", line_buffering=outlet.isatty())
