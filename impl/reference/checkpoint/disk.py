"""The place of a container or a run: a root that the caller names, and what may go wrong with it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from impl.reference.checkpoint.fields import Fault, is_container_name, refuse
from impl.reference.open_flags import FOLDER, NOFOLLOW, NONBLOCK, PRIVATE

CHUNK: Final = 1 << 20
LARGE: Final = 1 << 28
# The unit of st_blocks on every file system.
BLOCK: Final = 512

# What the caller's path can cause. A full or broken disk is no refusal of the contract: it stops the operator.
UNUSABLE: Final = frozenset(
    {
        errno.EACCES,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENXIO,
        errno.EPERM,
        errno.EROFS,
    }
)


class LimitExceeded(Exception):
    """A file or a folder is larger than the reader takes."""


class NotRegular(OSError):
    """A name that should be a regular file's is that of something else."""

    def __init__(self) -> None:
        super().__init__(errno.EISDIR, "not a regular file")


class Sparse(OSError):
    """A large file is for the most part a hole."""

    def __init__(self, size: int) -> None:
        super().__init__(errno.EINVAL, f"most of its {size} bytes are a hole")


@dataclass(frozen=True, slots=True)
class Tree:
    """Hold the sizes in bytes of the regular files below a folder, and the paths of all that is no file or folder."""

    sizes: dict[str, int]
    strange: list[str]


def is_root(root: str) -> bool:
    """Tell whether a text is the absolute path of a folder."""
    if "\x00" in root or not root.startswith("/"):
        return False
    try:
        return stat.S_ISDIR(Path(root).stat().st_mode)
    except (OSError, UnicodeEncodeError):
        return False


def exists(path: Path) -> bool:
    """Tell whether a name is taken, be it by a dangling symbolic link."""
    return os.path.lexists(path)


def is_folder(path: Path) -> bool:
    """Tell whether a name is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def is_file(path: Path) -> bool:
    """Tell whether a name is a regular file itself, not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def new_file(path: Path) -> Iterator[int]:
    """Open a file that does not exist yet for writing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | PRIVATE, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write(descriptor: int, content: bytes) -> None:
    """Write all of a content."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(descriptor: int) -> None:
    """Make the content of an open file durable; after an error it is never tried again (ruling CA25)."""
    os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Make the entries of a folder durable."""
    if FOLDER is None:
        return
    descriptor = os.open(path, os.O_RDONLY | FOLDER | PRIVATE)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(temporary: Path, final: Path) -> None:
    """Give a file or a folder its final name."""
    temporary.rename(final)


def link_if_absent(temporary: Path, final: Path) -> bool:
    """Give a file a second name unless that is taken; tell whether it was free."""
    try:
        os.link(temporary, final, follow_symlinks=False)
    except FileExistsError:
        return False
    return True


def remove(path: Path) -> None:
    """Remove a name, if it exists."""
    path.unlink(missing_ok=True)


def remove_file(path: Path) -> None:
    """Remove a name, if it exists and is not that of a folder."""
    if not is_folder(path):
        remove(path)


def remove_leftover(path: Path) -> bool:
    """Remove what an interrupted attempt left under a temporary name, and tell whether there was anything.

    A symbolic link is removed, not followed.
    """
    if not exists(path):
        return False
    if is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink()
    return True


def make_folder(path: Path) -> None:
    """Make a folder, if it is not there; a symbolic link to one is none."""
    try:
        path.mkdir()
    except FileExistsError:
        if not is_folder(path):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(path)) from None


def names(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return [path.name for path in folder.iterdir()]


def shown_name(name: str) -> str:
    """Return the name of a file as a text that every wire can carry; what is no UTF-8 is replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def subfolders(folder: Path) -> list[Path]:
    """Return all folders below a folder, the deepest first."""
    return [Path(parent) for parent, _, _ in os.walk(folder, topdown=False) if Path(parent) != folder]


def scan(folder: Path, most_entries: int) -> Tree:
    """List a folder without following anything, each name as it is shown; LimitExceeded beyond a number of entries."""
    sizes: dict[str, int] = {}
    strange: list[str] = []
    entries = 0
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(folder / prefix) as listing:
            for entry in listing:
                entries += 1
                if entries > most_entries:
                    raise LimitExceeded
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path + "/")
                elif entry.is_file(follow_symlinks=False):
                    sizes[shown_name(path)] = entry.stat(follow_symlinks=False).st_size
                else:
                    strange.append(shown_name(path))
    return Tree(sizes=sizes, strange=strange)


