"""Files of `torch.save`, written and read without torch: a map of plain values, of tensors, and of maps of tensors.

The value is a list of entries in their order: `{name, value}` with a self-describing value, `{name, tensor}`, or
`{name, tensors}` with a list of `{name, tensor}`.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.form import form_of
from conformance.contract.lazy import np
from conformance.contract.types import Tensor

_TENSOR: Final = form_of(Tensor())
_NO_DATE: Final = (1980, 1, 1, 0, 0, 0)
_PREFIX: Final = "archive/"
# What torch calls the storage of a dtype; the wider unsigned ones have no storage of their own.
_STORAGES: Final[Mapping[str, str]] = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
}
_UNTYPED: Final = ("uint16", "uint32", "uint64")


class NotSaved(Exception):
    """The bytes are no such file; says why."""


# -- writing


def saved(entries: Sequence[Mapping[str, Any]]) -> bytes:
    """The bytes of a file with these entries; equal entries give equal bytes."""
    storages: list[bytes] = []
    items = b"".join(_part(entry["name"]) + _entry(entry, storages) for entry in entries)
    members = {
        "data.pkl": b"\x80\x02}(" + items + b"u.",
        "byteorder": b"little",
        **{f"data/{key}": data for key, data in enumerate(storages)},
        "version": b"3\n",
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(_PREFIX + name, _NO_DATE)
            info.create_system, info.external_attr = 3, 0o600 << 16
            archive.writestr(info, data)
    return target.getvalue()


def _entry(entry: Mapping[str, Any], storages: list[bytes]) -> bytes:
    if "tensor" in entry:
        return _tensor(_TENSOR.to_native(entry["tensor"]), storages)
    if "tensors" in entry:
        named = (_part(one["name"]) + _tensor(_TENSOR.to_native(one["tensor"]), storages) for one in entry["tensors"])
        return b"}(" + b"".join(named) + b"u"
    return _part(selfdescribing.to_native(entry["value"]))


def _part(value: Any) -> bytes:
    """The opcodes of a plain value; they use no memo, so they can be put anywhere in a pickle."""
    target = io.BytesIO()
    pickler = pickle.Pickler(target, protocol=2)
    pickler.fast = True
    pickler.dump(_mapped(value))
    return target.getvalue()[2:-1]


def _mapped(value: Any) -> Any:
    """The value with dicts for the pairs of a map."""
    if isinstance(value, list):
        return [_mapped(item) for item in value]
    if isinstance(value, tuple):
        return {_mapped(key): _mapped(item) for key, item in value}
    return {key: _mapped(item) for key, item in value.items()} if isinstance(value, dict) else value


def _tensor(array: np.ndarray[Any, Any], storages: list[bytes]) -> bytes:
    storages.append(array.tobytes())
    dtype = array.dtype.name
    typed = dtype in _STORAGES
    storage = f"ctorch\n{_STORAGES[dtype]}\n" if typed else "ctorch.storage\nUntypedStorage\n"
    strides = [stride // array.itemsize for stride in np.zeros(array.shape, array.dtype).strides]
    return b"".join(
        [
            b"ctorch._utils\n_rebuild_tensor_v" + (b"2" if typed else b"3") + b"\n((",
            _part("storage") + storage.encode() + _part(str(len(storages) - 1)) + _part("cpu"),
            _part(array.size if typed else array.nbytes) + b"tQ" + _part(0),
            b"(" + b"".join(map(_part, array.shape)) + b"t(" + b"".join(map(_part, strides)) + b"t",
            b"\x89ccollections\nOrderedDict\n)R" + (b"" if typed else f"ctorch\n{dtype}\n".encode()) + b"tR",
        ]
    )


# -- reading


@dataclass(frozen=True)
class _Dtype:
    name: str


class _Reader(pickle.Unpickler):
    """Makes arrays of the tensors in a pickle; any other name than torch's few is refused."""

    def __init__(self, content: bytes, storages: Mapping[str, bytes]) -> None:
        super().__init__(io.BytesIO(content))
        self._storages = storages

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("collections", "OrderedDict"):
            return dict
        if (module_name, global_name) == ("torch", "Size"):
            return list
        if module_name == "torch._utils" and global_name in ("_rebuild_tensor_v2", "_rebuild_tensor_v3"):
            return _rebuilt
        if (module_name, global_name) == ("torch.storage", "UntypedStorage"):
            return _Dtype("")
        for dtype, storage in _STORAGES.items():
            if module_name == "torch" and global_name in (dtype, storage):
                return _Dtype(dtype)
        if module_name == "torch" and global_name in _UNTYPED:
            return _Dtype(global_name)
        raise NotSaved(f"the pickle names {module_name}.{global_name}")

    def persistent_load(self, pid: Any, /) -> tuple[str, bytes]:
        kind, dtype, key, _, _ = pid
        if kind != "storage":
            raise NotSaved("the pickle refers to no storage")
        return dtype.name, self._storages[key]


def _rebuilt(storage: Any, offset: int, shape: Any, strides: Any, _grad: Any, _hooks: Any, told: Any = None) -> Any:
    dtype = np.dtype(told.name if told is not None else storage[0]).newbyteorder("<")
    size = int(np.prod(shape, dtype=object))
    start = offset * dtype.itemsize
    array = np.frombuffer(storage[1][start : start + size * dtype.itemsize], dtype).reshape(shape)
    if tuple(stride * dtype.itemsize for stride in strides) != np.zeros(shape, dtype).strides and size > 1:
        raise NotSaved("a tensor is not in C order")
    return array


def entries_of(data: bytes) -> list[dict[str, Any]]:
    """The entries of a file; raises NotSaved, or what a damaged archive or pickle raises."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(found) != 1:
            raise NotSaved("it has not one pickle")
        prefix = found[0].removesuffix("data.pkl") + "data/"
        storages = {
            name.removeprefix(prefix): archive.read(name) for name in archive.namelist() if name.startswith(prefix)
        }
        value = _Reader(archive.read(found[0]), storages).load()
    if not isinstance(value, dict):
        raise NotSaved("it holds no map")
    return [entry_of(name, item) for name, item in value.items()]


def entry_of(name: Any, item: Any) -> dict[str, Any]:
    """The entry of one item of the map: an array, a map of arrays, or a plain value; raises IllTyped."""
    if isinstance(item, np.ndarray):
        return {"name": name, "tensor": _TENSOR.from_native(item)}
    if isinstance(item, dict) and item and all(isinstance(one, np.ndarray) for one in item.values()):
        named = [{"name": key, "tensor": _TENSOR.from_native(one)} for key, one in item.items()]
        return {"name": name, "tensors": named}
    return {"name": name, "value": selfdescribing.check(selfdescribing.from_native(item))}
