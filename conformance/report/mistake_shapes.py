"""Mistakes of a known shape, found in wrong values and shown as a hint if no mutant explains them.

A shape is a function from the right value to the value that the mistake gives. A hint needs two different failures of
one shape, and every failure of the group must have it.
"""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.report.record import Entry

LEAST: Final = 2  # different failures; one wrong number has many explanations
Shape = Callable[[Any], Any]
_WORDS: Final = (2, 4, 8)  # bytes


def looks_like(failures: Sequence[Entry]) -> str:
    """The one shape that all of these failures have, in a few words; empty if there is none, or too few failures."""
    if said := _refused_limit(failures):
        return said
    pairs = [pair for entry in failures for pair in _pairs(entry)]
    beginnings = [pair for entry in failures for pair in _beginning(entry)]
    if len({*map(repr, pairs)}) < LEAST or len(pairs) + len(beginnings) < len(failures):
        return ""
    pairs += beginnings
    for words, shape in _SHAPES:
        if all(_gives(shape, right, wrong) for right, wrong in pairs):
            return words
    return ""


def _refused_limit(failures: Sequence[Entry]) -> str:
    """The one limit at which all of these different calls were refused; empty if there is none."""
    calls = {repr(entry.get("call", {}).get("inputs")) for entry in failures}
    found: list[Mapping[str, str]] = [entry.get("details", {}).get("limits", {}) for entry in failures]
    shared = [id_ for id_ in found[0] if all(id_ in limits for limits in found)]
    if len(shared) != 1 or len(calls) < LEAST:
        return ""
    return f"off by one: a call at a limit is refused, and {shared[0]} allows it: {found[0][shared[0]]}"


def _pairs(entry: Entry) -> Iterator[tuple[Any, Any]]:
    """The right and the wrong value at the place where a failure differs, in wire form."""
    difference = entry.get("difference")
    if difference is None or difference.get("note") or difference["path"] in ("", "outcome", "error.message"):
        return
    right, wrong = difference["expected"], difference["actual"]
    if type(right) is type(wrong):
        yield right, wrong


def _beginning(entry: Entry) -> Iterator[tuple[Any, Any]]:
    """For a right text known by its first letters, length and digest: the wrong text that is its beginning.

    The right side is the wrong text and one more letter: only a cut at just this length gives the wrong text.
    """
    difference = entry.get("difference", {})
    right, wrong = difference.get("expected"), difference.get("actual")
    if not (isinstance(right, Mapping) and "letters" in right and isinstance(wrong, str) and wrong):
        return
    if wrong.startswith(right["head"]) and len(wrong) < int(right["letters"]):
        yield wrong + wrong[-1], wrong


def _gives(shape: Shape, right: Any, wrong: Any) -> bool:
    """Whether a shape turns the right value into the wrong one; decimal texts may be numbers or bytes."""
    pairs = [(right, wrong)]
    if _is_decimal(right) and _is_decimal(wrong):
        pairs.append((int(right), int(wrong)))
    return any(_makes(shape, *pair) for pair in pairs)


def _is_decimal(side: Any) -> bool:
    return isinstance(side, str) and side.isascii() and side.removeprefix("-").isdecimal()


def _makes(shape: Shape, right: Any, wrong: Any) -> bool:
    try:
        return bool(shape(right) == wrong)
    except (TypeError, ValueError, OverflowError, AttributeError, struct.error):
        return False


def _of(kind: type) -> Callable[[Shape], Shape]:
    """Makes shapes for values of one type; for other values they raise TypeError."""

    def only(shape: Shape) -> Shape:
        def checked(value: Any) -> Any:
            if type(value) is not kind:
                raise TypeError
            return shape(value)

        return checked

    return only


_number: Final = _of(int)
_text: Final = _of(str)


def _swapped(size: int) -> Shape:
    return _number(lambda value: int.from_bytes(value.to_bytes(size, "big"), "little"))


def _low_bits(bits: int) -> Shape:
    return _number(lambda value: value % (1 << bits))


def _signed(bits: int) -> Shape:
    return _number(lambda value: (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))


def _saturated(bits: int) -> Shape:
    return _number(lambda value: min(value, (1 << bits) - 1))


def _cut_units(size: int) -> Shape:
    """The text cut to `size` bytes of UTF-8."""
    return _text(lambda text: text.encode()[:size].decode("utf-8", "ignore"))


def _cut_letters(size: int) -> Shape:
    return _text(lambda text: text[:size])


def _cut_utf16(size: int) -> Shape:
    """The text cut to `size` UTF-16 units; half of a letter above U+FFFF is dropped."""
    return _text(lambda text: text.encode("utf-16-le")[: 2 * size].decode("utf-16-le", "ignore"))


def _through_binary32(text: str) -> str:
    """A binary64 as 16 hex digits that went through binary32."""
    (number,) = struct.unpack(">d", bytes.fromhex(text))
    (narrow,) = struct.unpack(">f", struct.pack(">f", number))
    return struct.pack(">d", narrow).hex()


def _next_bits(step: int) -> Shape:
    """A float, in hex digits, `step` units in the last place from the right one."""
    return _text(lambda text: f"{int(text, 16) + step:0{len(text)}x}" if len(text) in (4, 8, 16) else "")


def _sign_bit(text: str) -> str:
    return f"{int(text, 16) ^ 1 << 4 * len(text) - 1:0{len(text)}x}" if len(text) in (4, 8, 16) else ""


# Bytes of UTF-8 first: if every letter has one byte, cuts in other units give the same text.
_CUTS: Final[tuple[tuple[str, Callable[[int], Shape]], ...]] = (
    ("bytes", _cut_units),
    ("letters", _cut_letters),
    ("UTF-16 units", _cut_utf16),
)
_SIZES: Final = tuple(sorted({2**power - less for power in range(3, 17) for less in (0, 1)}))

# The first that fits is shown, so the narrow shapes come before the wide ones.
_SHAPES: Final[tuple[tuple[str, Shape], ...]] = (
    ("off by one: one too many", _number(lambda value: value + 1)),
    ("off by one: one too few", _number(lambda value: value - 1)),
    ("the sign is turned round", _number(lambda value: -value)),
    ("64 bits taken for a signed number", _signed(64)),
    ("32 bits taken for a signed number", _signed(32)),
    ("a number that went through binary64 and lost its low bits", _number(lambda value: int(float(value)))),
    *((f"a number of which {bits} bits are kept", _low_bits(bits)) for bits in (8, 16, 31, 32, 53, 63)),
    *((f"a number that stops at the largest of {bits} bits", _saturated(bits)) for bits in (8, 16, 31, 32, 53, 63)),
    *((f"the {size} bytes of a number in the other order", _swapped(size)) for size in _WORDS),
    ("bytes in the other order", _text(lambda text: bytes.fromhex(text)[::-1].hex())),
    ("rounding: the last bit of a float", _next_bits(1)),
    ("rounding: the last bit of a float", _next_bits(-1)),
    ("the sign of a float is turned round", _text(_sign_bit)),
    ("a float that went through binary32", _text(_through_binary32)),
    ("a text without the blanks around it", _text(str.strip)),
    ("a text in lower case", _text(str.lower)),
    ("a text in composed letters (NFC)", _text(lambda text: unicodedata.normalize("NFC", text))),
    ("a text that ends at its first NUL", _text(lambda text: text.split("\0")[0])),
    *((f"a text cut after {size:,} {unit}", cut(size)) for unit, cut in _CUTS for size in _SIZES),
)
