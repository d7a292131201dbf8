"""The CBOR form of scalars, values and tensors (design section 6)."""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Any

from impl.types import Binary, Integer, Tensor
from impl.wire.codec import Codec
from impl.wire.json_form import as_list, map_from_pairs

Part = bytes | bytearray | memoryview

INTEGER_ARRAYS = {64: "B", 69: "H", 70: "I", 71: "Q"}  # RFC 8746: unsigned, little-endian
MAX_DEPTH = 512  # a message holds values of up to 300 levels


class Encoded:
    """Hold the bytes of an item that is encoded already, in parts that are joined only once."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Part) -> None:
        self.parts = parts


class Incomplete(Exception):
    """The bytes end inside an item; `needed` bytes from the item's start are the least that can hold it."""

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


def head(major: int, argument: int) -> bytes:
    """Return the shortest head of a major type with its argument."""
    first = major << 5
    if argument < 24:
        return bytes((first | argument,))
    if argument < 1 << 8:
        return bytes((first | 24, argument))
    if argument < 1 << 16:
        return struct.pack(">BH", first | 25, argument)
    if argument < 1 << 32:
        return struct.pack(">BI", first | 26, argument)
    return struct.pack(">BQ", first | 27, argument)


def encode_item(item: object) -> bytes:
    """Return the bytes of one item; floats are binary64, maps keep their order; TypeError for anything else."""
    parts: list[Part] = []
    _append(item, parts)
    return b"".join(parts)


def _append(item: object, parts: list[Part]) -> None:
    match item:
        case str():
            text = item.encode("utf-8")
            parts += (head(3, len(text)), text)
        case bool():
            parts.append(b"\xf5" if item else b"\xf4")
        case int():
            parts.append(head(0, item) if item >= 0 else head(1, -1 - item))
        case bytes():
            parts += (head(2, len(item)), item)
        case Encoded():
            parts += item.parts
        case list():
            parts.append(head(4, len(item)))
            for element in item:
                _append(element, parts)
        case dict() | tuple():
            parts.append(head(5, len(item)))
            for key, element in item.items() if isinstance(item, dict) else item:
                _append(key, parts)
                _append(element, parts)
        case None:
            parts.append(b"\xf6")
        case float():
            parts.append(struct.pack(">Bd", 0xFB, item))
        case _:
            raise TypeError(f"no CBOR form for {type(item).__name__}")


def decode_item(data: bytes, start: int = 0) -> tuple[Any, int]:
    """Return the item at `start` and the position after it; Incomplete or ValueError."""
    return _Reader(data, start).read()


class _Reader:
    """Read one item, keeping the position."""

    __slots__ = ("data", "position", "start")

    def __init__(self, data: bytes, start: int) -> None:
        self.data = data
        self.start = start
        self.position = start

    def read(self) -> tuple[Any, int]:
        item = self._item(0)
        return item, self.position

    def _take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self.data):
            raise Incomplete(end - self.start)
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def _item(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError("CBOR nested too deeply")
        initial = self._take(1)[0]
        major, info = initial >> 5, initial & 31
        if major == 7:
            return self._simple(info)
        if info < 24:
            argument = info
        elif info < 28:
            argument = int.from_bytes(self._take(1 << (info - 24)), "big")
        else:
            raise ValueError("CBOR of indefinite length")
        return self._content(major, argument, depth)

    def _content(self, major: int, argument: int, depth: int) -> Any:
        match major:
            case 0:
                return argument
            case 1:
                return -1 - argument
            case 2:
                return self._take(argument)
            case 3:
                return self._take(argument).decode("utf-8")
            case 4:
                return [self._item(depth + 1) for _ in range(argument)]
            case 5:
                return map_from_pairs([(self._item(depth + 1), self._item(depth + 1)) for _ in range(argument)])
            case _:
                return self._typed_array(argument, depth)

    def _typed_array(self, tag: int, depth: int) -> list[int]:
        content = self._item(depth + 1)
        if tag not in INTEGER_ARRAYS or not isinstance(content, bytes):
            raise ValueError(f"CBOR tag {tag}")
        elements = array(INTEGER_ARRAYS[tag])
        elements.frombytes(content)
        if sys.byteorder == "big":
            elements.byteswap()
        return elements.tolist()

    def _simple(self, info: int) -> Any:
        match info:
            case 20:
                return False
            case 21:
                return True
            case 22:
                return None
            case 25:
                return struct.unpack(">e", self._take(2))[0]
            case 26:
                return struct.unpack(">f", self._take(4))[0]
            case 27:
                return struct.unpack(">d", self._take(8))[0]
        raise ValueError(f"CBOR simple value {info}")


TYPED_ARRAYS = {32: (70, "I"), 64: (71, "Q")}
INTEGER_FORMATS = ("I", "L", "Q", "i", "l", "q")
FLOAT_HEADS = {16: ">Be", 32: ">Bf"}
FLOAT_INITIAL = {16: 0xF9, 32: 0xFA}


class CborForm:
    """Write integers and byte strings as themselves, lists of uint32 and uint64 as typed arrays of RFC 8746."""

    plain = Codec()

    def integer(self, mark: Integer) -> Codec:
        """Return the codec of an integer."""
        return self.plain

    def integers(self, mark: Integer) -> Codec:
        """Return the codec of a list of integers, which the backend may hand over as an array."""
        if mark.signed or mark.bits not in TYPED_ARRAYS:
            return Codec(None, as_list)
        tag, typecode = TYPED_ARRAYS[mark.bits]
        return Codec(None, lambda items: _typed_array(items, tag, typecode))

    def byte_string(self) -> Codec:
        """Return the codec of a byte string."""
        return self.plain

    def binary(self, mark: Binary) -> Codec:
        """Return the codec of an IEEE-754 number; each width has its own head."""
        if mark.bits == 64:
            return self.plain
        layout, initial = FLOAT_HEADS[mark.bits], FLOAT_INITIAL[mark.bits]
        return Codec(None, lambda number: Encoded(struct.pack(layout, initial, number)))

    def value(self) -> Codec:
        """Return the codec of the self-describing type, which is the CBOR item itself."""
        return self.plain

    def tensor(self) -> Codec:
        """Return the codec of a tensor."""
        return Codec(_read_tensor, _write_tensor)


def _typed_array(items: Any, tag: int, typecode: str) -> Encoded:
    data = _little_endian(items, typecode)
    return Encoded(head(6, tag) + head(2, len(data)), data)


def _little_endian(items: Any, typecode: str) -> Part:
    elements = array(typecode)
    if sys.byteorder == "little" and not isinstance(items, list):
        view = memoryview(items)
        if view.format in INTEGER_FORMATS and view.itemsize == elements.itemsize and view.c_contiguous:
            return view.cast("B") if view.nbytes else b""
    elements.extend(as_list(items))
    if sys.byteorder == "big":
        elements.byteswap()
    return elements.tobytes()


def _read_tensor(item: Any) -> Tensor:
    return Tensor(item["dtype"], tuple(item["shape"]), item["data"])


def _write_tensor(tensor: Tensor) -> dict[str, Any]:
    return {"dtype": tensor.dtype, "shape": list(tensor.shape), "data": tensor.data}
