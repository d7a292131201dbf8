"""Tensors as lists of Python numbers, and back."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import isfinite, prod
from typing import Any, Final

from impl.types import Tensor


def to_float32(number: float) -> float:
    """Return the nearest binary32 number, ties to even; infinite where it is out of range."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def z_score(value: float, mean: float, deviation: float) -> float:
    """Return f32((f64(value) - mean) / deviation), 0 where the deviation is 0.

    Each operation is one of IEEE binary64 and only the last result is rounded to binary32 (seed 004 §2; completion of
    requirement B16).
    """
    if deviation == 0:
        return 0.0
    return to_float32((float(value) - mean) / deviation)


def is_finite_score(value: float, mean: float, deviation: float) -> bool:
    """Return whether a value has a finite z-score."""
    return isfinite(z_score(value, mean, deviation))


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
