"""How careless code distorts a value: a number that went through a double, a text cut at NUL, a full table.

A distortion is a pure function of the wire value at one leaf. A case notices it if the leaf's value changes.
"""

from __future__ import annotations

import base64
import math
import struct
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

import numpy as np

from conformance.codec.form import form_of
from conformance.codec.scalar import WIDE
from conformance.contract.types import FIXED_BYTES, INTEGER_RANGES, Enum, ListOf, MapOf, Scalar, Struct, Tensor, Type
from conformance.vectors.leaf import Optional
from conformance.vectors.place import empty_value

Change = Callable[[Any], Any]
TABLES: Final = (8, 16, 64, 255, 256, 65_535)  # items that a table has room for
BLOCKS: Final = (4096, 8192)  # bytes that are read at a time
_WIDTHS: Final = (7, 8, 15, 16, 31, 32, 53, 63)
_TEXT_CUTS: Final = (64, 255, 256, 65_535)  # bytes of UTF-8
_BYTE_CUTS: Final = (255, 4096, 65_535, 65_536)


def _of_marker(name: str, change: Change) -> Change:
    """A change of a text; for a text known by its digest only a cut is noticed."""
    most = int(name.removeprefix("cut-")) if name.startswith("cut-") else 0

    def apply(wire: Any) -> Any:
        if isinstance(wire, str):
            return change(wire)
        return {**wire, "letters": most} if most and wire.get("letters", 0) > 2 * most else wire

    return apply


@cache
def distortions(type_: Type | Optional) -> Mapping[str, Change]:
    """The distortions of a leaf of this type, by class; a change returns the value itself if it alters nothing."""
    match type_:
        case Optional(name, inner):
            return _presence(name, inner)
        case Scalar("bool") | Scalar("root") | Scalar("handle"):
            return {}
        case Scalar("string"):
            return {name: _of_marker(name, change) for name, change in _TEXTS.items()}
        case Scalar("key"):
            return {f"key-{name}": partial(_keys, change) for name, change in _TEXTS.items() if name != "cut-65535"}
        case Scalar("integer"):
            return _integers(-(2**64), 2**64 - 1, wide=True)
        case Scalar(name) if name in INTEGER_RANGES:
            return _integers(*INTEGER_RANGES[name], wide=name in WIDE)
        case Scalar(name) if name in FIXED_BYTES:
            return {"nul": _zeroed, "signed": _seven_bits, "halved": _halved}
        case Scalar("bytes"):
            return {name: _of_marker(name, change) for name, change in _BYTES.items()}
        case Scalar(name):
            return dict(_FLOATS[name])
        case ListOf() | MapOf():
            return {f"room-{most}": partial(_room, most) for most in TABLES}
        case Tensor(dtype):
            elements = _all_elements() if dtype is None else distortions(Scalar(dtype))
            rooms = {f"room-{most}": partial(_shortened, most) for most in (64, 255, 65_535)}
            return {**{name: partial(_elements, name) for name in elements}, **rooms}
    return {}


# Integers.


def _integers(low: int, high: int, *, wide: bool) -> Mapping[str, Change]:
    """Integers converted through binary64, cut to fewer bits (signed or unsigned), or clamped to a smaller type."""
    made: dict[str, Callable[[int], int]] = {}
    if high > 2**53:
        made["binary64"] = lambda v: min(max(int(float(v)), low), high)
    for bits in _WIDTHS:
        if 2**bits > high:
            continue
        made[f"low-{bits}"] = partial(_low, bits, low)
        made[f"most-{bits}"] = partial(_most, bits, low)
        if bits in (8, 16, 32) and 2**bits <= high:
            made[f"sign-{bits}"] = partial(_sign, bits, low, high)
    if low == 0 and high in (2**32 - 1, 2**64 - 1):
        made["signed"] = lambda v: min(v, high >> 1)
    return {name: partial(_number, change, wide) for name, change in made.items()}


