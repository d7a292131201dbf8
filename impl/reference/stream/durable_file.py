"""One file, replaced as a whole: after a crash it is the old one or the new one."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from impl.reference.open_flags import FOLDER, NOFOLLOW, NONBLOCK, PRIVATE

MAX_NAME_BYTES: Final = 240  # leaves room for the temporary name


class UnusablePlace(Exception):
    """The root or the name cannot hold a file, or no regular file is there."""


def write_durably(root: str, name: str, content: bytes) -> None:
    """Write a file beside its name, make it durable and rename it; UnusablePlace (requirement S24).

    After an error of the disk nothing is deleted, and the old file, if there was one, stands.
    """
    final = _place(root, name)
    temporary = final.with_name(f".{name}.tmp")
    if _is_folder(temporary):
        raise UnusablePlace("a folder stands there")
    with suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | PRIVATE, 0o644)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(final)
    _sync_folder(final.parent)


def read_file(root: str, name: str) -> bytes:
    """Return the content of a regular file; UnusablePlace where there is none."""
    place = _place(root, name)
    try:
        # Without O_NONBLOCK a pipe under the file's name would hold the reader for ever.
        descriptor = os.open(place, os.O_RDONLY | NOFOLLOW | NONBLOCK | PRIVATE)
    except OSError as error:
        raise UnusablePlace(str(error)) from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnusablePlace("not a regular file")
        return file.read()


def _place(root: str, name: str) -> Path:
    if not name or name in (".", "..") or "/" in name or "\x00" in name or not root.startswith("/") or "\x00" in root:
        raise UnusablePlace("not a name in a root")
    try:
        if len(name.encode()) > MAX_NAME_BYTES or not Path(root).is_dir() or _is_folder(Path(root, name)):
            raise UnusablePlace("not a name in a root")
    except UnicodeEncodeError:
        raise UnusablePlace("not a name in a root") from None
    return Path(root, name)


def _is_folder(path: Path) -> bool:
    """Tell whether a folder stands there; a link to one is a link, which is replaced."""
    return path.is_dir() and not path.is_symlink()


def _sync_folder(folder: Path) -> None:
    if FOLDER is None:
        return
    descriptor = os.open(folder, os.O_RDONLY | FOLDER | PRIVATE)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