def read(path: Path, most_bytes: int, judge_end: Callable[[bytes], None] | None = None) -> bytes:
    """Return the content of a regular file; LimitExceeded for a longer one, of which no more is read.

    Of a large file `judge_end` is given the last bytes first; what it raises saves reading the others. One that is for
    the most part a hole is Sparse: a hole costs nothing to write, and takes as long to read as anything else.
    """
    with _opened(path) as (descriptor, size):
        if size > most_bytes:
            raise LimitExceeded
        if judge_end is not None and size > LARGE:
            _require_content(descriptor, size)
            judge_end(_tail(descriptor, size))
        content = _head(descriptor, most_bytes + 1)
    if len(content) > most_bytes:
        raise LimitExceeded
    return content


def _tail(descriptor: int, size: int) -> bytes:
    # Not every system has pread.
    os.lseek(descriptor, size - CHUNK, os.SEEK_SET)
    tail = os.read(descriptor, CHUNK)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return tail


def _require_content(descriptor: int, size: int) -> None:
    """Raise Sparse where a file has a hole, and most of it has no place on the disk."""
    seek_hole = getattr(os, "SEEK_HOLE", None)
    blocks = getattr(os.fstat(descriptor), "st_blocks", None)
    if seek_hole is None or blocks is None:
        return
    has_hole = os.lseek(descriptor, 0, seek_hole) < size
    os.lseek(descriptor, 0, os.SEEK_SET)
    # A file system that packs has few blocks and no holes; a copy may have left pages of zeros out.
    if has_hole and 2 * blocks * BLOCK < size:
        raise Sparse(size)


def read_head(path: Path, most_bytes: int) -> bytes:
    """Return at most so many first bytes of a regular file, holding no more than the file has."""
    with _opened(path) as (descriptor, _):
        return _head(descriptor, most_bytes)


def digest(path: Path) -> bytes:
    """Return the SHA-256 of a regular file, of any size."""
    hasher = sha256()
    with _opened(path) as (descriptor, _):
        while part := os.read(descriptor, CHUNK):
            hasher.update(part)
    return hasher.digest()


def size(path: Path) -> int:
    """Return the size in bytes of a regular file."""
    with _opened(path) as (_, bytes_in_file):
        return bytes_in_file


def _head(descriptor: int, most_bytes: int) -> bytes:
    parts: list[bytes] = []
    while most_bytes and (part := os.read(descriptor, min(CHUNK, most_bytes))):
        parts.append(part)
        most_bytes -= len(part)
    return b"".join(parts)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[int, int]]:
    # Without O_NONBLOCK a pipe under the file's name would hold the reader for ever.
    # Where no flag keeps from following a link, the name is looked at before.
    if not NOFOLLOW and not stat.S_ISREG(path.lstat().st_mode):
        raise NotRegular
    try:
        descriptor = os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK | PRIVATE)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise NotRegular from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotRegular
        yield descriptor, status.st_size
    finally:
        os.close(descriptor)


def root_faults(root: str) -> Iterator[Fault]:
    """Yield a fault where the root is not the absolute path of a folder."""
    if not is_root(root):
        yield Fault("root", "BAD_PATH")


def folder_faults(root: Path, paths: Iterable[str]) -> Iterator[Fault]:
    """Yield a fault for each path below a root where a file is to be written and a folder is (ruling CA31)."""
    for path in paths:
        if is_folder(root / path):
            yield Fault(path, "BAD_PATH")


def name_faults(name: str) -> Iterator[Fault]:
    """Yield a fault where a container's name could leave the root or hide in it (ruling CA24)."""
    if not is_container_name(name):
        yield Fault("name", "BAD_PATH")


@contextmanager
def usable(operator: str, header: object = None) -> Iterator[None]:
    """Refuse with BAD_PATH where the root cannot be used; any other error of the machine passes through."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNUSABLE:
            raise
        refuse(operator, [Fault("root", "BAD_PATH")], header)
