"""An archive of metadata and arrays as an item that can be changed: `{metadata: what the JSON says, arrays: by field}`.

An array is its header, key by key, and its `data`. Lengths, checksums and the directory are always right.
"""

from __future__ import annotations

import ast
import io
import json
import zipfile
from typing import Any, Final

from conformance.vectors.filecodec import encode_file
from conformance.vectors.room_path import StepRefused

_METADATA: Final = "metadata.json"
_NPY: Final = ".npy"
_MAGIC: Final = b"\x93NUMPY\x01\x00"
_ALIGNMENT: Final = 64


class Unsorted(dict[Any, Any]):
    """A map that is written with its keys in the wrong order."""


def archive_item(data: bytes, path: str) -> dict[str, Any]:
    """The item of an archive; raises StepRefused."""
    item: dict[str, Any] = {"arrays": {}}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                content = archive.read(info)
                if info.filename == _METADATA:
                    item["metadata"] = json.loads(content)
                else:
                    item["arrays"][info.filename.removesuffix(_NPY)] = _array(content)
    except Exception as error:  # a zip, its JSON and its arrays fail in a dozen ways; all of them mean one thing
        raise StepRefused(f"{path!r} is no archive of arrays: {type(error).__name__}") from None
    return item


def archive_bytes(item: dict[str, Any]) -> bytes:
    """The bytes of an archive: the metadata first, where there are any, then the arrays in their order."""
    members = []
    if "metadata" in item:
        members.append({"name": _METADATA, "text": json.dumps(_ordered(item["metadata"]), separators=(",", ":"))})
    for name, array in item["arrays"].items():
        members.append({"name": name + _NPY, "bytes": _array_bytes(array).hex()})
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
    """A JSON value in which every Unsorted map has its keys backwards."""
    if isinstance(part, dict):
        keys = reversed(part) if isinstance(part, Unsorted) else part
        return {key: _ordered(part[key]) for key in keys}
    return list(map(_ordered, part)) if isinstance(part, list) else part
