"""The two codecs of batch files, by name."""

from __future__ import annotations

import ast
import io
import json
import re
import zipfile
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from impl.reference.pipeline import archive
from impl.reference.pipeline.metadata import is_field_name, shown
from impl.reference.pipeline.queue_folder import BatchFile, Codec, metadata_of
from impl.reference.pipeline.refusal import Corrupt, Refusal
from impl.reference.pipeline.tensors import WIDTHS, is_whole, tensor_of
from impl.types import Tensor


@cache
def library(name: str) -> Any:
    """Return NumPy or torch, imported when it is first needed; ModuleNotFoundError."""
    return import_module(name)


def numpy_array(dtype: str, shape: tuple[int, ...], rows: memoryview) -> Any:
    """Copy rows into a NumPy array of their own, so that no array holds on to its file."""
    return library("numpy").ndarray(shape, dtype, rows).copy()


def torch_tensor(tensor: Tensor) -> Any:
    """Copy a tensor into one of torch, on the CPU."""
    return torch_rows(tensor.dtype, tensor.shape, memoryview(tensor.data))


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


def has_cuda() -> bool:
    """Tell whether torch is installed and sees a CUDA device."""
    try:
        return bool(library("torch").cuda.is_available())
    except ModuleNotFoundError:
        return False


METADATA: Final = "metadata.json"
_ENDING: Final = ".npy"
_MAGIC: Final = b"\x93NUMPY\x01\x00"
_ALIGNMENT: Final = 64
_NO_DATE: Final = (1980, 1, 1, 0, 0, 0)
_MAX_HEADER: Final = 4096
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
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as made:
            made.writestr(_member(METADATA), metadata_text(file.metadata.as_map()))
            for field in file.metadata.schema:
                made.writestr(_member(field.name + _ENDING), _npy(file.tensors[field.name]))
        return target.getvalue()

    def decode(self, content: bytes) -> BatchFile:
        """Read an archive (ruling QA35); Corrupt."""
        members = archive.members(content)
        text = members.pop(METADATA, None)
        if text is None:
            raise Corrupt(f"there is no {METADATA}")
        return BatchFile(metadata=metadata_of(_json(text)), tensors=_tensors(members))

    def decode_legacy(self, content: bytes) -> BatchFile:
        """Read the arrays of an archive; Corrupt."""
        members = archive.members(content)
        members.pop(METADATA, None)
        return BatchFile(metadata=None, tensors=_tensors(members))


def metadata_text(described: dict[str, Any]) -> str:
    """Return the one text of a metadata map: keys in the seed's order, no blanks, ASCII."""
    return json.dumps(described, separators=(",", ":"))


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _NO_DATE)
    info.create_system, info.external_attr = 3, 0o600 << 16
    return info


def _tensors(members: dict[str, bytes]) -> dict[str, Tensor]:
    tensors = {}
    for name, data in members.items():
        field = name.removesuffix(_ENDING)
        if not name.endswith(_ENDING) or not is_field_name(field):
            raise Corrupt(f"the member {name!r} is no field")
        tensors[field] = _tensor(data)
    return tensors


def _json(text: bytes) -> object:
    try:
        return json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Corrupt(f"{METADATA} is no JSON") from None


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


_DTYPE_PREFIX: Final = "torch."


class PtCodec:
    """Write and read `.pt`; constructing it raises ModuleNotFoundError where torch is not installed."""

    ending = ".pt"

    def __init__(self) -> None:
        self._torch = library("torch")

    def judge_end(self, tail: bytes) -> None:
        """Take any end: torch knows files that are no archives."""

    def encode(self, file: BatchFile) -> bytes:
        """Return what `torch.save` writes."""
        assert file.metadata is not None
        tensors = {field.name: torch_tensor(file.tensors[field.name]) for field in file.metadata.schema}
        target = io.BytesIO()
        self._torch.save({"metadata": file.metadata.as_map(), "tensors": tensors}, target)
        return target.getvalue()

    def decode(self, content: bytes) -> BatchFile:
        """Read the map of metadata and tensors; Corrupt."""
        loaded = self._load(content)
        if "metadata" not in loaded:
            raise Corrupt("there is no metadata")
        return BatchFile(metadata_of(loaded["metadata"]), self._tensors(loaded.get("tensors"), content))

    def decode_legacy(self, content: bytes) -> BatchFile:
        """Read a map of tensors, beside whatever the file says of itself; Corrupt."""
        loaded = self._load(content)
        named = loaded.get("tensors", {name: item for name, item in loaded.items() if self._is_tensor(item)})
        return BatchFile(None, self._tensors(named, content))

    def _load(self, content: bytes) -> dict[object, Any]:
        # weights_only builds tensors and plain values and calls nothing else.
        try:
            loaded = self._torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises whatever its archive, its unpickler or its storages raise
            raise Corrupt(f"torch cannot load it: {type(error).__name__}") from None
        if not isinstance(loaded, dict):
            raise Corrupt("it holds no map")
        return loaded

    def _is_tensor(self, item: object) -> bool:
        return type(item) is self._torch.Tensor

    def _tensors(self, named: object, content: bytes) -> dict[str, Tensor]:
        if not isinstance(named, dict):
            raise Corrupt("it holds no tensors")
        return {name: self._tensor(name, item, len(content)) for name, item in named.items()}

    def _tensor(self, name: object, item: Any, most_bytes: int) -> Tensor:
        if not is_field_name(name) or not self._is_tensor(item):
            raise Corrupt(f"{shown(name)} is no field")
        dtype = str(item.dtype).removeprefix(_DTYPE_PREFIX)
        # An expanded or sparse tensor may represent more elements than the file has bytes.
        if dtype not in WIDTHS or item.layout is not self._torch.strided or not item.is_contiguous():
            raise Corrupt(f"{name} is no plain tensor")
        if item.numel() * WIDTHS[dtype] > most_bytes or item.device.type != "cpu":
            raise Corrupt(f"{name} has more elements than the file has bytes")
        tensor = tensor_of(item)
        if not is_whole(tensor):
            raise Corrupt(f"{name} has no batch axis")
        return tensor


def codec_named(name: str) -> Codec:
    """Return the codec `npz` or `pt`; CONFIG_INVALID for another name, and for `pt` where torch is not installed."""
    if name == "npz":
        return NpzCodec()
    if name == "pt":
        try:
            return PtCodec()
        except ModuleNotFoundError:
            raise Refusal("CONFIG_INVALID", "the codec pt needs torch, which is not installed") from None
    raise Refusal("CONFIG_INVALID", f"there is no codec {name!r}, only npz and pt")
