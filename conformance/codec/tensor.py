"""The form of tensors: {dtype, shape, data}, data little-endian in C order."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any, Final

import numpy as np

from conformance.codec.illtyped import IllTyped
from conformance.codec.scalar import Form
from conformance.contract.types import TENSOR_DTYPES

MAX_DIMENSIONS: Final = 32  # NumPy before 2.0 knows no more
_MAX_BYTES: Final = 1 << 62  # what a shape may ask for, its empty sides taken as one; beyond it NumPy has no array


def tensor_form(dtype: str | None) -> Form:
    """The form of a tensor; a `dtype` of None leaves it to the value."""

    def size_of(value: Any) -> int:
        if type(value) is not dict or value.keys() != {"dtype", "shape", "data"}:
            raise IllTyped("a tensor {dtype, shape, data}", value)
        name, shape = value["dtype"], value["shape"]
        if type(name) is not str or name not in TENSOR_DTYPES or dtype not in (None, name):
            raise IllTyped(dtype or "a tensor dtype", name, ("dtype",))
        if type(shape) is not list or len(shape) > MAX_DIMENSIONS:
            raise IllTyped(f"a list of at most {MAX_DIMENSIONS} sizes", shape, ("shape",))
        if any(type(side) is not int or side < 0 for side in shape):
            raise IllTyped("a list of sizes", shape, ("shape",))
        itemsize = np.dtype(name).itemsize
        if math.prod(side or 1 for side in shape) * itemsize > _MAX_BYTES:
            raise IllTyped("a shape that an array can have", shape, ("shape",))
        return math.prod(shape) * itemsize

    def raw_of(wire: Any) -> bytes:
        try:
            raw = base64.b64decode(wire["data"], validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise IllTyped("standard base64 with padding", wire["data"], ("data",)) from None
        if base64.b64encode(raw).decode() != wire["data"]:
            raise IllTyped("canonical base64", wire["data"], ("data",))
        return raw

    def fitting(value: Any, raw: Any) -> bytes:
        size = size_of(value)
        if type(raw) is not bytes or len(raw) != size:
            raise IllTyped(f"{size} bytes of data", raw, ("data",))
        if value["dtype"] == "bool" and raw.strip(b"\0\1"):
            raise IllTyped("bools of one byte, 0 or 1", "another byte", ("data",))
        return raw

    def check(wire: Any) -> Any:
        size_of(wire)
        fitting(wire, raw_of(wire))
        return wire

    def to_native(wire: Any) -> Any:
        return array_of(wire["dtype"], wire["shape"], raw_of(wire))

    def from_native(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype.name not in TENSOR_DTYPES:
            raise IllTyped("a numpy array", value)
        return check({**parts_of(value), "data": base64.b64encode(raw_bytes(value)).decode()})

    def from_cbor(item: Any) -> Any:
        size_of(item)
        raw = fitting(item, item["data"])
        return {**item, "data": base64.b64encode(raw).decode()}

    return Form(check, to_native, from_native, lambda wire: {**wire, "data": raw_of(wire)}, from_cbor)


def array_of(dtype: str, shape: list[int], raw: bytes) -> np.ndarray[Any, Any]:
    """The array of a tensor's parts, in the machine's own byte order and writable."""
    return np.frombuffer(raw, np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(shape)


def parts_of(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """A tensor's dtype and shape."""
    return {"dtype": array.dtype.name, "shape": list(array.shape)}


def raw_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """A tensor's data: little-endian, C order."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(order="C")
