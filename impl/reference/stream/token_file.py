"""One file, replaced as a whole: after a crash it is the old one or the new one."""

from __future__ import annotations

import mmap
import os
import re
import stat
import sys
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from impl.reference.open_flags import FOLDER, NOFOLLOW, NONBLOCK, PRIVATE
from impl.reference.stream.token_sources import FixedTokens, OnEnd
from impl.types import bytes16, uint32, uint64

DType: TypeAlias = Literal["u16", "u32"]

TYPE_CODES: Final = MappingProxyType({"u16": "H", "u32": "I"})
NPY_DTYPES: Final = MappingProxyType({"<u2": "u16", "<u4": "u32"})
NPY_MAGIC: Final = b"\x93NUMPY"
ARRAY: Final = ".npy"  # how the path of an array ends

# The dictionary that NumPy writes, its three keys in any order; nothing else is read as a header.
_ENTRY: Final = (
    rb"(?:'descr'|\"descr\") *: *(?:'(?:<u[24])'|\"(?:<u[24])\")"
    rb"|(?:'fortran_order'|\"fortran_order\") *: *(?:True|False)"
    rb"|(?:'shape'|\"shape\") *: *\( *(?:0|[1-9][0-9]{0,18}) *, *\)"
)
_HEADER: Final = re.compile(rb"\{ *(?:%b) *, *(?:%b) *, *(?:%b) *(?:, *)?\} *\n?" % (_ENTRY, _ENTRY, _ENTRY))
_KEYS: Final = (
    re.compile(rb"['\"]descr['\"] *: *['\"](<u[24])"),
    re.compile(rb"['\"]fortran_order['\"] *: *(True|False)"),
    re.compile(rb"['\"]shape['\"] *: *\( *([0-9]+)"),
)


class UnusableFile(Exception):
    """A token file is not there, or is not what its declaration says."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Say how wide the words of a file are, and at which byte the first one is."""

    dtype: str
    offset: int


