"""What keeps a command from running, as a message for a reader who is new to the project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.cli.say import say
from conformance.report.printable import one_line


class Complaint(Exception):
    """A command cannot do what it was asked: where, which code, what was expected and found, and the next step.

    `status` is 1 where the thing judged is to blame, 2 where there is no judgement. Codes: T001 no such backend,
    T002 no valid hello, T003 no such operator or check, T004 unusable vectors, T005 a file is in the way,
    T006 an option lacks its companion, T007 the backend was lost, T008 no derivation,
    T009 no specification, T010 contracts with findings, T011 a file cannot be written, T013 the system has no more
    memory, processes or file descriptors, T014 no sandbox.
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


@contextmanager
def writing(place: str, hint: str) -> Iterator[None]:
    """Report the system's error where it refuses to write; raises Complaint."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        raise Complaint(place, "T011", f"cannot be written: {where}{error.strerror}", hint) from None


def tell(complaint: Complaint) -> None:
    """Print a complaint on stderr."""
    say(str(complaint), err=True)


def parted(text: str) -> tuple[str, str, str]:
    """Place, message and hint of an error that says `place: message` and, below it, `    hint: ...`."""
    said, _, hint = text.partition("\n    hint: ")
    place, _, message = said.partition(": ")
    return place, message, hint


def nearest(word: str, known: list[str], otherwise: str = "") -> str:
    """A hint that names what the user may have meant, else the given one."""
    from difflib import get_close_matches

    containing = [name for name in known if word.lower() in name.lower()]
    close = containing[:3] or get_close_matches(word, known, 3, 0.4)
    return f"did you mean {' or '.join(close)}?" if close else otherwise
