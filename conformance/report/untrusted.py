"""Untrusted input: text made safe to print, files read within bounds."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any, Final

from conformance.contract.yaml.source import BadFile

_COMMAND: Final = re.compile(r"(?m)(^[^\S\n]*):(?=:)|#(?=#(?:vso)?\[)")


def printable(text: str) -> str:
    """The text with all characters escaped, except line ends, that a terminal does not show as themselves.

    Control characters, marks that change the direction of text, line separators and half surrogates are escaped.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def for_log(text: str) -> str:
    """The text without commands to services that run CI: `::` at the start of a line, `##[` and `##vso[`."""
    return _COMMAND.sub(lambda found: f"{found[1] or ''}\\x{ord(found[0][-1]):x}", text)


def one_line(text: str) -> str:
    """The text made printable with its line ends escaped too."""
    return printable(text).replace("\n", "\\n")


class Unreadable(BadFile):
    """A file of somebody else cannot be used."""


def read_bounded(file: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes; raises Unreadable."""
    try:
        # Opening a pipe would block; with O_NONBLOCK it can be opened and refused.
        with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as opened:
            facts = os.fstat(opened.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise Unreadable(str(file), "this is not a regular file", "name the file itself")
            if facts.st_size > most:
                raise Unreadable(str(file), f"it has {facts.st_size} bytes; at most {most} are read")
            return opened.read(most + 1)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise Unreadable(str(file), f"cannot be read: {said}", "is the path right?") from None


def plain_json(data: bytes, place: str) -> Any:
    """The value of strict JSON text: UTF-8, no key twice, no number that JSON does not have. Raises Unreadable."""
    from conformance.vectors.jsontext import strict_json  # imports CBOR, which `tally --version` does not need

    try:
        return strict_json(data.decode("utf-8"))
    except ValueError as error:
        hint = "is it the right file, and complete?"
        raise Unreadable(place, f"this is not strict JSON: {str(error)[:200]}", hint) from None
