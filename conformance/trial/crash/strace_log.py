"""The text that strace writes, as events: every string is hexadecimal (-xx), every descriptor has its path (-y)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(rb"^(\d+) +(.*)\Z", re.S)
_CALL: Final = re.compile(rb"^(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(?:<((?:\\x[0-9a-f]{2})*)>)?", re.S)
_BEGUN: Final = re.compile(rb"^(\w+)\(", re.S)
_RESUMED: Final = re.compile(rb"^<\.\.\. (\w+) resumed>(.*)\Z", re.S)
_UNFINISHED: Final = b"<unfinished ...>"
_STRING: Final = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_DESCRIPTOR: Final = re.compile(rb"^(-?\d+|AT_FDCWD)(?:<((?:\\x[0-9a-f]{2})*)>)?")
_BORDER: Final = re.compile(rb"[\[\](){}]|, ")
HERE: Final = -100  # the number that stands for AT_FDCWD
BIRTHS: Final = frozenset({"clone", "clone3", "fork", "vfork"})


@dataclass(frozen=True, slots=True)
class Descriptor:
    """An argument that is a file descriptor: its number and what the kernel says it is open on."""

    number: int
    path: str


@dataclass(frozen=True, slots=True)
class Event:
    """One finished system call of one process; `result` is None where a birth has only begun."""

    process: int
    name: str
    arguments: tuple[bytes, ...]
    result: int | None
    path: str  # of the descriptor that it answered
    ordinal: int  # how many calls of this name the process had begun by then, this one included

    def descriptor(self, index: int) -> Descriptor:
        """The argument at `index` as a descriptor; the path is empty where strace knew none."""
        match = _DESCRIPTOR.match(self.arguments[index])
        if match is None:
            return Descriptor(-1, "")
        number = HERE if match[1] == b"AT_FDCWD" else int(match[1])
        return Descriptor(number, text(match[2] or b""))

    def texts(self) -> list[str]:
        """Every string among the arguments, as text."""
        return [data.decode("utf-8", "surrogateescape") for data in self.strings()]

    def strings(self) -> list[bytes]:
        """Every string among the arguments, in order."""
        return [plain(match[1]) for argument in self.arguments for match in _STRING.finditer(argument)]

    def has(self, flag: bytes) -> bool:
        """Whether a flag stands among the arguments."""
        return any(flag in re.split(rb"\W+", argument) for argument in self.arguments if b'"' not in argument)


def events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Every finished call in the order in which they ended, and every birth also where it begins."""
    begun: dict[int, tuple[bytes, int]] = {}
    counts: dict[tuple[int, bytes], int] = {}
    for line in lines:
        if (match := _LINE.match(line.rstrip(b"\n"))) is None:
            continue
        process, rest = int(match[1]), match[2]
        if resumed := _RESUMED.match(rest):
            head, ordinal = begun.pop(process, (b"", 0))
            rest = head + resumed[2]
        elif named := _BEGUN.match(rest):
            ordinal = counts[process, named[1]] = counts.get((process, named[1]), 0) + 1
            if rest.endswith(_UNFINISHED):
                begun[process] = (rest[: -len(_UNFINISHED)], ordinal)
                if (name := named[1].decode()) in BIRTHS:
                    yield Event(process, name, (rest,), None, "", ordinal)
                continue
        else:
            continue
        if call := _CALL.match(rest):
            yield Event(process, call[1].decode(), split(call[2]), int(call[3], 0), text(call[4] or b""), ordinal)


def split(arguments: bytes) -> tuple[bytes, ...]:
    """Arguments parted at their commas; those inside brackets do not count."""
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


def plain(hexadecimal: bytes) -> bytes:
    """The bytes of a string as strace escapes it."""
    return bytes.fromhex(hexadecimal.replace(b"\\x", b"").decode("ascii"))


def text(hexadecimal: bytes) -> str:
    """The text of a string as strace escapes it; what is not UTF-8 survives as surrogates."""
    return plain(hexadecimal).decode("utf-8", "surrogateescape")
