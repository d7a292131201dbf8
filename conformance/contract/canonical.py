"""CBOR items: heads, the encoder, the canonical profile, and the parts of self-describing items."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import cbor2

# The one NaN of the profile: quiet, positive, without a payload (ruling CA09).
CANONICAL_NAN: Final = bytes.fromhex("7ff8000000000000")

HEAD_SIZES: Final = (*[1] * 24, 2, 3, 5, 9, 0, 0, 0, 0)  # bytes, by the low five bits; 0: reserved or indefinite


_ONE_BYTE: Final = tuple(bytes([first]) for first in range(256))


def head(major: int, argument: int) -> bytes:
    """The shortest CBOR head of a major type (RFC 8949 §3)."""
    if argument < 24:
        return _ONE_BYTE[major << 5 | argument]
    for info in (24, 25, 26, 27):
        if argument < 1 << (8 * (HEAD_SIZES[info] - 1)):
            return long_head(major, argument, info)
    raise OverflowError(f"{argument} does not fit a CBOR head")


def long_head(major: int, argument: int, info: int) -> bytes:
    """The CBOR head whose low five bits are `info`, from 24 to 27: its argument takes 1, 2, 4 or 8 bytes."""
    return bytes([major << 5 | info]) + argument.to_bytes(HEAD_SIZES[info] - 1, "big")


def argument_at(data: bytes | bytearray, at: int) -> int:
    """The argument of the head at an offset; the data must have the whole head."""
    info = data[at] & 31
    return info if info < 24 else int.from_bytes(data[at + 1 : at + HEAD_SIZES[info]], "big")


def encode_item(value: Any) -> bytes:
    """The CBOR bytes of a native value: shortest heads, definite lengths, binary64 floats, map order as given."""
    encode = _ENCODERS.get(type(value))
    return _encode_other(value) if encode is None else encode(value)


def _encode_integer(value: int) -> bytes:
    return head(0, value) if value >= 0 else head(1, -1 - value)


def _encode_text(value: str) -> bytes:
    text = value.encode()
    return head(3, len(text)) + text


def _encode_map(value: dict[Any, Any]) -> bytes:
    return head(5, len(value)) + b"".join(map(encode_item, chain.from_iterable(value.items())))


# By exact type: this runs for every item of every guard, and a look-up takes a tenth of the time of comparisons.
_ENCODERS: Final[dict[type, Callable[[Any], bytes]]] = {
    type(None): lambda _: b"\xf6",
    bool: lambda value: b"\xf5" if value else b"\xf4",
    int: _encode_integer,
    float: lambda value: b"\xfb" + struct.pack(">d", value),
    str: _encode_text,
    bytes: lambda value: head(2, len(value)) + value,
    bytearray: lambda value: head(2, len(value)) + value,
    list: lambda value: head(4, len(value)) + b"".join(map(encode_item, value)),
    dict: _encode_map,
    tuple: lambda value: head(5, len(value)) + b"".join(map(encode_item, chain.from_iterable(value))),  # pairs of a map
}


def _encode_other(value: Any) -> bytes:
    """The bytes of a value of a subclass."""
    for kind, encode in _ENCODERS.items():
        if isinstance(value, kind):
            return encode(value)
    raise TypeError(f"{type(value).__name__} is no CBOR item")


_MAX_UINT64: Final = 2**64 - 1


def array(items: Sequence[bytes]) -> bytes:
    """The array of items that are encoded already."""
    return head(4, len(items)) + b"".join(items)


def text_map(items: Mapping[str, bytes]) -> bytes:
    """The map from text to items that are encoded already."""
    entries = sorted([(encode_item(key), item) for key, item in items.items()])
    return head(5, len(entries)) + b"".join(chain.from_iterable(entries))


class _Decoder:
    """Decodes items and keeps the last few, because the guards of one call read the same items again and again.

    It finds an item by comparing bytes; `lru_cache` would hash 64 KB each time, which costs ten times as much.
    """

    def __init__(self) -> None:
        self.recent: list[tuple[bytes, Any]] = []

    def __call__(self, data: bytes | bytearray) -> Any:
        """The first item in the data; callers must not change the item. Raises if there is none."""
        if len(data) < 64:  # as fast to decode as to find
            return cbor2.loads(data)
        for known, item in self.recent:
            if known == data:
                return item
        item = cbor2.loads(data)
        self.recent = [(bytes(data), item), *self.recent[:7]]
        return item


_decoded: Final = _Decoder()


def canonical(data: bytes) -> bytes:
    """The canonical bytes of the first item in `data`; raises for a tag, another NaN or a key that is not text."""
    return _canonical_item(_decoded(data))


def _canonical_item(value: Any) -> bytes:
    kind = type(value)
    if kind is list:
        return array([_canonical_item(item) for item in value])
    if kind is dict:
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a key is not text")
        return text_map({key: _canonical_item(item) for key, item in value.items()})
    if kind is float and math.isnan(value) and struct.pack(">d", value) != CANONICAL_NAN:
        raise ValueError("a NaN has other bits than the one of the profile")
    if kind not in _ENCODERS:
        raise TypeError(f"{kind.__name__} is outside the profile")
    return encode_item(value)


def rows(names: Sequence[str], columns: Sequence[Mapping[str, int]]) -> bytes:
    """A map from a row's key to the map of its named columns, all unsigned; every column has the same keys."""
    keys = columns[0].keys()
    if any(column.keys() != keys for column in columns):
        raise KeyError("the columns differ in their keys")
    return text_map(
        {
            key: text_map({name: encode_item(column[key]) for name, column in zip(names, columns, strict=True)})
            for key in keys
        }
    )


