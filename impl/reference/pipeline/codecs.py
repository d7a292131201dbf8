"""The two codecs of batch files, by name."""

from __future__ import annotations

import ast
import io
import json
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NoReturn

from impl.reference.pipeline import archive
from impl.reference.pipeline.metadata import MAX_DEPTH, is_field_name, shown
from impl.reference.pipeline.queue_folder import BatchFile, Codec, metadata_of
from impl.reference.pipeline.refusal import Corrupt, Foreign, Refusal
from impl.reference.pipeline.tensors import is_whole
from impl.reference.pipeline.torch_file import Placed, is_old_form, members_of, read_saved, tensor_at
from impl.types import Tensor


@cache
def library(name: str) -> Any:
    """Return NumPy or torch, imported when it is first needed; ModuleNotFoundError."""
    return import_module(name)


def numpy_array(dtype: str, shape: tuple[int, ...], rows: memoryview) -> Any:
    """Copy rows into a NumPy array of their own, so that no array holds on to its file."""
    return library("numpy").ndarray(shape, dtype, rows).copy()


def torch_rows(dtype: str, shape: tuple[int, ...], rows: memoryview) -> Any:
    """Copy rows into a torch tensor of their own, on the CPU."""
    torch = library("torch")
    if rows.readonly:
        return torch.frombuffer(bytearray(rows), dtype=getattr(torch, dtype)).reshape(shape)
    return torch.frombuffer(rows, dtype=getattr(torch, dtype)).reshape(shape).clone()


def on_device(tensor: Any, device: str) -> Any:
    """Move a torch tensor; to CUDA from pinned memory without waiting for the copy."""
    if not device.startswith("cuda"):
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def has_torch() -> bool:
    """Tell whether torch is installed."""
    try:
        library("torch")
    except ModuleNotFoundError:
        return False
    return True


def has_cuda() -> bool:
    """Tell whether torch is installed and sees a CUDA device."""
    return has_torch() and bool(library("torch").cuda.is_available())


METADATA: Final = "metadata.json"
_ENDING: Final = ".npy"
_MAGIC: Final = b"\x93NUMPY\x01\x00"
_ALIGNMENT: Final = 64
_NO_DATE: Final = (1980, 1, 1, 0, 0, 0)
_MAX_HEADER: Final = 4096
_DIGITS: Final = 4096  # of an integer; Python converts no more than 4,300
_DESCRIPTIONS: Final = MappingProxyType(
    {
        "bool": "|b1",
        "uint8": "|u1",
        "uint16": "<u2",
        "uint32": "<u4",
        "uint64": "<u8",
        "int8": "|i1",
        "int16": "<i2",
        "int32": "<i4",
        "int64": "<i8",
        "float16": "<f2",
        "float32": "<f4",
        "float64": "<f8",
    }
)
_DTYPES: Final = MappingProxyType({description: dtype for dtype, description in _DESCRIPTIONS.items()})
_HEADER: Final = re.compile(
    r"\{'descr': '([|<][a-z][0-9])', 'fortran_order': (False|True), 'shape': (\([0-9, ]*\)), \} *\n"
)


class NpzCodec:
    """Write and read `.npz`, which any NumPy can read as well."""

    ending = ".npz"

    def judge_end(self, tail: bytes) -> None:
        """Raise Corrupt where the last record of an archive is not at the end."""
        archive.judge_end(tail)

    def encode(self, file: BatchFile) -> bytes:
        """Return the archive: no compression, no dates, members in schema order."""
        assert file.metadata is not None
        arrays = {field.name + _ENDING: _npy(file.tensors[field.name]) for field in file.metadata.schema or ()}
        return _archive({METADATA: metadata_text(file.metadata.as_map()).encode(), **arrays})

    def decode(self, content: bytes) -> BatchFile:
        """Read an archive (ruling QA36); Corrupt, Foreign."""
        members = archive.members(content)
        text = members.pop(METADATA, None)
        if text is None:
            raise Foreign(f"there is no {METADATA}")
        return BatchFile(metadata=metadata_of(_json(text)), tensors=_tensors(members))

    def decode_legacy(self, content: bytes) -> BatchFile:
        """Read the arrays of an archive; Corrupt, Foreign."""
        members = archive.members(content)
        members.pop(METADATA, None)
        return BatchFile(metadata=None, tensors=_tensors(members))


def metadata_text(described: dict[str, Any]) -> str:
    """Return the one text of a metadata map: keys in the seed's order, no blanks, ASCII."""
    return json.dumps(described, separators=(",", ":"))


def _archive(members: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as made:
        for name, data in members.items():
            made.writestr(_member(name), data)
    return target.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _NO_DATE)
    info.create_system, info.external_attr = 3, 0o600 << 16
    return info


def _tensors(members: dict[str, bytes]) -> dict[str, Tensor]:
    tensors = {}
    for name, data in members.items():
        field = name.removesuffix(_ENDING)
        if not name.endswith(_ENDING) or not is_field_name(field):
            raise Foreign(f"the member {shown(name)} is no field")
        tensors[field] = _tensor(data)
    return tensors


