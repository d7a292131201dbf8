"""The cache: results that earlier commands computed from the same files, in a folder that belongs to the user.

An entry is plain data in CBOR. Its name is the SHA-256 of everything that it was computed from: the content of the
files, the source of the harness, Python and the packages. So no entry goes stale. An entry that cannot be read or
written is ignored and computed again; docs/threat-model.md says who could write a false entry.
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
from pathlib import Path
from typing import Any, Final

import cbor2

MAX_ENTRY: Final = 64 << 20  # bytes
MAX_TOTAL: Final = 256 << 20  # bytes of all entries; above it, the oldest are removed until half is free
_ENDING: Final = ".entry"
_DIGEST: Final = hashlib.sha256().digest_size
ROOMS: Final = ("contract", "codec", "backend", "vectors", "lint", "trial", "report", "cli")  # the order of imports
PACKAGE: Final = Path(__file__).resolve().parents[1]
_SKIPPED: Final = ("__pycache__", "_data", "skeletons", "tests")  # folders without code of the harness
MISSING: Final = object()  # what `get` returns if there is no entry


class Cache:
    """A folder of entries; without a folder, nothing is stored."""

    def __init__(self, folder: Path | None, maker: str) -> None:
        self._folder, self._maker, self._is_trimmed = folder, maker, False

    def get(self, kind: str, key: str) -> Any:
        """The plain value of an entry; MISSING if there is no intact entry."""
        if self._folder is None or not key:
            return MISSING
        try:
            name = self._name(kind, key)
            data = _read(self._folder / name) if _is_ours(self._folder.stat()) else b""
            if _sealed(name, data[_DIGEST:]) != data[:_DIGEST]:
                return MISSING
            return cbor2.loads(data[_DIGEST:])
        except Exception:  # an entry that cannot be read is computed again
            return MISSING

    def put(self, kind: str, key: str, value: Any) -> None:
        """Store a plain value for later commands, completely or not at all."""
        if self._folder is None or not key:
            return
        try:
            content = cbor2.dumps(value)
            if len(content) <= MAX_ENTRY and _is_own(self._folder):
                name = self._name(kind, key)
                _write(self._folder / name, _sealed(name, content) + content)
                if not self._is_trimmed:  # checked once: there may be thousands of entries
                    _trim(self._folder)
                    self._is_trimmed = True
        except Exception:  # a full disk, or text that is not UTF-8: the next command computes it
            return

    def get_or_make(self, kind: str, key: str, make: Callable[[], Any]) -> Any:
        """The value of the entry, or else the value that is made now and stored."""
        found = self.get(kind, key)
        if found is MISSING:
            found = make()
            self.put(kind, key, found)
        return found

    def _name(self, kind: str, key: str) -> str:
        return digest_of_texts((self._maker, kind, key)) + _ENDING


def _sealed(name: str, content: bytes) -> bytes:
    """The digest of an entry's name and content: a copy of an entry under another name is invalid."""
    return hashlib.sha256(name.encode() + content).digest()


def open_cache(room: str = ROOMS[-1]) -> Cache:
    """The cache that the environment asks for: TALLY_CACHE=DIR, or `off`; else below the user's own cache folder.

    `room` is the package of the harness whose code makes the entries.
    """
    folder = cache_folder()
    return Cache(folder, "" if folder is None else code_digest(room))


def cache_folder() -> Path | None:
    """The folder of the cache; None if it is switched off or there is no home folder."""
    chosen = os.environ.get("TALLY_CACHE", "")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen).absolute()
    try:
        base = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "tallystick"
    except RuntimeError:
        return None


@lru_cache
def code_digest(room: str) -> str:
    """The digest of the code that makes the entries of a room: Python, the packages, the source of the harness.

    A room imports nothing to its right, so the rooms there do not count.
    """
    rooms = ROOMS[: ROOMS.index(room) + 1]
    names = {name for name in _sources() if room == ROOMS[-1] or name.partition("/")[0] in (*rooms, "__init__.py")}
    return digest_of_texts((sys.version, sys.byteorder, *_packages(), *(_sources()[name] for name in sorted(names))))


@lru_cache(1)
def _sources() -> dict[str, str]:
    files = source_files(PACKAGE)
    return {name: f"{name} {hashlib.sha256(data).hexdigest()}" for name, data in files.items()}


def source_files(package: Path) -> dict[str, bytes]:
    """The Python files of a package by path, without its tests."""
    found: dict[str, bytes] = {}
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in files:
            if name.endswith(".py"):
                file = Path(folder, name)
                found[file.relative_to(package).as_posix()] = file.read_bytes()
    return found


def _packages() -> list[str]:
    """The name and version of every installed package; importlib.metadata would cost 30 ms."""
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
    """The content of a regular file that belongs to this user; raises OSError."""
    with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb") as f:
        facts = os.fstat(f.fileno())
        if not stat.S_ISREG(facts.st_mode) or not _is_ours(facts) or facts.st_size > MAX_ENTRY + _DIGEST:
            raise OSError("no entry of ours")
        return f.read()


def _is_ours(facts: os.stat_result) -> bool:
    user = getattr(os, "geteuid", None)
    return user is None or (facts.st_uid == user() and not facts.st_mode & 0o022)


def _is_own(folder: Path) -> bool:
    """Whether only this user can write to the folder, which is made if it is missing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.is_dir() and _is_ours(folder.stat())


def _write(file: Path, data: bytes) -> None:
    # Not synced to the disk: an entry contains its digest, so half an entry is noticed.
    made = file.with_name(f"{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as sink:
            sink.write(data)
        made.replace(file)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise


def _trim(folder: Path) -> None:
    with os.scandir(folder) as listed:
        found = [(one.stat(), one.path) for one in listed if one.name.endswith((_ENDING, ".tmp"))]
    size = sum(facts.st_size for facts, _ in found)
    if size <= MAX_TOTAL:
        return
    for facts, path in sorted(found, key=lambda one: one[0].st_mtime_ns):
        with suppress(OSError):
            Path(path).unlink()
        size -= facts.st_size
        if size <= MAX_TOTAL // 2:
            return
