"""The JSON form of scalars, values and tensors (design section 6)."""

from __future__ import annotations

import base64
import struct
from typing import Any

from impl.types import Binary, Integer, Tensor
from impl.wire.codec import Codec


class NativeForm:
    """Leave every leaf as it is; only structs change, between dict and dataclass."""

    plain = Codec()

    def integer(self, mark: Integer) -> Codec:
        """Return the codec of an integer."""
        return self.plain

    def integers(self, mark: Integer) -> Codec:
        """Return the codec of a list of integers, which may also be an array."""
        return self.plain

    def byte_string(self) -> Codec:
        """Return the codec of a byte string."""
        return self.plain

    def binary(self, mark: Binary) -> Codec:
        """Return the codec of an IEEE-754 number."""
        return self.plain

    def value(self) -> Codec:
        """Return the codec of the self-describing type."""
        return self.plain

    def tensor(self) -> Codec:
        """Return the codec of a tensor."""
        return self.plain


FLOAT_FORMATS = {16: ">e", 32: ">f", 64: ">d"}


class JsonForm:
    """Write 64-bit integers as decimal strings, bytes and floats as lowercase hex, tensors as base64."""

    plain = Codec()

    def integer(self, mark: Integer) -> Codec:
        """Return the codec of an integer: a string from 64 bits on, else a number."""
        return Codec(int, str) if mark.bits == 64 else self.plain

    def integers(self, mark: Integer) -> Codec:
        """Return the codec of a list of integers, which the backend may hand over as an array."""
        if mark.bits == 64:
            return Codec(lambda items: list(map(int, items)), lambda items: list(map(str, as_list(items))))
        return Codec(list, as_list)

    def byte_string(self) -> Codec:
        """Return the codec of a byte string."""
        return Codec(bytes.fromhex, bytes.hex)

    def binary(self, mark: Binary) -> Codec:
        """Return the codec of an IEEE-754 number: the hex digits of its big-endian bits."""
        packer = struct.Struct(FLOAT_FORMATS[mark.bits])
        return Codec(lambda text: packer.unpack(bytes.fromhex(text))[0], lambda number: packer.pack(number).hex())

    def value(self) -> Codec:
        """Return the codec of the self-describing type."""
        return Codec(read_value, write_value)

    def tensor(self) -> Codec:
        """Return the codec of a tensor."""
        return Codec(_read_tensor, _write_tensor)


def as_list(items: Any) -> list[Any]:
    """Return a list of Python ints from a list or from any array that has `tolist`."""
    if isinstance(items, list):
        return items
    return list(items.tolist()) if hasattr(items, "tolist") else list(items)


def map_from_pairs(pairs: list[tuple[Any, Any]]) -> object:
    """Return a dict where all keys are distinct texts, else the tuple of pairs."""
    if all(type(key) is str for key, _ in pairs) and len({key for key, _ in pairs}) == len(pairs):
        return dict(pairs)
    return tuple(pairs)


def read_value(item: Any) -> object:
    """Return the native value of a self-describing JSON item; ValueError for an unknown kind."""
    if item is None or item is True or item is False:
        return item
    ((kind, content),) = item.items()
    match kind:
        case "text":
            return content
        case "int":
            return int(content)
        case "float":
            return struct.unpack(">d", bytes.fromhex(content))[0]
        case "bytes":
            return bytes.fromhex(content)
        case "array":
            return [read_value(element) for element in content]
        case "map":
            return map_from_pairs([(read_value(key), read_value(element)) for key, element in content])
    raise ValueError(f"unknown kind of value {kind!r}")


def write_value(item: object) -> object:
    """Return the self-describing JSON item of a native value; TypeError for anything else."""
    match item:
        case None | bool():
            return item
        case str():
            return {"text": item}
        case int():
            return {"int": str(item)}
        case float():
            return {"float": struct.pack(">d", item).hex()}
        case bytes():
            return {"bytes": item.hex()}
        case list():
            return {"array": [write_value(element) for element in item]}
        case dict():
            return {"map": [[write_value(key), write_value(element)] for key, element in item.items()]}
        case tuple():
            return {"map": [[write_value(key), write_value(element)] for key, element in item]}
    raise TypeError(f"not a value: {type(item).__name__}")


def _read_tensor(item: Any) -> Tensor:
    return Tensor(item["dtype"], tuple(item["shape"]), base64.b64decode(item["data"], validate=True))


def _write_tensor(tensor: Tensor) -> dict[str, Any]:
    data = base64.b64encode(tensor.data).decode("ascii")
    return {"dtype": tensor.dtype, "shape": list(tensor.shape), "data": data}