def is_rows(data: bytes, names: Sequence[str]) -> bool:
    """Whether `data` is a map from text to maps of exactly these names to numbers of 64 bits, in any encoding."""
    table = _decoded(data)
    return isinstance(table, dict) and all(
        isinstance(key, str)
        and isinstance(row, dict)
        and row.keys() == set(names)
        and all(type(cell) is int and 0 <= cell <= _MAX_UINT64 for cell in row.values())
        for key, row in table.items()
    )


def kind(data: bytes) -> str:
    """null, bool, uint64, integer (any other), float, text, bytes, array or map."""
    match _decoded(data):
        case None:
            return "null"
        case bool():
            return "bool"
        case int(number):
            return "uint64" if 0 <= number <= _MAX_UINT64 else "integer"
        case float():
            return "float"
        case str():
            return "text"
        case bytes():
            return "bytes"
        case list():
            return "array"
        case dict():
            return "map"
        case other:
            raise TypeError(f"{type(other).__name__} is outside the profile")


def member_names(data: bytes) -> list[str]:
    """The keys of a map from text, in the given order; raises for anything else."""
    names = list(_map(data))
    if not all(isinstance(name, str) for name in names):
        raise TypeError("a key is not text")
    return names


def has_member(data: bytes, name: str) -> bool:
    """Whether the item is a map with this text as a key."""
    item = _decoded(data)
    return isinstance(item, dict) and name in item


def member(data: bytes, name: str) -> bytes:
    """The bytes of the item under a text key of a map; raises if there is none."""
    return encode_item(_map(data)[name])


def with_member(data: bytes, name: str, content: bytes) -> bytes:
    """The canonical bytes of a map from text with another item under one name; raises for anything else."""
    items = {key: encode_item(item) for key, item in _map(data).items()}
    return canonical(text_map({**items, name: content}))


def text(data: bytes) -> str:
    """The text of a text item; raises for any other item."""
    item = _decoded(data)
    if not isinstance(item, str) or "\0" in item:
        raise TypeError("not a text that expressions can hold")
    return item


def element(data: bytes, index: int) -> bytes:
    """The bytes of one element of an array; raises if there is none."""
    return encode_item(_array(data)[index])


def _array(data: bytes) -> list[Any]:
    item = _decoded(data)
    if not isinstance(item, list):
        raise TypeError("not an array")
    return item


def _map(data: bytes) -> dict[Any, Any]:
    item = _decoded(data)
    if not isinstance(item, dict):
        raise TypeError("not a map")
    return item


MAX_DEPTH: Final = 256


def is_canonical(data: bytes) -> bool:
    """Whether the bytes are the canonical form of one item, and nothing follows it."""
    return _is_encoded(data)


def has_canonical(data: bytes) -> bool:
    """Whether an item has a canonical form: like `is_canonical`, but the keys may be in any order."""
    return _is_encoded(data, encode_item)


def _is_encoded(data: bytes, encode: Callable[[Any], bytes] | None = None) -> bool:
    """Whether an item is in the profile and encodes to the same bytes; decoding drops repeated keys, so they fail."""
    try:
        item = _decoded(data)
        inside = _canonical_item(item)  # raises for an item outside the profile
        return _depth(item) <= MAX_DEPTH and (inside if encode is None else encode(item)) == data
    except Exception:  # the library raises errors of many kinds
        return False


def _depth(item: Any) -> int:
    """The number of arrays and maps around the innermost item."""
    if type(item) not in (dict, list) or not item:
        return 0
    parts = item.values() if type(item) is dict else item
    return 1 + max([_depth(part) if type(part) in (dict, list) else 0 for part in parts])


# -- the notation of a `value`, the self-describing type, in contracts


def wire_value(value: Any, other: Callable[[Any], Any] = lambda value: value, *, canonical: bool = False) -> Any:
    """The JSON wire form of a `value` as people write it in YAML.

    Null is the word null (this YAML has no null), numbers are YAML numbers, and a map from text may be written as
    `fields`, which `canonical` puts in canonical order. `other` converts anything else.
    """

    def read(value: Any) -> Any:
        match value:
            case "null":
                return None
            case {"int": int(number)} if type(number) is int:
                return {"int": str(number)}
            case {"float": int(number) | float(number)} if type(number) is not bool:
                return {"float": struct.pack(">d", number).hex()}
            case {"array": list(items)}:
                return {"array": [read(item) for item in items]}
            case {"fields": dict(fields), **rest} if not rest:
                keys = sorted(fields, key=encode_item) if canonical else fields
                return {"map": [[{"text": key}, read(fields[key])] for key in keys]}
            case {"map": list(pairs)} if all(type(pair) is list for pair in pairs):
                return {"map": [[read(item) for item in pair] for pair in pairs]}
        return other(value)

    return read(value)


def value_item(wire: Any) -> bytes:
    """The CBOR item of a `value` in wire form, its maps in the order as given; raises ValueError."""
    match wire:
        case None | bool():
            return encode_item(wire)
        case {"text": str(text), **rest} if not rest:
            return encode_item(text)
        case {"bytes": str(digits), **rest} if not rest and bytes.fromhex(digits).hex() == digits:
            return encode_item(bytes.fromhex(digits))
        case {"int": str(digits), **rest} if not rest and str(int(digits)) == digits:
            return encode_item(int(digits))
        case {"float": str(digits), **rest} if not rest and len(digits) == 16:
            return encode_item(struct.unpack(">d", bytes.fromhex(digits))[0])
        case {"array": list(items), **rest} if not rest:
            return array([value_item(item) for item in items])
        case {"map": list(pairs), **rest} if not rest and all(type(p) is list and len(p) == 2 for p in pairs):
            return head(5, len(pairs)) + b"".join(value_item(part) for pair in pairs for part in pair)
    raise ValueError(f"expected a value such as {{text: a}}, found {wire!r:.40}")
