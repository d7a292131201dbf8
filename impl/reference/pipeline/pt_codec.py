"""Batch files through torch, where it is installed: `torch.save` of the metadata and the tensors."""

import io
from typing import Any, Final

from impl.reference.pipeline.arrays import library, torch_tensor
from impl.reference.pipeline.batch_file import BatchFile, metadata_of
from impl.reference.pipeline.field_spec import is_field_name
from impl.reference.pipeline.plain_value import shown
from impl.reference.pipeline.refusal import Corrupt
from impl.reference.pipeline.tensors import WIDTHS, is_whole, tensor_of
from impl.types import Tensor

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
        # An expanded or sparse tensor may stand for more elements than the file has bytes.
        if dtype not in WIDTHS or item.layout is not self._torch.strided or not item.is_contiguous():
            raise Corrupt(f"{name} is no plain tensor")
        if item.numel() * WIDTHS[dtype] > most_bytes or item.device.type != "cpu":
            raise Corrupt(f"{name} has more elements than the file has bytes")
        tensor = tensor_of(item)
        if not is_whole(tensor):
            raise Corrupt(f"{name} has no batch axis")
        return tensor
