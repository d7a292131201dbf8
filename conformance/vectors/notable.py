"""Values for a leaf, by axis, in wire form, that a careless carrier or program changes.

The axes are `representation`, `size`, `near` (the neighbours of the leaf's own value) and `ends`: the leaf's own
value with one addition that careless programs remove: a line end, a blank of any kind, a NUL, a mark that begins or
ends a text for some programs, quotes on both sides, a byte that UTF-8 never has.
"""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeGuard

from conformance.codec.scalar import WIDE
from conformance.contract.lazy import np
from conformance.contract.types import (
    FIXED_BYTES,
    INTEGER_RANGES,
    PLACES,
    ListOf,
    MapOf,
    Scalar,
    Tensor,
    Type,
    Value,
    in_range,
    walk,
)
from conformance.vectors.compact import recipe
from conformance.vectors.distortion import empty_of
from conformance.vectors.leaf import INTEGER, LeafOccurrence, Optional
from conformance.vectors.place import OTHER_DIGITS

REPRESENTATION: Final = "representation"
SIZE: Final = "size"
NEAR: Final = "near"
ENDS: Final = "ends"
AXES: Final = (REPRESENTATION, SIZE)  # every operator with such leaves is tested along these
Named = tuple[str, Any]

_CUTS: Final = (8, 16, 31, 32, 53, 63)  # bits at which a number is narrowed
_LONGEST: Final = 300  # letters or items; a longer value represents its size and has no neighbours


def _neighbours(spot: LeafOccurrence) -> Iterator[Named]:
    """The neighbours of the value of a leaf, each with a short name."""
    match spot.type:
        case Scalar("string") if isinstance(spot.value, str) and len(spot.value) <= _LONGEST:
            yield from _texts(spot.value)
        case Scalar("integer"):
            yield from ((name, str(number)) for name, number in _integers(int(spot.value), -(2**63), 2**64 - 1))
        case Scalar(name) if name in INTEGER_RANGES:
            near_by = _integers(int(spot.value), *INTEGER_RANGES[name])
            yield from ((slug, _wire(name, number)) for slug, number in near_by)
        case Scalar(name) if name == "bytes" or name in FIXED_BYTES:
            yield from _bytes(spot.value, name != "bytes")
        case Optional():
            yield from _presence(spot.type, spot.value)
        case ListOf() if isinstance(spot.value, list) and len(spot.value) <= _LONGEST:
            yield from _lists(spot.value)


def _presence(member: Optional, wire: Mapping[str, Any]) -> Iterator[Named]:
    if member.name in wire:
        yield "absent", {key: part for key, part in wire.items() if key != member.name}
    if (empty := empty_of(member.type)) is not None:
        yield "empty", {**wire, member.name: empty}


def _texts(value: str) -> Iterator[Named]:
    yield from (("empty", ""), ("blank-behind", f"{value} "), ("blank-before", f" {value}"))
    yield "line-behind", f"{value}\n"
    yield from (("nul-behind", f"{value}\0"), ("nul-and-more", f"{value}\0x"), ("marked", f"\ufeff{value}"))
    yield from (("other-case", value.swapcase()), ("other-digits", value.translate(OTHER_DIGITS)))
    yield from (("zero-before", f"0{value}"), ("shorter", value[:-1]), ("longer", f"{value}{value[-1:]}"))
    yield from (("accent", f"{value}\u0301"), ("decomposed", unicodedata.normalize("NFD", value)))
    yield "wide", "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)


def _integers(value: int, low: int, high: int) -> Iterator[Named]:
    named = {"one-more": value + 1, "one-less": value - 1, "negative": -value, "complement": ~value}
    named |= {f"plus-2p{bits}": value + 2**bits for bits in _CUTS}
    yield from ((name, number) for name, number in named.items() if low <= number <= high)


def _bytes(value: str, fixed: bool) -> Iterator[Named]:
    if value:
        half = len(value) // 4 * 2
        yield "other-last", value[:-2] + f"{int(value[-2:], 16) ^ 1:02x}"
        yield "other-first", f"{int(value[:2], 16) ^ 128:02x}" + value[2:]
        yield "other-half", value[:half] + "".join(f"{int(c, 16) ^ 1:x}" for c in value[half:])
        yield "backwards", bytes.fromhex(value)[::-1].hex()
    if not fixed:
        yield from (("empty", ""), ("nul-behind", f"{value}00"), ("shorter", value[:-2]))


