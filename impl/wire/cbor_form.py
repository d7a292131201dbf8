"""The CBOR form of scalars, values and tensors (design section 6)."""

import struct
import sys
from array import array
from typing import Any

from impl.types import Binary, Integer, Tensor
from impl.wire.cbor_items import Encoded, Part, head
from impl.wire.codec import Codec
from impl.wire.json_form import as_list

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