def _json(text: bytes) -> object:
    """Read a JSON text (ruling QA38); of a longer integer 4,096 digits are read, which is too large for every key."""
    try:
        item = json.loads(
            text.decode("utf-8"), parse_int=lambda digits: int(digits[:_DIGITS]), parse_constant=_no_number
        )
        _require_levels(item)
    except (ValueError, RecursionError):
        raise Corrupt(f"{METADATA} is no JSON") from None
    return item


def _no_number(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which JSON has not."""
    raise ValueError(name)


def _require_levels(item: object, around: int = 0) -> None:
    """Refuse an item inside more than 64 containers."""
    if around > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels")
    inside = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    for part in inside:
        _require_levels(part, around + 1)


def _npy(tensor: Tensor) -> bytes:
    shape = _shape_text(tensor.shape)
    header = f"{{'descr': '{_DESCRIPTIONS[tensor.dtype]}', 'fortran_order': False, 'shape': {shape}, }}"
    padding = -(len(_MAGIC) + 2 + len(header) + 1) % _ALIGNMENT
    header += " " * padding + "\n"
    return _MAGIC + len(header).to_bytes(2, "little") + header.encode("latin-1") + tensor.data


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def _tensor(content: bytes) -> Tensor:
    size = int.from_bytes(content[8:10], "little")
    if content[:8] != _MAGIC or size > _MAX_HEADER:
        raise Corrupt("a member is no array of NPY version 1.0")
    header = _HEADER.fullmatch(content[10 : 10 + size].decode("latin-1"))
    if header is None or header[1] not in _DTYPES or header[2] != "False":
        raise Corrupt("an array has another header, dtype or order")
    try:
        shape = ast.literal_eval(header[3])
    except (SyntaxError, ValueError):
        raise Corrupt("an array has no shape") from None
    if not isinstance(shape, tuple) or _shape_text(shape) != header[3]:
        raise Corrupt("an array has no shape as NumPy writes it")
    tensor = Tensor(_DTYPES[header[1]], shape, content[10 + size :])
    if not is_whole(tensor):
        raise Corrupt("an array has not the bytes of its shape")
    return tensor


class PtCodec:
    """Write and read `.pt` as `torch.save` and `torch.load` do, without torch."""

    ending = ".pt"

    def judge_end(self, tail: bytes) -> None:
        """Raise Corrupt where the last record of an archive is not at the end."""
        archive.judge_end(tail)

    def encode(self, file: BatchFile) -> bytes:
        """Return a file of metadata and tensors, which `torch.load(weights_only=True)` reads."""
        assert file.metadata is not None
        tensors = {field.name: file.tensors[field.name] for field in file.metadata.schema or ()}
        return _archive(members_of({"metadata": file.metadata.as_map(), "tensors": tensors}))

    def decode(self, content: bytes) -> BatchFile:
        """Read the map of metadata and tensors; Corrupt, Foreign."""
        saved, storages = self._saved(content)
        for key in ("metadata", "tensors"):
            if key not in saved:
                raise Foreign(f"there is no {key}")
        return BatchFile(metadata_of(saved["metadata"]), _placed_tensors(saved["tensors"], storages, len(content)))

    def decode_legacy(self, content: bytes) -> BatchFile:
        """Read a map of tensors and the metadata of the file; Corrupt, Foreign."""
        saved, storages = self._saved(content)
        named = saved.get("tensors", {name: item for name, item in saved.items() if isinstance(item, Placed)})
        return BatchFile(None, _placed_tensors(named, storages, len(content)))

    def _saved(self, content: bytes) -> tuple[dict[object, Any], Mapping[str, bytes]]:
        if is_old_form(content):
            raise Foreign("it was saved by a torch before version 1.6: load and save it once")
        saved, storages = read_saved(archive.members(content))
        if not isinstance(saved, dict):
            raise Foreign("it holds no map")
        return saved, storages


def _placed_tensors(named: object, storages: Mapping[str, bytes], most_bytes: int) -> dict[str, Tensor]:
    if not isinstance(named, dict):
        raise Foreign("its tensors are no map")
    tensors: dict[str, Tensor] = {}
    for name, placed in named.items():
        if not is_field_name(name) or not isinstance(placed, Placed):
            raise Foreign(f"{shown(name)} is no field")
        tensors[name] = tensor_at(name, placed, storages)
        most_bytes -= len(tensors[name].data)
        # Many tensors may be parts of one storage.
        if most_bytes < 0:
            raise Corrupt("its tensors have more elements than the file has bytes")
        if not is_whole(tensors[name]):
            raise Corrupt(f"{name} has a byte that is no bool")
    return tensors


CODECS: Final[Mapping[str, Codec]] = MappingProxyType({"pt": PtCodec(), "npz": NpzCodec()})


def codec_named(name: str) -> Codec:
    """Return the codec `pt` or `npz`; CONFIG_INVALID for another name."""
    if name not in CODECS:
        raise Refusal("CONFIG_INVALID", f"there is no codec {name!r}, only pt and npz")
    return CODECS[name]


def codec_of(file: str) -> Codec:
    """Return the codec of a file by the ending of its name."""
    return CODECS[file.rpartition(".")[2]]