def _lists(value: list[Any]) -> Iterator[Named]:
    yield from (("empty", []), ("first", value[:1]), ("backwards", value[::-1]))
    if value:
        yield from (("last-twice", [*value, value[-1]]), ("first-last", [*value[1:], value[0]]))
        yield "without-last", value[:-1]


_POWERS: Final = (7, 8, 15, 16, 31, 32, 53, 63)
_COUNTS: Final = (9, 17, 65, 255, 256, 257, 65_535, 65_536, 65_537)
_COUNTS_OF_STRUCTS: Final = (9, 17, 65, 255, 256, 257, 65_536)  # only one is large: it costs a message of megabytes
_COUNTS_IN_VALUES: Final = (*_COUNTS_OF_STRUCTS, 65_535)  # of arrays; 65,535 is the most that a two-byte head counts
_TEXT_SIZES: Final = (65, 255, 256, 257, 65_535, 65_536, 65_537)
_BYTE_SIZES: Final = (0, 255, 256, 257, 4096, 8192, 65_535, 65_536, 65_537)
_LITERAL: Final = 64  # a value of more letters or items is written as a recipe
_DIGESTS: Final = (32, 64)  # hex digits: bytes of these lengths inside a `value` are digests, whose length is fixed

_TEXTS: Final[Mapping[str, str]] = {
    "nul": "a\0b",
    "astral": "a\U0001f600\U00010000",
    "composed": "\u00e9\u00c5",
    "decomposed": "e\u0301A\u030a",
    "blanks": " a ",
    "cases": "aAzZ\u00df\u00e4",
    "byte-order-mark": "\ufeffa",
    "private": "\ue000\uffff",  # above the surrogates: UTF-16 sorts them elsewhere
}
_BYTES: Final[Mapping[str, str]] = {
    "nul": "610062",
    "high": "80ff7f",
    "lines": "0d0a0a0d",
    "zeros": "000100",
    "no-text": "c3",
}
_FLOATS: Final[Mapping[str, Mapping[str, str]]] = {
    "float64": {
        "nan": "7ff8000000000000",
        "nan-payload": "7ff8000000000123",
        "nan-negative": "fff8000000000001",
        "minus-zero": "8000000000000000",
        "zero": "0000000000000000",
        "subnormal": "0000000000000001",
        "tenth": "3fb999999999999a",
        "beside-2p53": "4340000000000001",
        "largest": "7fefffffffffffff",
        "infinity": "7ff0000000000000",
        "minus-infinity": "fff0000000000000",
    },
    "float32": {
        "nan": "7fc00000",
        "nan-payload": "7fc00123",
        "minus-zero": "80000000",
        "subnormal": "00000001",
        "largest": "7f7fffff",
        "infinity": "7f800000",
    },
    "float16": {"nan": "7e00", "nan-payload": "7e55", "minus-zero": "8000", "subnormal": "0001", "largest": "7bff"},
}


def notable_values(axis: str, spot: LeafOccurrence) -> Iterator[Named]:
    """The values of an axis for one leaf occurrence, each with a short name; none equals the value there."""
    made = _MAKERS[axis](spot)
    return ((name, value) for name, value in made if value != spot.value)


def axes_of(*types: Type) -> frozenset[str]:
    """The axes that have at least one value for these types."""
    found: set[str] = set()
    for _, type_ in (pair for one in types for pair in walk(one)):
        match type_:
            case Scalar("string") | Scalar("bytes") | Value():
                found |= set(AXES)
            case ListOf() | MapOf():
                found.add(SIZE)
            case Scalar(name) if name != "bool" and name not in PLACES:
                found.add(REPRESENTATION)
            case Tensor(dtype) if dtype != "bool":
                found.add(REPRESENTATION)
    return frozenset(found)


def integers(low: int, high: int) -> Iterator[int]:
    """The integers at and next to powers of two within bounds, and the bounds."""
    numbers = {2**power + beside for power in _POWERS for beside in (-1, 0, 1)}
    numbers |= {-(2**power) + beside for power in _POWERS for beside in (-1, 0, 1)}
    return iter(sorted({0, 1, high, high - 1, low} | {number for number in numbers if low <= number <= high}))


