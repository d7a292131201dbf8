"""What stands below a root, path by path, and the first place where it is not what had to stand there.

An entry is `dir`, {link: target}, {sha256, size}, {decoded: value} or {undecodable: codec}; anything else (a pipe, a
socket) is `special`. Keys are relative to the tree's own path; `.` stands only for a path that is missing or no folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from conformance.vectors.case import TreeStep
from conformance.vectors.difference import MISSING, Difference
from conformance.vectors.filecodec import Undecodable, decode_file
from conformance.vectors.room import Rooms
from conformance.vectors.room_path import StepRefused, place

_LARGEST: Final = 1 << 26  # bytes of a file that is decoded; a larger one is known by its digest
_DIR, _ABSENT, _SPECIAL = "dir", "absent", "special"
Tree = dict[str, Any]


def tree_of(step: TreeStep, rooms: Rooms) -> Tree:
    """The entries below the path of a `tree` step; raises StepRefused where it cannot be read."""
    root = rooms.path(step.root)
    top = root if step.path == "." else place(root, step.path)
    try:
        return {path: entry for path, entry in _entries(top, step.decode, rooms) if path != "." or entry != _DIR}
    except OSError as error:
        raise StepRefused(f"{step.path!r}: {error.strerror or 'the system refuses'}") from None


def undecodable(tree: Mapping[str, Any]) -> Iterator[str]:
    """The paths whose files are not what their codec makes."""
    return (path for path, entry in tree.items() if isinstance(entry, Mapping) and "undecodable" in entry)


def tree_difference(step: TreeStep, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Difference | None:
    """The first path, in the order of paths, where two trees part; its place is the root's name and the path."""
    for path in sorted(expected.keys() | found.keys()):
        apart = _apart(expected.get(path, MISSING), found.get(path, MISSING), ())
        if apart is not None:
            inner, left, right = apart
            whole = "/".join(part for part in (step.root, step.path, path) if part != ".")
            return Difference((whole, *inner), left, right)
    return None


def _apart(expected: Any, found: Any, path: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Any, Any] | None:
    if isinstance(expected, Mapping) and isinstance(found, Mapping) and expected.keys() == found.keys():
        parts = ((key, expected[key], found[key]) for key in sorted(expected, key=_reading_order))
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        parts = ((k, left, right) for k, (left, right) in enumerate(zip(expected, found, strict=True)))
    else:
        return None if expected == found else (path, expected, found)
    for key, left, right in parts:
        if (apart := _apart(left, right, (*path, key))) is not None:
            return apart
    return None


def _reading_order(key: str) -> tuple[bool, str]:
    return key == "sha256", key  # a size says more than a digest


def _entries(top: Path, decode: Mapping[str, str], rooms: Rooms) -> Iterator[tuple[str, Any]]:
    """Every entry at and below `top`, sorted by path."""
    found = [(".", _entry(top, ".", decode, rooms))]
    if found[0][1] == _DIR:
        for folder, below, files in os.walk(top, onerror=_raise):
            for name in (*below, *files):
                inner = Path(folder, name)
                path = _readable(inner.relative_to(top).as_posix())
                found.append((path, _entry(inner, path, decode, rooms)))
    return iter(sorted(found, key=lambda pair: pair[0]))


def _raise(error: OSError) -> None:
    raise error


def _entry(file: Path, path: str, decode: Mapping[str, str], rooms: Rooms) -> Any:
    try:
        status = file.lstat()
    except FileNotFoundError:
        return _ABSENT
    if stat.S_ISDIR(status.st_mode):
        return _DIR
    if stat.S_ISLNK(status.st_mode):
        return {"link": rooms.masked(_readable(os.readlink(file)))}  # noqa: PTH115 (a Path would tidy it)
    if not stat.S_ISREG(status.st_mode):
        return _SPECIAL
    codec = next((codec for pattern, codec in decode.items() if fnmatchcase(path, pattern)), None)
    if codec is None or status.st_size > _LARGEST:
        with file.open("rb") as opened:
            return {"sha256": hashlib.file_digest(opened, "sha256").hexdigest(), "size": status.st_size}
    try:
        return {"decoded": decode_file(codec, file.read_bytes())}
    except Undecodable:
        return {"undecodable": codec}


def _readable(name: str) -> str:
    """A file name as text: bytes that are no UTF-8 stand as \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
