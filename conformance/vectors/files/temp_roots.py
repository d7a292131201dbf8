"""The roots of one conversation: a fresh directory per name, and paths that cannot leave it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from conformance.backend.guardian import guardian
from conformance.backend.guardian_process import remove
from conformance.vectors.leaf import with_texts


class StepRefused(Exception):
    """A harness step cannot be done; the message says why, without a path outside the root."""


def fault_of(path: str) -> str:
    """The reason why a text is no path below a root; empty if it is one."""
    if not path or "\0" in path:
        return "a path is text without NUL"
    if path.startswith("/"):
        return "it is absolute"
    if any(part in ("", ".", "..") for part in path.split("/")):
        return "a path below the root has no empty part, no `.` and no `..`"
    return ""


def place(root: Path, path: str) -> Path:
    """The file at a path below a root; its last part may be missing or a link, but its folders may not lead out.

    Raises StepRefused.
    """
    if fault := fault_of(path):
        raise StepRefused(f"{path!r}: {fault}")
    found = root / path
    # To look at each folder, where a backend may have put a link, costs a third of `realpath`.
    inner = (f"{root}/{path[:end]}" for end, letter in enumerate(path) if letter == "/")
    if not any(os.path.islink(folder) for folder in (str(root.parent), str(root), *inner)):
        return found
    folder = Path(os.path.realpath(found.parent))
    if folder != root and root not in folder.parents:
        raise StepRefused(f"{path!r} leads out of the root through a symbolic link")
    return folder / found.name


LONGEST_FILE: Final = 1 << 30  # bytes that are read; a backend can leave a sparse file of any length


def regular(root: Path, path: str) -> Path:
    """The regular file at a path below a root; raises StepRefused if it is missing, a link or too long."""
    found = not_linked(place(root, path), path)
    if not found.is_file():
        raise StepRefused(f"there is no file {path!r}")
    if (size := found.stat().st_size) > LONGEST_FILE:
        raise StepRefused(f"{path!r} has {size} bytes, more than any file of a case")
    return found


def not_linked(found: Path, path: str) -> Path:
    """The file that was found at a path; raises StepRefused if it is a symbolic link."""
    if found.is_symlink():
        raise StepRefused(f"{path!r} is a symbolic link")
    return found


def write_file(file: Path, data: bytes) -> None:
    """Write a file, but not through a symbolic link nor into a pipe, where writing could wait for ever."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    with os.fdopen(os.open(file, flags, 0o644), "wb", buffering=0) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        rest = memoryview(data)
        while rest:
            rest = rest[opened.write(rest) :]


_PREFIX: Final = "tally-root-"
# Folder name with characters that a shell, a URL or a pattern misreads: it finds backends that do not quote paths.
_NAME: Final = "root %41 [b] #'&"
_MEMORY: Final = "/dev/shm"  # noqa: S108 (mkdtemp makes a private folder in it)
_ROOM: Final = 1 << 28  # bytes


class Roots:
    """Directories by name, made when they are first asked for; a context manager that removes them and their content.

    Two conversations never share a directory, and no path of one reaches a vector, a digest or a record: `masked`
    removes them from what a backend says. Each root is alone in a folder, so that files left beside it are noticed.

    Conversations that are given the same `places`, one after the other, have their roots at the same paths.
    """

    def __init__(self, places: dict[str, Path] | None = None) -> None:
        self._places = {} if places is None else places
        self._paths: dict[str, Path] = {}
        self._around: dict[str, Path] = {}  # the folder around each root that is not inside another root

    def __enter__(self) -> Roots:
        return self

    def __exit__(self, *_: object) -> None:
        for path in self._around.values():
            _remove(path)
        self._paths.clear()
        self._around.clear()

    def __bool__(self) -> bool:
        return bool(self._paths)

    @property
    def names(self) -> tuple[str, ...]:
        """The roots that exist, in the order of their names."""
        return tuple(sorted(self._paths))

    def path(self, name: str) -> Path:
        """The absolute directory of a root, without symbolic links in it."""
        if name not in self._paths:
            around, _, inner = name.rpartition("/")
            if around:
                path = self.path(around) / inner
                with suppress(OSError):  # a step may have put something there
                    path.mkdir()
                self._paths[name] = path
            else:
                if name in self._places:
                    self._places[name].mkdir(mode=0o700, exist_ok=True)  # a process may have put something there since
                else:
                    self._places[name] = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=run_folder()))
                self._around[name] = self._places[name]
                self._paths[name] = self._around[name] / _NAME
                self._paths[name].mkdir(mode=0o700, exist_ok=True)
        return self._paths[name]

    def beside(self, name: str) -> list[str]:
        """The names beside a root: files that a backend wrote outside its root. A root inside another one has none."""
        try:
            return sorted(os.listdir(self._around[name])) if name in self._around else []
        except OSError:  # a backend that left its root may have removed or locked the folder
            return []

    @staticmethod
    def placeholder(name: str) -> str:
        """The placeholder for the path of a root in texts."""
        return f"{{root:{name}}}"

    def unmasked(self, value: Any) -> Any:
        """A wire value where a placeholder at the start of a text, of a root that contains others, becomes its path.

        Frozen texts have no such placeholder, so they do not change.
        """
        around = {name.rpartition("/")[0] for name in self._paths} - {""}
        paths = {self.placeholder(name): str(self.path(name)) for name in around}
        return with_texts(value, partial(_with_path, paths)) if around else value

    def masked(self, value: Any) -> Any:
        """A wire value with `{root:NAME}` wherever a text contains the path of a root."""
        masks = [(str(path), self.placeholder(name)) for name, path in self._paths.items()]
        return with_texts(value, partial(_masked, masks), keys=True) if masks else value


def _masked(masks: Sequence[tuple[str, str]], text: str) -> str:
    for path, mask in masks:
        text = text.replace(path, mask)
    return text


def _with_path(paths: Mapping[str, str], text: str) -> str:
    start = next((one for one in paths if text.startswith(f"{one}/")), "")
    return paths[start] + text[len(start) :] if start else text


def run_folder() -> Path:
    """The folder of this process for all roots, removed with it, without symbolic links in its path."""
    return guardian().folder(_memory_folder(os.environ.get("TMPDIR")) or tempfile.gettempdir())


@lru_cache(4)  # decided once: a sandbox shows its backend one folder, in which every root must be
def _memory_folder(temporary: str | None) -> str | None:
    """A folder in memory, if one has room and TMPDIR names no other; None for the usual place.

    A frozen case asks what files a backend leaves, not what survives a power cut. On a disk, 700 cases with files take
    27 s, in memory 6 s (measured): the rest is fsync.
    """
    if temporary is not None or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    return _MEMORY if shutil.disk_usage(_MEMORY).free >= _ROOM else None


def _remove(path: Path) -> None:
    """Remove a directory, even without permission to enter it; files that a running process adds later stay."""
    shutil.rmtree(path, ignore_errors=True)
    if path.is_dir():
        remove(str(path))