def straddling(type_: Type | Optional, other: Type | Optional) -> Iterator[tuple[Any, Any]]:
    """Pairs of neighbours on the two sides of a power of two, in both orders: if both integers are cut to fewer bits,
    their order changes."""
    if not (_is_integer(type_) and _is_integer(other)):
        return
    for power in _POWERS:
        for above, below in ((2**power, 2**power - 1), (-(2**power), -(2**power) - 1)):
            for one, beside in ((above, below), (below, above)):
                if in_range(type_, one) and in_range(other, beside):
                    yield _wire(type_.name, one), _wire(other.name, beside)


def _is_integer(type_: Type | Optional) -> TypeGuard[Scalar]:
    return isinstance(type_, Scalar) and type_.name in INTEGER_RANGES


def _wire(name: str, number: int) -> Any:
    return str(number) if name in WIDE else number


def odd_members() -> Iterator[list[Any]]:
    """Undeclared members of a self-describing map: one for each odd value of each kind, some in a list."""
    kinds = {"text": Scalar("string"), "int": INTEGER, "float": Scalar("float64"), "bytes": Scalar("bytes")}
    minus_zero = {"float": _FLOATS["float64"]["minus-zero"]}
    odd: list[Any] = [False, True, {"text": ""}, {"bytes": ""}, {"array": []}, {"map": []}, {"array": [minus_zero]}]
    for kind, type_ in kinds.items():
        odd += ({kind: value} for _, value in _representation(LeafOccurrence(f"~{kind}", type_, "", ())))
    return ([{"text": f"zz{number}"}, value] for number, value in enumerate(odd))


