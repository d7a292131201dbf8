"""The zip archives of batch files, read as ruling QA36 says: stored members, one after the other."""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from impl.reference.pipeline.refusal import Corrupt

_END: Final = Struct("<4s4H2LH")
_ENTRY: Final = Struct("<4s4x2H4x3L3H8xL")
_LOCAL: Final = Struct("<4s4xH16x2H")
_LARGE_END: Final = Struct("<4s52x")
_LARGE_END_AT: Final = Struct("<4s4xQ4x")
_END_MARK: Final = b"PK\x05\x06"
_ENTRY_MARK: Final = b"PK\x01\x02"
_LOCAL_MARK: Final = b"PK\x03\x04"
_LARGE_END_MARK: Final = b"PK\x06\x06"
_LARGE_END_AT_MARK: Final = b"PK\x06\x07"
_UTF8_NAME: Final = 0x800
_STREAMED: Final = 0x8  # the local sizes follow the member; those of the directory are right


class _Entry(NamedTuple):
    """One entry of the directory; sizes and offsets in bytes."""

    name: bytes
    checksum: int
    size: int
    offset: int


def judge_end(tail: bytes) -> None:
    """Raise Corrupt where the last bytes of a file are not the end of an archive."""
    if tail[-_END.size : -_END.size + 4] != _END_MARK:
        raise Corrupt("it does not end like an archive")


def members(archive: bytes) -> dict[str, bytes]:
    """Return the members by name, in their order; Corrupt (ruling QA36).

    A member is part of the archive, so that nothing unfolds into more bytes than the file has.
    """
    found: dict[str, bytes] = {}
    entries, directory = _directory(archive)
    start = 0
    for entry in entries:
        name = entry.name.decode("utf-8")
        if name in found:
            raise Corrupt(f"the member {name!r} is there twice")
        found[name], start = _member(archive, entry, start, directory)
    return found


def _directory(archive: bytes) -> tuple[list[_Entry], int]:
    """Return the entries and the offset where the directory begins."""
    end = len(archive) - _END.size
    judge_end(archive)
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(archive, end)
    stop = start + size
    if disk or first_disk or here != count or comment or not (stop == end or _is_large_end(archive, stop, end)):
        raise Corrupt("the archive does not end with its directory")
    entries = []
    at = start
    for _ in range(count):
        entry, at = _entry(archive, at, stop)
        entries.append(entry)
    if at != stop:
        raise Corrupt("the archive has lost members")
    return entries, start


def _is_large_end(archive: bytes, start: int, end: int) -> bool:
    """Tell whether between two offsets are the end record of a large archive and its place, and nothing else."""
    if start + _LARGE_END.size + _LARGE_END_AT.size != end:
        return False
    (mark,) = _LARGE_END.unpack_from(archive, start)
    place_mark, place = _LARGE_END_AT.unpack_from(archive, start + _LARGE_END.size)
    return (mark, place_mark, place) == (_LARGE_END_MARK, _LARGE_END_AT_MARK, start)


def _entry(archive: bytes, at: int, end: int) -> tuple[_Entry, int]:
    """Return the entry at an offset, and where the next one begins."""
    if at + _ENTRY.size > end:
        raise Corrupt("the directory is cut off")
    mark, flags, method, checksum, stored, size, name, extra, comment, offset = _ENTRY.unpack_from(archive, at)
    name_at = at + _ENTRY.size
    following = name_at + name + extra + comment
    if mark != _ENTRY_MARK or following > end:
        raise Corrupt("the directory is damaged")
    text = archive[name_at : name_at + name]
    if method or stored != size or flags & ~(_UTF8_NAME | _STREAMED):
        raise Corrupt(f"the member {text!r} is not stored plainly")
    if not _is_text(text, flags):
        raise Corrupt(f"the name {text!r} is no text")
    return _Entry(text, checksum, size, offset), following


def _is_text(name: bytes, flags: int) -> bool:
    try:
        name.decode("utf-8" if flags & _UTF8_NAME else "ascii")
    except UnicodeDecodeError:
        return False
    return True


def _member(archive: bytes, entry: _Entry, start: int, directory: int) -> tuple[bytes, int]:
    """Return the content of a member between two offsets, and where it ends."""
    if not start <= entry.offset <= directory - _LOCAL.size:
        raise Corrupt(f"the member {entry.name.decode()} has no place: it begins in another one")
    mark, method, name, extra = _LOCAL.unpack_from(archive, entry.offset)
    name_at = entry.offset + _LOCAL.size
    content_at = name_at + name + extra
    end = content_at + entry.size
    if mark != _LOCAL_MARK or method or end > directory:
        raise Corrupt(f"the member {entry.name.decode()} is cut off")
    content = archive[content_at:end]
    if archive[name_at : name_at + name] != entry.name or crc32(content) != entry.checksum:
        raise Corrupt(f"the member {entry.name.decode()} is damaged")
    return content, end
