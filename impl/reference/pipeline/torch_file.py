"""Files of `torch.save`, without torch: an archive with a pickle of values and tensors, and their bytes beside it."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any, Final

from impl.reference.pipeline.pickles import Known, NotPlain, UnknownName, read_pickle
from impl.reference.pipeline.refusal import Corrupt, Foreign
from impl.reference.pipeline.tensors import WIDTHS
from impl.types import Tensor

PREFIX: Final = "archive/"
_PICKLE: Final = "data.pkl"
_ORDER: Final = "byteorder"
_STORAGES: Final = "data/"
MAX_OPCODES: Final = 2**20
# What torch wrote before version 1.6 begins so: no archive, but several pickles one after the other.
_OLD_FORM: Final = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

# The storages of torch that know their dtype; the unsigned dtypes above one byte have none.
_STORAGE_NAMES: Final = MappingProxyType(
    {
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
)
# What torch has and this queue has not is known, so that it can be refused by its name.
_OTHERS: Final = MappingProxyType(
    {
        "bfloat16": "BFloat16Storage",
        "complex64": "ComplexFloatStorage",
        "complex128": "ComplexDoubleStorage",
    }
)
_KNOWN: Final = frozenset({*WIDTHS, *_OTHERS})
_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{storage: dtype for dtype, storage in _STORAGE_NAMES.items()},
        **{storage: dtype for dtype, storage in _OTHERS.items()},
    }
)


@dataclass(frozen=True, slots=True)
class StorageKind(Known):
    """Name a kind of storage by the dtype of its elements."""


@dataclass(frozen=True, slots=True)
class ElementType(Known):
    """Name a dtype."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Hold where the elements of a tensor are; a storage that knows no dtype is measured in bytes."""

    key: str
    dtype: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Placed:
    """Hold a tensor as the pickle describes it: a part of a storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


def is_old_form(content: bytes) -> bool:
    """Tell whether bytes begin like a file of a torch before version 1.6."""
    return content.startswith(_OLD_FORM)


def read_saved(members: Mapping[str, bytes]) -> tuple[Any, Mapping[str, bytes]]:
    """Return the saved value, its tensors as Placed, and the storages' bytes by key; Corrupt, Foreign."""
    found = [name for name in members if name.endswith("/" + _PICKLE) and name.count("/") == 1]
    if len(found) != 1:
        raise Corrupt(f"it holds {len(found)} members {_PICKLE}")
    prefix = found[0].removesuffix(_PICKLE)
    if members.get(prefix + _ORDER, b"little") != b"little":
        raise Foreign(f"the member {prefix + _ORDER} says another order of bytes than little")
    try:
        value = read_pickle(members[found[0]], MAX_OPCODES, _known, _storage_of)
    except UnknownName as reason:
        # A part of torch is somebody's file; everything else that can be named is an attack.
        kind = Foreign if reason.module.partition(".")[0] == "torch" else Corrupt
        raise kind(f"the member {found[0]}: {reason}") from None
    except NotPlain as reason:
        raise Corrupt(f"the member {found[0]}: {reason}") from None
    start = prefix + _STORAGES
    return value, {name.removeprefix(start): data for name, data in members.items() if name.startswith(start)}


def tensor_at(name: str, placed: Placed, storages: Mapping[str, bytes]) -> Tensor:
    """Cut a tensor out of its storage; Foreign for one of another kind than the queue's, Corrupt for one outside."""
    if placed.dtype not in WIDTHS:
        raise Foreign(f"{name} has the dtype {placed.dtype}")
    if not placed.shape:
        raise Foreign(f"{name} has no batch axis")
    if not _is_contiguous(placed):
        raise Foreign(f"{name} is not contiguous: save its contiguous()")
    data = storages.get(placed.storage.key)
    width = WIDTHS[placed.dtype]
    start = placed.offset * width
    size = prod(placed.shape) * width
    if data is None or not 0 <= start <= start + size <= len(data):
        raise Corrupt(f"{name} has more elements than its storage")
    return Tensor(placed.dtype, placed.shape, data[start : start + size])