def _representation(spot: LeafOccurrence) -> Iterator[Named]:
    match spot.type:
        case Scalar("string"):
            yield from _TEXTS.items()
        case Scalar("key"):
            yield from _twin_keys(spot.value)
        case Scalar("bytes") if len(spot.value) in _DIGESTS and spot.place.endswith("~bytes"):
            yield from _fixed(len(spot.value) // 2)
        case Scalar("bytes"):
            yield from _BYTES.items()
        case Scalar("integer"):
            yield from ((str(number), str(number)) for number in integers(-(2**63), 2**64 - 1))
        case Scalar(name) if name in INTEGER_RANGES:
            yield from ((str(number), _wire(name, number)) for number in integers(*INTEGER_RANGES[name]))
        case Scalar(name) if name in FIXED_BYTES:
            yield from _fixed(FIXED_BYTES[name])
        case Scalar(name) if name in _FLOATS:
            yield from _FLOATS[name].items()
        case Optional():
            yield from _presence(spot.type, spot.value)
        case Tensor():
            yield from _tensors(spot.value)


def _fixed(size: int) -> Iterator[Named]:
    yield "zeros", "00" * size
    yield "ones", "ff" * size
    yield "zero-first", "00" + "a5" * (size - 1)
    yield "zero-inside", "a5" * (size // 2) + "00" + "5a" * (size - size // 2 - 1)
    yield "high", "80" * size


def _twin_keys(wire: Any) -> Iterator[Named]:
    """The map with two keys that a careless table takes for one, or with more keys than it has room for."""
    long = "k" * 64
    twins = {
        "nul": ("k", "k\0a", "k\0b"),
        "cases": ("twin", "Twin"),
        "behind-64": (f"{long}a", f"{long}b"),
        "behind-255": (f"{'k' * 255}a", f"{'k' * 255}b"),
        "behind-256": (f"{'k' * 256}a", f"{'k' * 256}b"),
        "blanks": ("b", " b", "b "),
        "byte-order-mark": ("m", "\ufeffm"),
        "forms": ("\u00e9", "e\u0301"),
        "astral": ("\U00010000", "\U00010001", "\uffff"),
        "empty": ("",),
        "digits": ("9", "10", "09"),
    }
    for name, keys in twins.items():
        if isinstance(wire, Mapping) and wire:
            item = wire[min(wire)]
            yield name, {**wire, **dict.fromkeys(keys, item)}
        elif isinstance(wire, list):
            yield name, [*wire, *([{"text": key}, {"int": str(k)}] for k, key in enumerate(keys))]


def _tensors(wire: Any) -> Iterator[Named]:
    """The tensor filled with notable numbers of its dtype; as many tensors as are needed to show every number."""
    dtype = wire.get("dtype")
    count = int(np.prod(wire["shape"])) if "shape" in wire else 0
    if not count or dtype == "bool":
        return
    little = np.dtype(dtype).newbyteorder("<")
    if dtype in _FLOATS:
        patterns = [bytes.fromhex(bits)[::-1] for bits in _FLOATS[dtype].values()]
    else:
        patterns = [np.array(n, dtype=little).tobytes() for n in integers(*INTEGER_RANGES[dtype])]
    for turn, first in enumerate(range(0, len(patterns), count)):
        raw = b"".join(patterns[(first + k) % len(patterns)] for k in range(count))
        yield f"filled-{turn}", {**wire, "data": base64.b64encode(raw).decode()}


def _sizes(spot: LeafOccurrence) -> Iterator[Named]:
    match spot.type:
        case Scalar("string"):
            yield from ((f"of-{size}", _text(size)) for size in _TEXT_SIZES)
            yield "two-byte-256", recipe("text", 128, of="\u00e9")
            yield "two-byte-512", recipe("text", 256, of="\u00e9")
        case Scalar("bytes"):
            for size in _BYTE_SIZES:
                yield f"of-{size}", recipe("noise", size, seed=f"{size}") if size > _LITERAL else "00" * size
        case ListOf(item) if spot.value:
            for count in _counts(item, _COUNTS_IN_VALUES):
                items = spot.value
                whole = [items[k % len(items)] for k in range(count)] if count <= _LITERAL else None
                yield f"of-{count}", whole or recipe("list", count, of=items[0])
        case MapOf(item) if spot.value:
            yield from ((f"of-{count}", _map(spot.value, count)) for count in _counts(item, _COUNTS_OF_STRUCTS))


def _counts(item: Type | Optional, in_values: tuple[int, ...]) -> tuple[int, ...]:
    match item:
        case Scalar():
            return _COUNTS
        case Value():
            return in_values
    return _COUNTS_OF_STRUCTS


def _text(size: int) -> Any:
    """A text of `size` bytes whose last letter differs from all others, so that no shorter text is like it."""
    return recipe("text", size, of="a") if size > 2 * _LITERAL else "a" * (size - 1) + "z"


def _map(wire: Any, count: int) -> Any:
    if isinstance(wire, Mapping):
        return recipe("map", count - len(wire), key="k{k}", of=wire[min(wire)], **{"with": dict(wire)})
    return recipe("pairs", count - len(wire), key="k{k}", of={"int": "{k}"}, **{"with": list(wire)})


_BEHIND: Final[Mapping[str, str]] = {
    "line": "\n",
    "return": "\r",
    "line-of-two": "\r\n",
    "two-lines": "\n\n",
    "tab": "\t",
    "blank": " ",
    "nul": "\0",
    "two-nuls": "\0\0",
    "end-of-file": "\x1a",
    "padding": "=",
    "slash": "/",
    "dot": ".",
}
_BEFORE: Final[Mapping[str, str]] = {"line": "\n", "tab": "\t", "blank": " ", "nul": "\0", "zero": "0", "plus": "+"}
_BLANKS: Final[Mapping[str, str]] = {  # blanks and invisible characters outside ASCII
    "hard-blank": "\u00a0",
    "wide-blank": "\u3000",
    "no-width": "\u200b",
    "next-line": "\u0085",
    "line-mark": "\u2028",
    "byte-order-mark": "\ufeff",
}
_LAST_BYTES: Final[Mapping[str, str]] = {"high": "80", "all-ones": "ff"}  # in hex digits
# By name: the text put before the value, and the text put after it.
_AROUND: Final[Mapping[str, tuple[str, str]]] = {
    **{f"{name}-behind": ("", text) for name, text in {**_BEHIND, **_BLANKS}.items()},
    **{f"{name}-before": (text, "") for name, text in {**_BEFORE, **_BLANKS}.items()},
    "quoted": ('"', '"'),
    "in-apostrophes": ("'", "'"),
}


def _ends(spot: LeafOccurrence) -> Iterator[Named]:
    """The value of a leaf with each odd end and each odd beginning; only for texts and bytes."""
    match spot.type:
        case Scalar("string") if isinstance(spot.value, str):
            for name, (before, behind) in _AROUND.items():
                yield name, before + spot.value + behind
        case Scalar("bytes") if isinstance(spot.value, str):
            for name, (before, behind) in _AROUND.items():
                yield name, before.encode().hex() + spot.value + behind.encode().hex()
            for name, byte in _LAST_BYTES.items():
                yield f"{name}-behind", spot.value + byte
                yield f"{name}-before", byte + spot.value


_MAKERS: Final[Mapping[str, Callable[[LeafOccurrence], Iterator[Named]]]] = {
    REPRESENTATION: _representation,
    SIZE: _sizes,
    NEAR: _neighbours,
    ENDS: _ends,
}
