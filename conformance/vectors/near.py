"""Values that a careless reader takes for the one that stands there, made from that value.

Texts that are equal once trimmed, folded, normalized or cut at a NUL; numbers that are equal in fewer bits; bytes that
differ in one bit; lists in another order, or with an item twice. Every value is in wire form.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, Final

from conformance.contract.types import FIXED_BYTES, INTEGER_RANGES, ListOf, Scalar
from conformance.vectors.distortion import empty_of
from conformance.vectors.leaf import Optional, Spot

NEAR: Final = "near"
_CUTS: Final = (8, 16, 31, 32, 53, 63)  # bits at which a number is narrowed
_DIGITS: Final = {ord("0") + k: chr(0x660 + k) for k in range(10)}
_LONGEST: Final = 300  # letters or items of a value that has neighbours; a longer one stands for its size
Named = tuple[str, Any]


def near(spot: Spot) -> Iterator[Named]:
    """The neighbours of what stands at a leaf, each with a short name."""
    match spot.type:
        case Scalar("string") if isinstance(spot.value, str) and len(spot.value) <= _LONGEST:
            yield from _texts(spot.value)
        case Scalar("integer"):
            yield from ((name, str(number)) for name, number in _integers(int(spot.value), -(2**63), 2**64 - 1))
        case Scalar(name) if name in INTEGER_RANGES:
            near_by = _integers(int(spot.value), *INTEGER_RANGES[name])
            yield from ((slug, str(n) if isinstance(spot.value, str) else n) for slug, n in near_by)
        case Scalar(name) if name == "bytes" or name in FIXED_BYTES:
            yield from _bytes(spot.value, name != "bytes")
        case Optional(name, inner):
            if name in spot.value:
                yield "absent", {key: part for key, part in spot.value.items() if key != name}
            if (empty := empty_of(inner)) is not None:
                yield "empty", {**spot.value, name: empty}
        case ListOf() if isinstance(spot.value, list) and len(spot.value) <= _LONGEST:
            yield from _lists(spot.value)


def _texts(value: str) -> Iterator[Named]:
    yield from (("empty", ""), ("blank-behind", f"{value} "), ("blank-before", f" {value}"))
    yield "line-behind", f"{value}\n"
    yield from (("nul-behind", f"{value}\0"), ("nul-and-more", f"{value}\0x"), ("marked", f"\ufeff{value}"))
    yield from (("other-case", value.swapcase()), ("other-digits", value.translate(_DIGITS)))
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
