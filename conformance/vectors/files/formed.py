"""Reads the files of a declared format as items, changes them at dotted places, and writes them back."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.cbor import Float, IllFormed, Incomplete, decode, encode_canonical
from conformance.codec.form import form_of
from conformance.contract.canonical import encode_item, head
from conformance.contract.family import FileFormat
from conformance.contract.types import Tensor
from conformance.vectors.files.filecodec import encode_file
from conformance.vectors.files.plain_pickle import pickled, unpickled
from conformance.vectors.files.stored_archive import NPY, stored_members
from conformance.vectors.files.temp_roots import StepRefused, not_linked, place, regular, write_file
from conformance.vectors.files.torch_file import entries_of, entry_of, saved

_TENSOR: Final = form_of(Tensor())
_METADATA: Final = "metadata.json"
_MAGIC: Final = b"\x93NUMPY\x01\x00"
_ALIGNMENT: Final = 64


class Unsorted(dict[Any, Any]):
    """A map that is written with its keys in the wrong order."""


def archive_item(data: bytes, path: str) -> dict[str, Any]:
    """The item of an archive; raises StepRefused."""
    item: dict[str, Any] = {"arrays": {}}
    try:
        for name, content in stored_members(data):
            if name == _METADATA:
                item["metadata"] = json.loads(content)
            else:
                item["arrays"][name.removesuffix(NPY)] = _array(content)
    except Exception as error:  # a zip, its JSON and its arrays fail with a dozen exceptions, which all mean the same
        raise StepRefused(f"{path!r} is no archive of arrays: {type(error).__name__}") from None
    return item


def archive_bytes(item: dict[str, Any]) -> bytes:
    """The bytes of an archive: first the metadata, if any, then the arrays in their order."""
    members = []
    if "metadata" in item:
        members.append({"name": _METADATA, "text": json.dumps(_ordered(item["metadata"]), separators=(",", ":"))})
    for name, array in item["arrays"].items():
        members.append({"name": name + NPY, "bytes": _array_bytes(array).hex()})
    return encode_file("npz", members)


def _array(content: bytes) -> dict[str, Any]:
    if content[:8] != _MAGIC:
        raise ValueError("no array of NPY 1.0")
    end = 10 + int.from_bytes(content[8:10], "little")
    header = ast.literal_eval(content[10:end].decode("latin-1").strip())
    return {**header, "shape": list(header["shape"]), "data": content[end:]}


def _array_bytes(array: dict[str, Any]) -> bytes:
    header = {key: tuple(part) if isinstance(part, list) else part for key, part in _ordered(array).items()}
    text = "{" + "".join(f"{key!r}: {part!r}, " for key, part in header.items() if key != "data") + "}"
    text += " " * (-(len(_MAGIC) + 2 + len(text) + 1) % _ALIGNMENT) + "\n"
    return _MAGIC + len(text).to_bytes(2, "little") + text.encode("latin-1") + bytes(array["data"])


def _ordered(part: Any) -> Any:
    """A JSON value where every Unsorted map has its keys in reverse order."""
    if isinstance(part, dict):
        keys = reversed(part) if isinstance(part, Unsorted) else part
        return {key: _ordered(part[key]) for key in keys}
    return list(map(_ordered, part)) if isinstance(part, list) else part


_ANSWER: Final = re.compile(r"\{([a-z0-9_.]+)\}")
_CASTAGNOLI: Final = 0x82F63B78  # the polynomial of CRC-32C, its bits reversed
Steps = tuple[str, ...]


class FormedFiles:
    """The items of a format's files, by the file's name in the format; an absent file has no item.

    Raises StepRefused where a file is not of its form. An item is a native value.
    """

    def __init__(self, form: FileFormat, root: Path, path: str) -> None:
        self.form, self.root, self.path = form, root, path
        self.items: dict[str, Any] = {}
        self.paths: dict[str, str] = {}
        self._others: dict[str, bytes] = {}  # by path: files without a form, read only for their digest and size
        for name, file in form.files.items():
            try:
                where = self.path_of(name)
            except LookupError:
                continue
            if (found := place(root, where)).is_file():
                self.paths[name] = where
                self.items[name] = decoded(file.form, not_linked(found, where).read_bytes(), where)

    def path_of(self, name: str) -> str:
        """The current path of a file of the format below the root; raises LookupError if it needs a missing field."""

        def digits(match: re.Match[str]) -> str:
            found = self.value(tuple(match[1].split(".")))
            if not isinstance(found, bytes) or not found:
                raise LookupError(match[1])
            return found.hex()

        return self.below(_ANSWER.sub(digits, self.form.files[name].path))

    def below(self, path: str) -> str:
        """The path below the root of a path in the format."""
        return "/".join(part for part in (self.path, path) if part != ".")

    def value(self, at: Steps) -> Any:
        """The value at a place; raises LookupError if there is none."""
        found: Any = self.items
        for step in at:
            found = member(found, step)
        return found

    def replace(self, at: Steps, value: Any) -> None:
        """Replace the value at a place that has one."""
        self.value(at)
        holder = self.value(at[:-1])
        holder[int(at[-1]) if isinstance(holder, list) else at[-1]] = value

    def plant(self, at: Steps, value: Any) -> None:
        """Put a value at a place of a map, which may have one already."""
        holder = self.value(at[:-1])
        if not isinstance(holder, dict):
            raise LookupError(at[-1])
        holder[at[-1]] = value

    def remove(self, at: Steps) -> None:
        """Remove the value at a place; a whole file cannot be removed."""
        self.value(at)
        holder = self.value(at[:-1])
        del holder[int(at[-1]) if isinstance(holder, list) else at[-1]]

    def matches(self, at: Steps) -> Iterator[tuple[Steps, Any]]:
        """The existing places that match a place with `*`, each with its element at the `*`."""
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
        """The bytes to write for the file at a path; raises LookupError if there is no such file."""
        whole = self.below(path)
        for name, known in self.paths.items():
            if known == whole:
                return encoded(self.form.files[name].form, self.items[name])
        try:
            if whole not in self._others:
                self._others[whole] = regular(self.root, whole).read_bytes()
            return self._others[whole]
        except StepRefused:
            raise LookupError(path) from None

    def write(self, kept: Steps) -> None:
        """Write every item back; a file moves with a field that its path depends on, unless that field is `kept`."""
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
            write_file(file, data)


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
    """The item in the bytes of a file; raises StepRefused."""
    if form == "npz":
        return archive_item(data, path)
    if form == "pt":
        try:
            return {entry["name"]: _entry_item(entry) for entry in entries_of(data)}
        except Exception as error:  # an archive that contains a pickle raises the exceptions of both
            raise StepRefused(f"{path!r} is no file of torch.save: {type(error).__name__}") from None
    if form == "pickle2":
        try:
            return unpickled(data)
        except Exception as error:  # a damaged pickle raises nearly anything
            raise StepRefused(f"{path!r} is no pickle of plain values: {type(error).__name__}") from None
    content = data[4:-4] if form == "crc32c" else data
    try:
        item, end = decode(content)
    except (IllFormed, Incomplete):
        end = -1
    if end != len(content):
        raise StepRefused(f"{path!r} is not one CBOR item in the form {form}")
    return _native(item)


def encoded(form: str, item: Any) -> bytes:
    """The bytes of a file with an item: maps sorted unless they are Unsorted."""
    if form == "npz":
        return archive_bytes(item)
    if form == "pt":
        return saved([entry_of(name, part) for name, part in item.items()])
    if form == "pickle2":
        return pickled(_ordered(item))
    content = _in_order(item)
    if form == "cbor":
        return content
    return len(content).to_bytes(4, "little") + content + crc32c(content).to_bytes(4, "little")


def _entry_item(entry: Mapping[str, Any]) -> Any:
    """The content of an entry of a torch.save file: a value, an array, or a map of arrays."""
    if "tensor" in entry:
        return _TENSOR.to_native(entry["tensor"])
    if "tensors" in entry:
        return {one["name"]: _TENSOR.to_native(one["tensor"]) for one in entry["tensors"]}
    return selfdescribing.to_native(entry["value"])


def crc32c(data: bytes) -> int:
    """The checksum CRC-32C of bytes."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest = _REST_OF_BYTE[(rest ^ byte) & 0xFF] ^ (rest >> 8)
    return rest ^ 0xFFFFFFFF


def _rest_of(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (_CASTAGNOLI if byte & 1 else 0)
    return byte


_REST_OF_BYTE: Final = tuple(map(_rest_of, range(256)))


def _native(item: Any) -> Any:
    if isinstance(item, Float):
        return item.number
    if isinstance(item, list):
        return [_native(one) for one in item]
    if isinstance(item, dict):
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
