"""Files of `torch.save`, written and read without torch: entries {name, value | tensor}, or {name, tensors}."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.codec import selfdescribing
from conformance.codec.form import form_of
from conformance.contract.lazy import np
from conformance.contract.types import Tensor
from conformance.vectors.files.plain_pickle import dumped, require_protocol_2
from conformance.vectors.files.stored_archive import stored_members, zipped

_TENSOR: Final = form_of(Tensor())

# The name that torch gives the storage of a dtype; uint16 and wider unsigned types have no name.
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


def saved(entries: Sequence[Mapping[str, Any]]) -> bytes:
    """The bytes of a file with these entries; equal entries give equal bytes."""
    storages: list[bytes] = []
    items = b"".join(_part(entry["name"]) + _entry(entry, storages) for entry in entries)
    return zipped(
        [
            ("archive/data.pkl", b"\x80\x02}(" + items + b"u."),
            ("archive/byteorder", b"little"),
            *((f"archive/data/{key}", data) for key, data in enumerate(storages)),
            ("archive/version", b"3\n"),
        ]
    )


def _entry(entry: Mapping[str, Any], storages: list[bytes]) -> bytes:
    if "tensor" in entry:
        return _tensor(_TENSOR.to_native(entry["tensor"]), storages)
    if "tensors" in entry:
        named = (_part(one["name"]) + _tensor(_TENSOR.to_native(one["tensor"]), storages) for one in entry["tensors"])
        return b"}(" + b"".join(named) + b"u"
    return _part(selfdescribing.to_native(entry["value"]))


def _part(value: Any) -> bytes:
    """The opcodes of a plain value; they use no memo, so they can be put anywhere in a pickle."""
    return dumped(_mapped(value))[2:-1]


def _mapped(value: Any) -> Any:
    """The value with a dict for every map that is written as pairs."""
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


@dataclass(frozen=True)
class _Dtype:
    name: str


class _Reader(pickle.Unpickler):
    """Turns the tensors of a pickle into arrays; refuses every name except the few of torch."""

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
        raise ValueError(f"the pickle names {module_name}.{global_name}")

    def persistent_load(self, pid: Any, /) -> tuple[str, bytes]:
        kind, dtype, key, _, count = pid
        if kind != "storage":
            raise ValueError("the pickle refers to no storage")
        stored = self._storages[key]
        # What has no dtype is counted in bytes. torch reads no more than that of the storage.
        if count * (np.dtype(dtype.name).itemsize if dtype.name else 1) != len(stored):
            raise ValueError(f"the storage {key} has {len(stored)} bytes and another count")
        return dtype.name, stored


def _rebuilt(storage: Any, offset: int, shape: Any, strides: Any, _grad: Any, _hooks: Any, told: Any = None) -> Any:
    dtype = np.dtype(told.name if told is not None else storage[0]).newbyteorder("<")
    size = int(np.prod(shape, dtype=object))
    start = offset * dtype.itemsize
    array = np.frombuffer(storage[1][start : start + size * dtype.itemsize], dtype).reshape(shape)
    if tuple(stride * dtype.itemsize for stride in strides) != np.zeros(shape, dtype).strides and size > 1:
        raise ValueError("a tensor is not in C order")
    return array


def entries_of(data: bytes) -> list[dict[str, Any]]:
    """The entries of a file; raises ValueError, or what a damaged archive or pickle raises."""
    members = dict(stored_members(data))
    (pickled,) = [name for name in members if name.endswith("/data.pkl")]
    folder = pickled.removesuffix("data.pkl")
    if f"{folder}version" not in members or members.get(f"{folder}byteorder", b"little") != b"little":
        raise ValueError("torch reads no file without a version, and none of another order of bytes as it is")
    if not all(name.startswith(folder) for name in members):
        raise ValueError("not all members are in one folder")
    start = f"{folder}data/"
    storages = {name.removeprefix(start): content for name, content in members.items() if name.startswith(start)}
    require_protocol_2(members[pickled])
    value = _Reader(members[pickled], storages).load()
    if not isinstance(value, dict):
        raise ValueError("it holds no map")
    return [entry_of(name, item) for name, item in value.items()]


def entry_of(name: Any, item: Any) -> dict[str, Any]:
    """The entry of one item of the map: an array, a map of arrays, or a plain value; raises IllTyped."""
    if isinstance(item, np.ndarray):
        return {"name": name, "tensor": _TENSOR.from_native(item)}
    if isinstance(item, dict) and item and all(isinstance(one, np.ndarray) for one in item.values()):
        named = [{"name": key, "tensor": _TENSOR.from_native(one)} for key, one in item.items()]
        return {"name": name, "tensors": named}
    return {"name": name, "value": selfdescribing.check(selfdescribing.from_native(item))}