def _number(change: Callable[[int], int], wide: bool, wire: Any) -> Any:
    changed = change(int(wire))
    return str(changed) if wide else changed


def _low(bits: int, low: int, value: int) -> int:
    kept = value & ((1 << bits) - 1)
    return kept - (1 << bits) if low < 0 and value < 0 and kept else kept


def _most(bits: int, low: int, value: int) -> int:
    most = (1 << bits) - 1
    return max(min(value, most), -most - 1 if low < 0 else 0)


def _sign(bits: int, low: int, high: int, value: int) -> int:
    if not 1 << (bits - 1) <= value < 1 << bits:
        return value
    signed = value - (1 << bits)
    return signed if low < 0 else signed % (high + 1)


# Texts, and the keys of a map.


def _cut_text(most: int, text: str) -> str:
    raw = text.encode()
    return text if len(raw) <= most else raw[:most].decode("utf-8", "ignore")


_TEXTS: Final[Mapping[str, Callable[[str], str]]] = {
    "nul": lambda text: text.split("\0", 1)[0],
    "trimmed": lambda text: text.strip(),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "composed": lambda text: unicodedata.normalize("NFC", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "ascii": lambda text: text.encode("ascii", "replace").decode(),
    "plane-0": lambda text: "".join(letter if ord(letter) < 0x10000 else "\ufffd\ufffd" for letter in text),
    "mark": lambda text: text.removeprefix("\ufeff"),
    **{f"cut-{most}": partial(_cut_text, most) for most in _TEXT_CUTS},
}


def _keys(change: Callable[[str], str], wire: Any) -> Any:
    """A map with changed keys, where the last of equal keys wins; for a self-describing map, its pairs."""
    if isinstance(wire, Mapping):
        return wire if wire.keys() == {"entries", "sha256", "first"} else {change(key): wire[key] for key in wire}
    pairs: dict[str, Any] = {}
    for key, item in wire if isinstance(wire, list) else ():
        text = key.get("text") if isinstance(key, Mapping) else None
        if not isinstance(text, str):
            return wire
        pairs[change(text)] = item
    return [[{"text": key}, item] for key, item in pairs.items()] if isinstance(wire, list) else wire


# Byte strings, as hex.


def _zeroed(wire: str) -> str:
    raw = bytes.fromhex(wire)
    return raw.split(b"\0", 1)[0].ljust(len(raw), b"\0").hex()


def _seven_bits(wire: str) -> str:
    return bytes(byte & 0x7F for byte in bytes.fromhex(wire)).hex()


def _halved(wire: str) -> str:
    return wire[: len(wire) // 2].ljust(len(wire), "0")


def _last_block(size: int, wire: str) -> str:
    """The value as read by a program that loses the last block if it is full."""
    return wire[: -2 * size] if wire and len(wire) % (2 * size) == 0 else wire


_BYTES: Final[Mapping[str, Change]] = {
    "nul": lambda wire: bytes.fromhex(wire).split(b"\0", 1)[0].hex(),
    "signed": _seven_bits,
    "lines": lambda wire: bytes.fromhex(wire).replace(b"\r\n", b"\n").hex(),
    "zeros": lambda wire: bytes.fromhex(wire).rstrip(b"\0").hex(),
    **{f"cut-{most}": partial(lambda most, wire: wire[: 2 * most], most) for most in _BYTE_CUTS},
    **{f"block-{size}": partial(_last_block, size) for size in BLOCKS},
}


# Lists and maps.


def _room(most: int, wire: Any) -> Any:
    if isinstance(wire, list):
        return wire[:most] if len(wire) > most else wire
    if wire.keys() == {"count", "sha256", "head", "tail"}:
        return wire if wire["count"] <= most else {**wire, "count": most}
    if wire.keys() == {"entries", "sha256", "first"}:
        return wire if wire["entries"] <= most else {**wire, "entries": most}
    return wire if len(wire) <= most else {key: wire[key] for key in sorted(wire)[:most]}


def _presence(name: str, inner: Type) -> Mapping[str, Change]:
    """Two distortions: an absent member is taken for an empty one, and an empty one for an absent one."""
    empty = empty_of(inner)

    def given(wire: Any) -> Any:
        return wire if name in wire or empty is None else {**wire, name: empty}

    def lost(wire: Any) -> Any:
        return {key: part for key, part in wire.items() if key != name}

    def left_out(wire: Any) -> Any:
        return lost(wire) if wire.get(name, ...) == empty else wire

    if empty is None:
        return {"lost": lost}
    return {"absent-as-empty": given, "empty-as-absent": left_out, "lost": lost}


def empty_of(type_: Type) -> Any:
    """The wire value that a careless backend takes for an absent one; None if the type has no such value."""
    match type_:
        case Enum() | Tensor() | Scalar("float16" | "float32" | "root" | "handle"):
            return None
        case Struct() if not all(member.optional for member in type_.fields):
            return None
    return form_of(type_).from_native(empty_value(type_))


# Floats, as bits, and tensors.

_BITS: Final = {"float16": (5, 10), "float32": (8, 23), "float64": (11, 52)}  # of the exponent and of the fraction


def _bits(name: str, change: Callable[[int, int, int], int]) -> Change:
    exponent, fraction = _BITS[name]

    def apply(wire: str) -> str:
        return f"{change(int(wire, 16), exponent, fraction):0{len(wire)}x}"

    return apply


def _one_nan(bits: int, exponent: int, fraction: int) -> int:
    ones = ((1 << exponent) - 1) << fraction
    return ones | 1 << (fraction - 1) if bits & ones == ones and bits & ((1 << fraction) - 1) else bits


def _one_zero(bits: int, exponent: int, fraction: int) -> int:
    return 0 if bits == 1 << (exponent + fraction) else bits


def _flushed(bits: int, exponent: int, fraction: int) -> int:
    ones = ((1 << exponent) - 1) << fraction
    return bits & 1 << (exponent + fraction) if not bits & ones else bits


def _single(wire: str) -> str:
    number = struct.unpack(">d", bytes.fromhex(wire))[0]
    if not math.isfinite(number):
        return wire
    with np.errstate(over="ignore"):
        return struct.pack(">d", float(np.float32(number))).hex()


_FLOATS: Final[Mapping[str, Mapping[str, Change]]] = {
    name: {
        "nan": _bits(name, _one_nan),
        "zero": _bits(name, _one_zero),
        "subnormal": _bits(name, _flushed),
        **({"binary32": _single} if name == "float64" else {}),
    }
    for name in _BITS
}


def _elements(name: str, wire: Any) -> Any:
    """A tensor with every element changed by one class of distortion of its dtype."""
    dtype = wire["dtype"]
    if "data" not in wire:
        return wire
    change = distortions(Scalar(dtype)).get(name)
    if change is None:
        return wire
    little = np.dtype(dtype).newbyteorder("<")
    array = np.frombuffer(base64.b64decode(wire["data"]), little)
    if little.kind == "f":
        raw = b"".join(bytes.fromhex(change(one.tobytes()[::-1].hex()))[::-1] for one in array)
    else:
        made = [int(change(str(v) if little.itemsize == 8 else v)) for v in array.tolist()]
        raw = np.array(made, dtype=little).tobytes() if made else b""
    return {**wire, "data": base64.b64encode(raw).decode()}


def _shortened(most: int, wire: Any) -> Any:
    """A tensor that keeps only its first `most` elements; the rest are 0."""
    if math.prod(wire["shape"]) <= most:
        return wire
    if "data" not in wire:
        return {**wire, "sha256": ""}
    raw = base64.b64decode(wire["data"])
    kept = most * np.dtype(wire["dtype"]).itemsize
    return {**wire, "data": base64.b64encode(raw[:kept].ljust(len(raw), b"\0")).decode()}


def _all_elements() -> tuple[str, ...]:
    return tuple(sorted({name for dtype in (*INTEGER_RANGES, *_BITS) for name in distortions(Scalar(dtype))}))
