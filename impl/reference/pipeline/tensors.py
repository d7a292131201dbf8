"""Tensors as rows: how wide a row is, what is cut out, repeated and joined."""

import struct
import sys
from collections.abc import Sequence
from math import prod
from types import MappingProxyType
from typing import Any, Final

from impl.types import Tensor

# Bytes of one element, by dtype name.
WIDTHS: Final = MappingProxyType(
    {
        "bool": 1,
        "uint8": 1,
        "uint16": 2,
        "uint32": 4,
        "uint64": 8,
        "int8": 1,
        "int16": 2,
        "int32": 4,
        "int64": 8,
        "float16": 2,
        "float32": 4,
        "float64": 8,
    }
)
# The letters of `struct`, by dtype name.
_CODES: Final = MappingProxyType(dict(zip(WIDTHS, "?BHIQbhiqefd", strict=True)))
_KINDS: Final = {"?": "bool", "e": "float", "f": "float", "d": "float"}


class NotATensor(Exception):
    """An object has no elements of a known dtype; says why."""


def packed(dtype: str, shape: Sequence[int], elements: Sequence[float]) -> Tensor:
    """Make a tensor of numbers in C order."""
    data = struct.pack(f"<{prod(shape)}{_CODES[dtype]}", *elements)
    return Tensor(dtype, tuple(shape), data)


def row_bytes(dtype: str, shape: Sequence[int]) -> int:
    """Return the size in bytes of one row of this sample shape."""
    return WIDTHS[dtype] * prod(shape)


def is_whole(tensor: Tensor) -> bool:
    """Tell whether a tensor has a batch axis, a known dtype and exactly the bytes of its shape, 0 or 1 for a bool."""
    if tensor.dtype not in WIDTHS or not tensor.shape:
        return False
    if tensor.dtype == "bool" and tensor.data.strip(b"\0\1"):
        return False
    return row_bytes(tensor.dtype, tensor.shape) == len(tensor.data)


def cut_rows(data: memoryview, width: int, start: int, stop: int, count: int) -> memoryview:
    """Return rows start..stop, repeated cyclically to `count` rows (ruling QA07)."""
    rows = data[start * width : stop * width]
    missing = count - (stop - start)
    if missing <= 0:
        return rows
    times, rest = divmod(count, stop - start)
    return memoryview(bytes(rows) * times + bytes(rows[: rest * width]))


def concatenate(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors of one dtype and sample shape along the batch axis, in their order."""
    rows = sum(tensor.shape[0] for tensor in tensors)
    first = tensors[0]
    return Tensor(first.dtype, (rows, *first.shape[1:]), b"".join(tensor.data for tensor in tensors))


def tensor_of(array: Any) -> Tensor:
    """Copy a Tensor, a NumPy array, a torch tensor or any other typed buffer into a Tensor; NotATensor."""
    if isinstance(array, Tensor):
        return array
    if hasattr(array, "detach"):
        array = array.detach().cpu().numpy()
    try:
        view = memoryview(array)
    except (TypeError, ValueError) as error:
        raise NotATensor(f"a {type(array).__name__} has no elements: {error}") from None
    dtype = _dtype_of(view)
    if sys.byteorder == "big":
        raise NotATensor("big-endian elements")
    return Tensor(dtype, tuple(view.shape or ()), view.tobytes())


def _dtype_of(view: memoryview) -> str:
    code = view.format.lstrip("@=<")
    kind = _KINDS.get(code) or ("int" if code in "bhilqn" else "uint" if code in "BHILQN" else "")
    dtype = kind if kind in ("bool", "") else f"{kind}{8 * view.itemsize}"
    if dtype not in WIDTHS:
        raise NotATensor(f"elements of the format {view.format!r}")
    return dtype
