"""A writer of zip archives: the same members in the many forms that zip allows.

Every choice is drawn. What the contract gives no meaning to differs from archive to archive (rulings QA36, QA38).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Final
from zlib import crc32

_DESCRIBED: Final = 0x8  # the flag of a member whose checksum and sizes come after its content
_UTF8: Final = 0x800  # the flag of a member whose name is UTF-8
_REFUSED_FLAGS: Final = (0x1, 0x20, 0x40, 0x2000)  # encrypted in one way or another, or patched
_DEFLATED: Final = 8  # a method other than "stored"


@dataclass(frozen=True, slots=True)
class _Member:
    """A stored member: its content, and what the header before it and its entry in the directory say of it."""

    content: bytes
    checksum: int
    stored_size: int
    size: int
    gap: bytes  # lies before the header
    date: bytes
    header_name: bytes
    header_version: int
    header_flags: int
    header_extra: bytes
    entry_name: bytes
    entry_versions: tuple[int, int]  # that of the writer, and the one needed to read it
    entry_flags: int
    entry_extra: bytes
    comment: bytes
    attributes: bytes  # the number of its disk among them
    header_method: int = 0
    entry_method: int = 0

    def written(self) -> bytes:
        """The header, the content and the descriptor if there is one."""
        sums = struct.pack("<3L", self.checksum, len(self.content), len(self.content))
        described = self.header_flags & _DESCRIBED
        header = b"PK\3\4" + struct.pack("<3H", self.header_version, self.header_flags, self.header_method)
        header += self.date + (bytes(12) if described else sums)
        header += struct.pack("<2H", len(self.header_name), len(self.header_extra))
        descriptor = b"PK\7\10" + sums if described else b""
        return header + self.header_name + self.header_extra + self.content + descriptor

    def entry(self, offset: int) -> bytes:
        """The entry in the directory of a member whose header begins at the offset."""
        told = struct.pack("<4H", *self.entry_versions, self.entry_flags, self.entry_method) + self.date
        told += struct.pack("<3L", self.checksum, self.stored_size, self.size)
        told += struct.pack("<3H", len(self.entry_name), len(self.entry_extra), len(self.comment))
        whole = b"PK\1\2" + told + self.attributes + struct.pack("<L", offset)
        return whole + self.entry_name + self.entry_extra + self.comment


_MEMBER_FAULTS: Final[Mapping[str, Callable[[_Member, Random], _Member]]] = {
    "flag": lambda one, draw: replace(one, entry_flags=one.entry_flags | draw.choice(_REFUSED_FLAGS)),
    "method": lambda one, draw: replace(one, entry_method=_DEFLATED),
    "method inside": lambda one, draw: replace(one, header_method=_DEFLATED),
    "checksum": lambda one, draw: replace(one, checksum=one.checksum ^ 1 << draw.randrange(32)),
    "size": lambda one, draw: replace(one, stored_size=one.stored_size + 1),
    "other size": lambda one, draw: replace(one, size=one.size + 1),
    "both sizes": lambda one, draw: replace(one, stored_size=one.stored_size + 1, size=one.size + 1),
    "name": lambda one, draw: replace(one, entry_name=one.entry_name.swapcase()),
    "name inside": lambda one, draw: replace(one, header_name=one.header_name.swapcase()),
}
_TWICE: Final = "twice"  # a member is there once more
# Numbers at the end, in their order, that are too large by one.
_END_FAULTS: Final = ("disk", "first disk", "count here", "count", "directory size", "directory offset", "comment")
_CUT: Final = "cut"
FAULTS: Final = (_CUT, *_MEMBER_FAULTS, _TWICE, *_END_FAULTS)  # what makes an archive damaged


def archive(members: Mapping[str, bytes], random: Random, fault: str = "") -> bytes:
    """A zip archive of stored members in a drawn order; with one of FAULTS it is none."""
    named = list(members.items())
    random.shuffle(named)
    at_fault = random.randrange(len(named))
    if fault == _TWICE:
        named.append(named[at_fault])
    drawn = [_member(name, content, random) for name, content in named]
    if fault in _MEMBER_FAULTS:
        drawn[at_fault] = _MEMBER_FAULTS[fault](drawn[at_fault], random)
    body = directory = b""
    for member in drawn:
        body += member.gap
        directory += member.entry(len(body))
        body += member.written()
    end = [0, 0, len(drawn), len(drawn), len(directory), len(body), 0]
    if fault in _END_FAULTS:
        end[_END_FAULTS.index(fault)] += 1
    large = _large_end(len(body) + len(directory), random) if random.random() < 0.5 else b""
    whole = body + directory + large + b"PK\5\6" + struct.pack("<4H2LH", *end) + b"x" * end[-1]
    return whole[: random.randrange(len(whole))] if fault == _CUT else whole


def _member(name: str, content: bytes, random: Random) -> _Member:
    """A member whose dates, versions, comment, extra fields and gap are drawn."""
    gap = random.randbytes(random.choice([0, 0, random.randrange(40)]))
    flags = (_UTF8 if random.random() < 0.5 else 0) | (_DESCRIBED if random.random() < 0.3 else 0)
    extras = [random.randbytes(random.choice([0, random.randrange(30)])) for _ in range(3)]
    raw = name.encode()
    return _Member(
        content=content,
        checksum=crc32(content),
        stored_size=len(content),
        size=len(content),
        gap=gap,
        date=random.randbytes(4),
        header_name=raw,
        header_version=random.randrange(64),
        header_flags=flags,
        header_extra=extras[0],
        entry_name=raw,
        entry_versions=(random.randrange(1024), random.randrange(64)),
        entry_flags=flags,
        entry_extra=extras[1],
        comment=extras[2],
        attributes=random.randbytes(8),
    )


def _large_end(offset: int, random: Random) -> bytes:
    """The end of a directory with numbers of 64 bits, which begins at the offset, and the locator that points to it."""
    end = b"PK\6\6" + random.randbytes(52)
    return end + b"PK\6\7" + random.randbytes(4) + struct.pack("<Q", offset) + random.randbytes(4)
