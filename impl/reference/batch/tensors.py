"""Tensors as lists of Python numbers, and back."""

import struct
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

from impl.types import Tensor

LAYOUTS: Final[Mapping[str, str]] = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}


def elements(tensor: Tensor) -> list[Any]:
    """Return the elements of a tensor in C order."""
    count = prod(tensor.shape)
    return list(struct.unpack(f"<{count}{LAYOUTS[tensor.dtype]}", tensor.data))


def tensor_of(dtype: str, shape: tuple[int, ...], items: Sequence[Any]) -> Tensor:
    """Return a tensor of these elements, given in C order."""
    return Tensor(dtype, shape, struct.pack(f"<{len(items)}{LAYOUTS[dtype]}", *items))


def rows_of(tensor: Tensor) -> list[list[Any]]:
    """Return a tensor of two dimensions as a list of rows."""
    height, width = tensor.shape
    flat = elements(tensor)
    return [flat[row * width : (row + 1) * width] for row in range(height)]


def matrices_of(tensor: Tensor) -> list[list[list[Any]]]:
    """Return a tensor of three dimensions as a list of matrices."""
    count, height, width = tensor.shape
    flat = rows_of(Tensor(tensor.dtype, (count * height, width), tensor.data))
    return [flat[matrix * height : (matrix + 1) * height] for matrix in range(count)]