class TokenFile(FixedTokens):
    """Serve the tokens of a file through a memory map; the file must not change meanwhile (requirement S15)."""

    def __init__(
        self,
        path: Path,
        dtype: DType | None = None,
        boundaries: Sequence[int] = (),
        on_end: OnEnd = "wrap",
        *,
        is_array: bool | None = None,
    ) -> None:
        """Open an array, or a raw file, which needs a dtype; UnusableFile.

        Where `is_array` does not say what it is, a path that ends in `.npy` is an array and any other raw.
        """
        content = _map(path)
        if is_array is None:
            is_array = str(path).endswith(ARRAY)
        layout = _npy_layout(content) if is_array else _raw_layout(dtype)
        if dtype is not None and dtype != layout.dtype:
            raise UnusableFile(f"{path.name} holds {layout.dtype}, not {dtype}")
        self._code = TYPE_CODES[layout.dtype]
        self._width = array(self._code).itemsize
        self._content = content
        self._words = memoryview(content)[layout.offset :]
        if len(self._words) % self._width:
            raise UnusableFile(f"{path.name} ends within a word")
        super().__init__(len(self._words) // self._width, boundaries, on_end)

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end); UnusableFile where the file has become shorter."""
        tokens = array(self._code)
        tokens.frombytes(self.words(start, end))
        if sys.byteorder == "big":
            tokens.byteswap()
        return tokens.tolist()

    def words(self, start: int, end: int) -> memoryview:
        """Return the bytes of the tokens in [start, end); UnusableFile where the file has become shorter."""
        # The system kills a process that reads a map past the end of its file.
        if isinstance(self._content, mmap.mmap) and self._content.size() < len(self._content):
            raise UnusableFile("the token file became shorter while it was read")
        return self._words[start * self._width : end * self._width]


def _map(path: Path) -> mmap.mmap | bytes:
    try:
        # Without O_NONBLOCK a pipe under the file's name would hold the reader for ever.
        descriptor = os.open(path, os.O_RDONLY | NONBLOCK | PRIVATE)
    except (OSError, ValueError) as error:
        raise UnusableFile(getattr(error, "strerror", None) or str(error)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnusableFile(f"{path.name} is not a regular file")
        if status.st_size == 0:
            return b""
        content = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
    if hasattr(mmap, "MADV_SEQUENTIAL"):
        content.madvise(mmap.MADV_SEQUENTIAL)
    return content


def _raw_layout(dtype: DType | None) -> Layout:
    if dtype is None:
        raise UnusableFile("a raw file does not say how wide its words are; give dtype 'u16' or 'u32'")
    return Layout(dtype, 0)


def _npy_layout(content: mmap.mmap | bytes) -> Layout:
    """Read the header of a `.npy` file, versions 1 to 3."""
    if content[:6] != NPY_MAGIC or content[6:8] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise UnusableFile("not a .npy file")
    start = 10 if content[6] == 1 else 12
    offset = start + int.from_bytes(content[8:start], "little")
    dtype, count = _npy_header(content[start:offset])
    if len(content) - offset != count * array(TYPE_CODES[dtype]).itemsize:
        raise UnusableFile("the .npy file has another length than its header says")
    return Layout(dtype, offset)


def _npy_header(header: bytes) -> tuple[str, int]:
    """Return the dtype and the number of the words that a header announces."""
    found = [key.findall(header) for key in _KEYS] if _HEADER.fullmatch(header) else []
    if [len(values) for values in found] != [1, 1, 1]:
        said = "not a .npy file of one dimension of little-endian u16 or u32"
        raise UnusableFile(f"{said}; convert it, or give numpy.load(path) to ListedTokens")
    (descr,), _, (count,) = found
    return NPY_DTYPES[descr.decode()], int(count)


@dataclass(frozen=True, slots=True)
class PartDeclaration:
    """Declare a source that may be within another one."""

    kind: Literal["file", "tokens"]
    path: str | None = None
    dtype: DType | None = None
    tokens: list[uint32] | None = None
    boundaries: list[uint64] | None = None
    on_end: OnEnd | None = None


@dataclass(frozen=True, slots=True)
class SourceDeclaration:
    """Declare a source; `on_end` is `wrap` where it is absent (ruling SA04)."""

    kind: Literal["file", "tokens", "interleaved", "interactive", "shuffled", "iterator"]
    seed: bytes16 | None = None
    path: str | None = None
    dtype: DType | None = None
    tokens: list[uint32] | None = None
    boundaries: list[uint64] | None = None
    on_end: OnEnd | None = None
    parts: list[PartDeclaration] | None = None
    pattern: list[uint32] | None = None


AnyDeclaration: TypeAlias = SourceDeclaration | PartDeclaration


def is_complete(source: SourceDeclaration) -> bool:
    """Tell whether a source has what its kind needs, and every part of it too."""
    parts = source.parts or []
    match source.kind:
        case "interleaved":
            if not parts or not source.pattern or max(source.pattern) >= len(parts):
                return False
        case "shuffled":
            if len(parts) != 1 or source.seed is None:
                return False
        case "interactive":
            # The conversation cannot be repeated, and its boundaries come with it.
            return source.on_end == "stop" and not source.boundaries
        case "iterator":
            return not source.boundaries  # they come with its items
        case _:
            return _has_data(source)
    return all(_has_data(part) for part in parts)


def _has_data(source: AnyDeclaration) -> bool:
    if source.kind == "file":
        return source.path is not None and _is_sorted(source.boundaries or [])
    return source.tokens is not None and _is_sorted(source.boundaries or [])


def _is_sorted(boundaries: Sequence[int]) -> bool:
    return all(earlier <= later for earlier, later in pairwise(boundaries))


MAX_NAME_BYTES: Final = 240  # leaves room for the temporary name
LARGEST_FILE: Final = 2**32  # bytes of a checkpoint; no reader or writer takes more (ruling SA23)


class UnusablePlace(Exception):
    """There is no regular file under the name, or there cannot be one."""


class TooLarge(UnusablePlace):
    """A file has more bytes than anybody reads or writes (ruling SA23)."""


def write_durably(root: str, name: str, content: bytes) -> None:
    """Write a file beside its name, make it durable and rename it; UnusablePlace (requirement S24).

    After an error of the disk nothing is deleted, and the old file, if there was one, stays.
    """
    final = _place(root, name)
    if len(content) > LARGEST_FILE:
        raise TooLarge(f"{len(content)} bytes")
    temporary = final.with_name(f".{name}.tmp")
    if _is_folder(temporary):
        raise UnusablePlace("a folder is there")
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


def read_file(root: str, name: str, begins: bytes) -> bytes:
    """Return the content of a regular file; UnusablePlace if there is none or it is too large (SA23).

    Of a file that begins otherwise than it has to, the beginning alone is read.
    """
    place = _place(root, name)
    try:
        # Without O_NONBLOCK a pipe under the file's name would hold the reader for ever.
        descriptor = os.open(place, os.O_RDONLY | NOFOLLOW | NONBLOCK | PRIVATE)
    except OSError as error:
        raise UnusablePlace(str(error)) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnusablePlace("not a regular file")
        if status.st_size > LARGEST_FILE:
            raise TooLarge(f"{status.st_size} bytes")
        head = file.read(min(status.st_size, len(begins)))
        return head + file.read(status.st_size - len(head)) if head == begins else head


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
    """Tell whether there is a folder; a link to one is a link, which is replaced."""
    return path.is_dir() and not path.is_symlink()


def _sync_folder(folder: Path) -> None:
    if FOLDER is None:
        return
    descriptor = os.open(folder, os.O_RDONLY | FOLDER | PRIVATE)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
