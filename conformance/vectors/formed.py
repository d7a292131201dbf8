"""The files of a declared format as items that can be changed: read, found by dotted place, written back."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.codec.canonical import encode_canonical
from conformance.codec.item import Float, IllFormed, Incomplete, decode
from conformance.contract.file_format import FileFormat
from conformance.contract.item import encode_item, head
from conformance.vectors.formed_archive import Unsorted, archive_bytes, archive_item
from conformance.vectors.room_path import StepRefused, place, regular

_ANSWER: Final = re.compile(r"\{([a-z0-9_.]+)\}")
_CASTAGNOLI: Final = 0x82F63B78  # the polynomial of CRC-32C, its bits reversed
Place = tuple[str, ...]


class FormedFiles:
    """The items of a format's files by the file's name in the format; a file that is not there has no item.

    Raises StepRefused where a file is not of its form. An item is a native value.
    """

    def __init__(self, form: FileFormat, root: Path, path: str) -> None:
        self.form, self.root, self.path = form, root, path
        self.items: dict[str, Any] = {}
        self.paths: dict[str, str] = {}
        for name, file in form.files.items():
            try:
                where = self.path_of(name)
            except LookupError:
                continue
            if place(root, where).is_file():
                self.paths[name] = where
                self.items[name] = decoded(file.form, regular(root, where).read_bytes(), where)

    def path_of(self, name: str) -> str:
        """Where a file of the format stands below the root now; raises LookupError where a field of it is missing."""

        def digits(match: re.Match[str]) -> str:
            found = self.value(tuple(match[1].split(".")))
            if not isinstance(found, bytes) or not found:
                raise LookupError(match[1])
            return found.hex()

        return self.below(_ANSWER.sub(digits, self.form.files[name].path))

    def below(self, path: str) -> str:
        """A path of the format as a path of the root."""
        return "/".join(part for part in (self.path, path) if part != ".")

    def value(self, at: Place) -> Any:
        """What stands at a place; raises LookupError where nothing does."""
        found: Any = self.items
        for step in at:
            found = member(found, step)
        return found

    def replace(self, at: Place, value: Any) -> None:
        """Put a value at a place that is there."""
        self.value(at)
        holder = self.value(at[:-1])
        holder[int(at[-1]) if isinstance(holder, list) else at[-1]] = value

    def remove(self, at: Place) -> None:
        """Take away what stands at a place; a whole file cannot be."""
        self.value(at)
        holder = self.value(at[:-1])
        del holder[int(at[-1]) if isinstance(holder, list) else at[-1]]

    def matches(self, at: Place) -> Iterator[tuple[Place, Any]]:
        """The places that are there of those that a place with `*` means, each with the element at the `*`."""
        if "*" not in at:
            try:
                self.value(at)
            except LookupError:
                return
            yield at, None
            return
        star = at.index("*")
        try:
            elements = self.value(at[:star])
        except LookupError:
            return
        for k, element in enumerate(elements if isinstance(elements, list) else ()):
            found = (*at[:star], str(k), *at[star + 1 :])
            for whole, _ in self.matches(found):
                yield whole, element

    def content(self, path: str) -> bytes:
        """The bytes of a file of the place as they are to be written; raises LookupError where there is none."""
        whole = self.below(path)
        for name, held in self.paths.items():
            if held == whole:
                return encoded(self.form.files[name].form, self.items[name])
        try:
            return regular(self.root, whole).read_bytes()
        except StepRefused:
            raise LookupError(path) from None

    def write(self, kept: Place) -> None:
        """Write every item back; a file whose path hangs on a field moves along, but not if `kept` is that field."""
        for name, item in self.items.items():
            old, new = self.paths[name], self.paths[name]
            if ".".join(kept) not in _ANSWER.findall(self.form.files[name].path):
                with contextlib.suppress(LookupError):  # the field may be gone: the file stays
                    new = self.path_of(name)
            data = encoded(self.form.files[name].form, item)
            file = place(self.root, old)
            if old != new:
                file.unlink()
                file = place(self.root, new)
            elif file.read_bytes() == data:
                continue
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(data)


def member(holder: Any, step: str) -> Any:
    """One element of a list or one value of a map; raises LookupError."""
    if isinstance(holder, list):
        if not step.isdigit():
            raise LookupError(step)
        return holder[int(step)]
    if isinstance(holder, dict):
        return holder[step]
    raise LookupError(step)


def decoded(form: str, data: bytes, path: str) -> Any:
    """The item that the bytes of a file hold; raises StepRefused."""
    if form == "npz":
        return archive_item(data, path)
    content = data[4:-4] if form == "crc32c" else data
    try:
        item, end = decode(content)
    except (IllFormed, Incomplete):
        end = -1
    if end != len(content):
        raise StepRefused(f"{path!r} is not one CBOR item in the form {form}")
    return _native(item)


def encoded(form: str, item: Any) -> bytes:
    """The bytes of a file that hold an item: maps sorted unless they are Unsorted."""
    if form == "npz":
        return archive_bytes(item)
    content = _in_order(item)
    if form == "cbor":
        return content
    return len(content).to_bytes(4, "little") + content + crc32c(content).to_bytes(4, "little")


def crc32c(data: bytes) -> int:
    """The checksum CRC-32C of bytes."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = (rest >> 1) ^ (_CASTAGNOLI if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def _native(item: Any) -> Any:
    if isinstance(item, Float):
        return item.number
    if isinstance(item, list):
        return [_native(one) for one in item]
    if isinstance(item, Mapping):
        return {key: _native(one) for key, one in item.items()}
    return item


def _in_order(item: Any) -> bytes:
    if isinstance(item, list):
        return head(4, len(item)) + b"".join(map(_in_order, item))
    if isinstance(item, dict):
        pairs = sorted(((encode_canonical(key), _in_order(one)) for key, one in item.items()), key=lambda pair: pair[0])
        pairs = pairs[::-1] if isinstance(item, Unsorted) else pairs
        return head(5, len(item)) + b"".join(key + one for key, one in pairs)
    return encode_item(item)