def _is_contiguous(placed: Placed) -> bool:
    expected = 1
    for size, stride in zip(reversed(placed.shape), reversed(placed.strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _known(module: str, name: str) -> Known:
    if module == "torch" and name in _KINDS:
        return StorageKind(_KINDS[name])
    if module == "torch" and name in _KNOWN:
        return ElementType(name)
    known = _NAMES.get((module, name))
    if known is None:
        raise UnknownName(module, name)
    return known


_UNTYPED: Final = StorageKind("untyped")


def _storage_of(told: object) -> Storage:
    if not isinstance(told, list) or len(told) != 5 or told[0] != "storage":
        raise NotPlain("it refers to something that is no storage")
    _, kind, key, _, count = told
    if not isinstance(kind, StorageKind) or not isinstance(key, str) or not _is_count(count):
        raise NotPlain("it describes no storage")
    return Storage(key, None if kind is _UNTYPED else kind.name, count)


def _rebuilt(given: tuple[Any, ...], dtype: object) -> Placed:
    storage, offset, shape, strides = given[:4]
    if not isinstance(storage, Storage) or not _is_count(offset):
        raise NotPlain("it describes no tensor")
    if not isinstance(dtype, str) or dtype not in _KNOWN:
        raise NotPlain("it describes a tensor without a dtype")
    sizes = tuple(_sizes(shape))
    if len(sizes) != len(_sizes(strides)):
        raise NotPlain("it describes a tensor of two numbers of axes")
    return Placed(storage, offset, sizes, tuple(strides), dtype)


def _rebuilt_of_storage(*given: Any) -> Placed:
    return _rebuilt(given, getattr(given[0], "dtype", None))


def _rebuilt_of_dtype(*given: Any) -> Placed:
    return _rebuilt(given, given[6].name if isinstance(given[6], ElementType) else None)


def _sizes(sizes: object) -> list[int]:
    if not isinstance(sizes, list) or not all(map(_is_count, sizes)):
        raise NotPlain("it describes no shape")
    return sizes


def _is_count(number: object) -> bool:
    return type(number) is int and number >= 0


def _empty() -> dict[object, object]:
    return {}


_NAMES: Final[Mapping[tuple[str, str], Known]] = MappingProxyType(
    {
        ("collections", "OrderedDict"): Known("dict", _empty),
        ("torch", "Size"): Known("list", _sizes),
        ("torch.storage", "UntypedStorage"): _UNTYPED,
        ("torch._utils", "_rebuild_tensor_v2"): Known("tensor", _rebuilt_of_storage),
        ("torch._utils", "_rebuild_tensor_v3"): Known("tensor", _rebuilt_of_dtype),
    }
)


def members_of(value: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the members of the archive that `torch.load` reads: a map of plain values, tensors, and maps of them."""
    storages: list[bytes] = []
    content = b"\x80\x02" + _pickled(value, storages) + b"."
    return {
        PREFIX + _PICKLE: content,
        PREFIX + _ORDER: b"little",
        **{f"{PREFIX}{_STORAGES}{key}": data for key, data in enumerate(storages)},
        PREFIX + "version": b"3\n",
    }


def _pickled(value: object, storages: list[bytes]) -> bytes:
    if isinstance(value, Tensor):
        storages.append(value.data)
        return _pickled_tensor(str(len(storages) - 1), value)
    if isinstance(value, Mapping):
        items = b"".join(_plain(key) + _pickled(item, storages) for key, item in value.items())
        return b"}(" + items + b"u"
    return _plain(value)


def _plain(value: object) -> bytes:
    target = io.BytesIO()
    pickler = pickle.Pickler(target, protocol=2)
    # Without the memo a part of a pickle can be anywhere in another one.
    pickler.fast = True
    pickler.dump(value)
    return target.getvalue()[2:-1]


def _pickled_tensor(key: str, tensor: Tensor) -> bytes:
    untyped = tensor.dtype not in _STORAGE_NAMES
    storage = "torch.storage\nUntypedStorage" if untyped else f"torch\n{_STORAGE_NAMES[tensor.dtype]}"
    count = len(tensor.data) if untyped else prod(tensor.shape)
    strides = [prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape))]
    parts = [
        f"ctorch._utils\n_rebuild_tensor_v{3 if untyped else 2}\n((".encode(),
        _plain("storage"),
        f"c{storage}\n".encode(),
        *map(_plain, (key, "cpu", count)),
        b"tQ",
        _plain(0),
        *(b"(" + b"".join(map(_plain, sizes)) + b"t" for sizes in (tensor.shape, strides)),
        b"\x89ccollections\nOrderedDict\n)R",
        f"ctorch\n{tensor.dtype}\n".encode() if untyped else b"",
        b"tR",
    ]
    return b"".join(parts)
