"""Canonical CBOR, written by hand: one value, one byte string.

Integers and lengths take the shortest head, lengths are definite, floats are always binary64, map keys are texts that
are in the bytewise order of their encodings and never twice; there are no tags, both infinities and one NaN, and at
most MAX_DEPTH levels of nesting (seed 000 §0.B; seed 002 §II.F; requirements N10, N27, C06; rulings CA07, CA09).
"""

import math
import struct
from itertools import chain, pairwise

UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE = range(8)
FALSE, TRUE, NULL, BINARY64 = 20, 21, 22, 27
MAX_DEPTH = 256

# The one NaN: quiet, positive, without a payload (ruling CA09).
NAN = bytes.fromhex("7ff8000000000000")


class NotCanonical(ValueError):
    """The value has no canonical encoding, or the bytes are not the canonical encoding of any value."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.reason = reason
        self.offset = offset


def encode_canonical(value: object) -> bytes:
    """Return the canonical bytes of a value; NotCanonical for a value outside the profile.

    Keys of other types are written in their order too; `encode_strictly` refuses them.
    """
    return _encode(value, 0)


def encode_strictly(value: object) -> bytes:
    """Return the canonical bytes of a value that the decoder gives back; NotCanonical for any other."""
    encoded = encode_canonical(value)
    decode_canonical(encoded)
    return encoded


def _encode(value: object, depth: int) -> bytes:
    if depth > MAX_DEPTH:
        raise NotCanonical("nested too deeply")
    match value:
        case str():
            return _encode_text(value)
        case bool():
            return _head(SIMPLE, TRUE if value else FALSE)
        case int():
            return _encode_integer(value)
        case bytes():
            return _head(BYTES, len(value)) + value
        case list():
            return _encode_array(value, depth)
        case dict():
            return _encode_map(list(value.items()), depth)
        case tuple():
            return _encode_map(list(value), depth)
        case float():
            return _encode_float(value)
        case None:
            return _head(SIMPLE, NULL)
    raise NotCanonical(f"{type(value).__name__} is not a value")


def _head(major: int, argument: int) -> bytes:
    if argument < 24:
        return (major << 5 | argument).to_bytes()
    if argument < 2**8:
        return struct.pack(">BB", major << 5 | 24, argument)
    if argument < 2**16:
        return struct.pack(">BH", major << 5 | 25, argument)
    if argument < 2**32:
        return struct.pack(">BI", major << 5 | 26, argument)
    return struct.pack(">BQ", major << 5 | 27, argument)


def _encode_integer(number: int) -> bytes:
    if not -(2**64) <= number < 2**64:
        raise NotCanonical("integer outside 64 bits")
    if number >= 0:
        return _head(UNSIGNED, number)
    return _head(NEGATIVE, -1 - number)


def _encode_float(number: float) -> bytes:
    bits = struct.pack(">d", number)
    if math.isnan(number) and bits != NAN:
        raise NotCanonical("another NaN")
    return bytes([SIMPLE << 5 | BINARY64]) + bits


def _encode_text(text: str) -> bytes:
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise NotCanonical("text not Unicode") from None
    return _head(TEXT, len(encoded)) + encoded


def _encode_array(items: list[object], depth: int) -> bytes:
    parts = [_head(ARRAY, len(items))]
    # Loops, because a comprehension would take a frame of its own on every level.
    for item in items:
        parts.append(_encode(item, depth + 1))
    return b"".join(parts)


def _encode_map(pairs: list[tuple[object, object]], depth: int) -> bytes:
    entries: list[tuple[bytes, bytes]] = []
    for key, item in pairs:
        entries.append((_encode(key, depth + 1), _encode(item, depth + 1)))
    entries.sort(key=lambda entry: entry[0])
    for earlier, later in pairwise(entries):
        if earlier[0] == later[0]:
            raise NotCanonical("map key twice")
    return _head(MAP, len(entries)) + b"".join(chain.from_iterable(entries))


def decode_canonical(data: bytes) -> object:
    """Return the value of canonical bytes; NotCanonical, with the offset of the first violation, for all others.

    A map comes back as a dict, because its keys are distinct texts.
    """
    value, end = _decode(data, 0, 0)
    if end != len(data):
        raise NotCanonical("trailing bytes", end)
    return value


def _decode(data: bytes, start: int, depth: int, is_key: bool = False) -> tuple[object, int]:
    if start >= len(data):
        raise NotCanonical("truncated", start)
    major, info = data[start] >> 5, data[start] & 31
    if (violation := _head_violation(major, info, is_key)) is not None:
        raise NotCanonical(violation, start)
    if depth > MAX_DEPTH:
        raise NotCanonical("nested too deeply", start)
    if major == SIMPLE:
        return _decode_simple(data, start, info)
    argument, end = _decode_argument(data, start, info)
    match major:
        case 0:
            return argument, end
        case 1:
            return -1 - argument, end
        case 2:
            return _take(data, start, end, argument), end + argument
        case 3:
            return _decode_text(_take(data, start, end, argument), start), end + argument
        case 4:
            return _decode_array(data, end, argument, depth)
    return _decode_map(data, end, argument, depth)


def _head_violation(major: int, info: int, is_key: bool) -> str | None:
    """Return what the first byte of an item alone gives away."""
    if is_key and major != TEXT:
        return "map key not text"
    if major == TAG:
        return "tag"
    if major == SIMPLE:
        return _simple_violation(info)
    if info == 31 and major >= BYTES:
        return "indefinite length"
    return "reserved length" if info > 27 else None


def _simple_violation(info: int) -> str | None:
    if info in (25, 26):
        return "float not binary64"
    return None if info in (FALSE, TRUE, NULL, BINARY64) else "simple value"


def _decode_argument(data: bytes, start: int, info: int) -> tuple[int, int]:
    if info < 24:
        return info, start + 1
    width = 2 ** (info - 24)
    argument = int.from_bytes(_take(data, start, start + 1, width), "big")
    least = 24 if width == 1 else 2 ** (4 * width)
    if argument < least:
        raise NotCanonical("longer than the shortest form", start)
    return argument, start + 1 + width


def _take(data: bytes, item: int, start: int, count: int) -> bytes:
    """Return bytes of the item that starts at `item`."""
    if start + count > len(data):
        raise NotCanonical("truncated", item)
    return data[start : start + count]


def _decode_text(encoded: bytes, start: int) -> str:
    try:
        return encoded.decode("utf-8")
    except UnicodeDecodeError:
        raise NotCanonical("text not UTF-8", start) from None


def _decode_array(data: bytes, start: int, count: int, depth: int) -> tuple[object, int]:
    items: list[object] = []
    for _ in range(count):
        item, start = _decode(data, start, depth + 1)
        items.append(item)
    return items, start


def _decode_map(data: bytes, start: int, count: int, depth: int) -> tuple[object, int]:
    entries: dict[str, object] = {}
    previous = b""
    for _ in range(count):
        key, middle = _decode(data, start, depth + 1, is_key=True)
        assert isinstance(key, str)
        encoded_key = data[start:middle]
        if encoded_key == previous:
            raise NotCanonical("map key twice", start)
        if encoded_key < previous:
            raise NotCanonical("map keys out of order", start)
        previous = encoded_key
        entries[key], start = _decode(data, middle, depth + 1)
    return entries, start


def _decode_simple(data: bytes, start: int, info: int) -> tuple[object, int]:
    match info:
        case 20:
            return False, start + 1
        case 21:
            return True, start + 1
        case 22:
            return None, start + 1
    bits = _take(data, start, start + 1, 8)
    (number,) = struct.unpack(">d", bits)
    if math.isnan(number) and bits != NAN:
        raise NotCanonical("another NaN", start)
    return number, start + 9
