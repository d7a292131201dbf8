"""What is at a path: files, folders and links as values that are equal where they are, and copies of them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Any, Final

from conformance.vectors.files.temp_roots import LONGEST_FILE

LARGE: Final = 1 << 24  # bytes of a file; a larger one is known by its digest
OTHERS: Final = b"a file of others"
ABSENT, SPECIAL, DIR, LINK, FILE = "absent", "special", "dir", "link to ", "file "
# A small file's content; of a folder, all that is below; a text for anything else.
Content = bytes | str | dict[str, Any]


def below(root: str, above: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every path below a root, and the entry there; a folder that cannot be read has none."""
    try:
        with os.scandir(root) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        yield f"{above}{entry.name}", entry
        if entry.is_dir(follow_symlinks=False):
            yield from below(entry.path, f"{above}{entry.name}/")


def content_at(path: str) -> Content:
    """What is at a path: equal for equal files, links and folders."""
    return content_and_mode(path)[0]


def content_and_mode(path: str) -> tuple[Content, int]:
    """What is at a path, and its mode; 0 for a link and for nothing."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return _unopened(path)
    try:
        status = os.fstat(file)
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISREG(status.st_mode):
            if status.st_size <= LARGE:
                return os.read(file, status.st_size + 1), mode
            if status.st_size > LONGEST_FILE:
                return f"{FILE}of {status.st_size} bytes", mode
            with os.fdopen(file, "rb", closefd=False) as opened:
                return FILE + hashlib.file_digest(opened, "sha256").hexdigest(), mode
    finally:
        os.close(file)
    if not stat.S_ISDIR(status.st_mode):
        return SPECIAL, mode
    return {one: DIR if at.is_dir(follow_symlinks=False) else content_at(at.path) for one, at in below(path)}, mode


def _unopened(path: str) -> tuple[Content, int]:
    try:
        mode = os.lstat(path).st_mode
        return (f"{LINK}{os.readlink(path)}", 0) if stat.S_ISLNK(mode) else (SPECIAL, stat.S_IMODE(mode))
    except OSError:
        return ABSENT, 0


def copied(seen: Content, path: str) -> Content:
    """Make a copy of content at a path and return it; more than LARGE bytes become a few. Raises OSError."""
    if isinstance(seen, dict):
        os.mkdir(path)
        made: dict[str, Content] = {}
        for one, part in seen.items():
            if part == DIR:
                os.mkdir(f"{path}/{one}")
            made[one] = part if part == DIR else copied(part, f"{path}/{one}")
        return made
    if isinstance(seen, str) and seen.startswith(LINK):
        os.symlink(seen.removeprefix(LINK), path)
        return seen
    content = seen if isinstance(seen, bytes) else OTHERS
    with open(path, "xb", buffering=0) as file:
        file.write(content)
    return content


def shown_content(seen: Content) -> str:
    """How a record shows what was at a path."""
    if isinstance(seen, bytes):
        return FILE + hashlib.sha256(seen).hexdigest()
    if isinstance(seen, str):
        return seen
    parts = [f"{one}={shown_content(part)}" for one, part in sorted(seen.items())]
    return "dir " + hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
