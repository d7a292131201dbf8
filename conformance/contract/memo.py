"""What earlier commands found out about the same files, kept in a folder of the user's own (a cache).

An entry is plain data in CBOR under the SHA-256 of everything that it was made from: the files' content, the harness'
own source, Python and the packages. So nothing in it grows old. What cannot be read or written is passed over in
silence and made anew; docs/threat-model.md says who could write an entry of his own.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import cbor2

LARGEST: Final = 64 << 20  # bytes of one entry
ROOM: Final = 256 << 20  # bytes of all entries; where there are more, the oldest go until half is free
_ENDING: Final = ".entry"
_DIGEST: Final = hashlib.sha256().digest_size
ROOMS: Final = ("contract", "codec", "backend", "vectors", "lint", "trial", "report", "cli")  # the order of imports
_PACKAGE: Final = Path(__file__).resolve().parents[1]
_APART: Final = ("__pycache__", "_data", "skeletons", "tests")  # folders of the package that compute nothing
NOTHING: Final = object()  # what `get` answers where there is no entry


class Memo:
    """A folder of entries; without a folder it remembers nothing."""

    def __init__(self, folder: Path | None, maker: str) -> None:
        self._folder, self._maker, self._has_room = folder, maker, False

    def get(self, kind: str, made_from: str) -> Any:
        """The plain value that was put; NOTHING where there is none that is whole."""
        if self._folder is None or not made_from:
            return NOTHING
        try:
            data = _read(self._folder / self._name(kind, made_from)) if _is_ours(self._folder.stat()) else b""
            if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
                return NOTHING
            return cbor2.loads(data[_DIGEST:])
        except Exception:  # whatever is wrong with an entry, it is made anew
            return NOTHING

    def put(self, kind: str, made_from: str, value: Any) -> None:
        """Keep a plain value for later commands, whole or not at all."""
        if self._folder is None or not made_from:
            return
        try:
            sink = BytesIO()
            cbor2.dump(value, sink)
            content = sink.getvalue()
            if len(content) <= LARGEST and _is_own(self._folder):
                _write(self._folder / self._name(kind, made_from), hashlib.sha256(content).digest() + content)
                if not self._has_room:  # looked at once: there may be thousands of entries
                    _make_room(self._folder)
                    self._has_room = True
        except Exception:  # a full disk, text that is no UTF-8: the next command does without
            return

    def kept(self, kind: str, made_from: str, make: Callable[[], Any]) -> Any:
        """The value that was put, or else the one that is made now, which is put."""
        found = self.get(kind, made_from)
        if found is NOTHING:
            found = make()
            self.put(kind, made_from, found)
        return found

    def _name(self, kind: str, made_from: str) -> str:
        return digest_of_texts((self._maker, kind, made_from)) + _ENDING


def memo(room: str = ROOMS[-1]) -> Memo:
    """The memo that the environment asks for: TALLY_CACHE=DIR, or `off`; else below the user's own cache folder.

    `room` is the one whose code makes the entries.
    """
    folder = memo_folder()
    return Memo(folder, "" if folder is None else made_by(room))


def memo_folder() -> Path | None:
    """Where entries are; None where they are switched off or there is no home."""
    wish = os.environ.get("TALLY_CACHE", "")
    if wish == "off":
        return None
    if wish:
        return Path(wish).absolute()
    try:
        base = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "tallystick"
    except RuntimeError:
        return None


@lru_cache
def made_by(room: str) -> str:
    """The digest of what makes the entries of a room: Python, the packages beside it, and the source of the harness.

    A room imports nothing to its right, so that of the rooms there nothing counts.
    """
    rooms = ROOMS[: ROOMS.index(room) + 1]
    names = {name for name in _sources() if room == ROOMS[-1] or name.partition("/")[0] in (*rooms, "__init__.py")}
    return digest_of_texts((sys.version, sys.byteorder, *_packages(), *(_sources()[name] for name in sorted(names))))


@lru_cache(1)
def _sources() -> dict[str, str]:
    files = source_files(_PACKAGE)
    return {name: f"{name} {hashlib.sha256(data).hexdigest()}" for name, data in files.items()}


def source_files(package: Path) -> dict[str, bytes]:
    """The Python files of a package by path, without its tests."""
    found: dict[str, bytes] = {}
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name not in _APART)
        for name in files:
            if name.endswith(".py"):
                file = Path(folder, name)
                found[file.relative_to(package).as_posix()] = file.read_bytes()
    return found


def _packages() -> list[str]:
    """What is installed, name and version; importlib.metadata would cost 30 ms."""
    found: set[str] = set()
    for place in sys.path:
        with suppress(OSError), os.scandir(place or ".") as listed:
            found.update(one.name for one in listed if one.name.endswith((".dist-info", ".egg-info")))
    return sorted(found)


def digest_of_texts(texts: Iterable[str]) -> str:
    """The hex SHA-256 of texts, in this order."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return whole.hexdigest()


def digest_of_files(files: Mapping[str, bytes]) -> str:
    """The hex SHA-256 of files by path."""
    return digest_of_texts(f"{name} {hashlib.sha256(data).hexdigest()}" for name, data in sorted(files.items()))


def _read(file: Path) -> bytes:
    """The content of a regular file of this user's; raises OSError."""
    with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb") as f:
        facts = os.fstat(f.fileno())
        if not stat.S_ISREG(facts.st_mode) or not _is_ours(facts) or facts.st_size > LARGEST + _DIGEST:
            raise OSError("no entry of ours")
        return f.read()


def _is_ours(facts: os.stat_result) -> bool:
    user = getattr(os, "geteuid", None)
    return user is None or (facts.st_uid == user() and not facts.st_mode & 0o022)


def _is_own(folder: Path) -> bool:
    """Whether the folder, made where it is not there, is one that only this user can write to."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.is_dir() and _is_ours(folder.stat())


def _write(file: Path, data: bytes) -> None:
    # Not synced to the disk: an entry carries its digest, so that half of one is no entry.
    made = file.with_name(f"{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as sink:
            sink.write(data)
        made.replace(file)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise


def _make_room(folder: Path) -> None:
    with os.scandir(folder) as listed:
        found = [(one.stat(), one.path) for one in listed if one.name.endswith((_ENDING, ".tmp"))]
    size = sum(facts.st_size for facts, _ in found)
    if size <= ROOM:
        return
    for facts, path in sorted(found, key=lambda one: one[0].st_mtime_ns):
        with suppress(OSError):
            Path(path).unlink()
        size -= facts.st_size
        if size <= ROOM // 2:
            return
