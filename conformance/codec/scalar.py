"""The forms of scalars and enums."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from conformance.codec.cbor import Float
from conformance.contract.types import FIXED_BYTES, FLOAT_BYTES, INTEGER_RANGES, PLACES
from conformance.contract.yaml.source import ValuePath

_LIMIT: Final = 80  # characters
_PLAIN: Final = re.compile(r"[\w./#-]{1,80}\Z", re.ASCII)


class IllTyped(Exception):
    """A value at `path` is not the canonical wire form of its declared type."""

    def __init__(self, expected: str, found: Any, path: ValuePath = ()) -> None:
        self.expected, self.found, self.path = expected, found, path
        super().__init__(expected, found, path)  # all of them, so that a child process can hand it over

    def inside(self, step: str | int) -> IllTyped:
        """The same error with a path from one level further out."""
        return IllTyped(self.expected, self.found, (step, *self.path))

    def __str__(self) -> str:
        return f"{show_path(self.path)}: expected {self.expected}, found {shorten(self.found)}"


def show_path(path: ValuePath) -> str:
    """A path as users read it: `trace_record.cursor_after.epoch`, `block_order[3]`, `headers["a key\\n"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.match(step):
            text += f".{step}" if text else step
        else:  # a backend's own key may be any text, even with control characters
            text = f"{text or 'result'}[{json.dumps(step[:_LIMIT])}]"
    return text or "result"


def shorten(value: Any, limit: int = _LIMIT) -> str:
    """The repr of a value in about `limit` characters, made without building a long one, however deep the value is.

    None, True and False are null, true and false, as on the wire.
    """
    if isinstance(value, str | bytes) and len(value) > limit:
        return f"{value[:limit]!r}... ({len(value)} long)"
    text = _BRIEF.repr(value)
    if isinstance(value, list) and len(value) > limit:
        return f"{text[:limit]}... ({len(value)} long)"
    return text if len(text) <= limit else text[:limit] + "..."


class _Brief(reprlib.Repr):
    """A repr that reads only the part of a value that it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict = 4, 8
        self.maxlist = self.maxtuple = self.maxstring = self.maxother = self.maxlong = 4 * _LIMIT

    def repr_NoneType(self, value: None, level: int) -> str:  # noqa: N802 - Repr looks for the name of the type
        return "null"

    def repr_bool(self, value: bool, level: int) -> str:
        return "true" if value else "false"

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value[:_LIMIT])


_BRIEF: Final = _Brief()


Convert = Callable[[Any], Any]
WIDE: Final = frozenset({"uint64", "int64"})


@dataclass(frozen=True, slots=True)
class Form:
    """The conversions of one type; each raises IllTyped with the path of a wrong value."""

    check: Convert  # JSON wire -> JSON wire without volatile fields
    to_native: Convert  # JSON wire -> native
    from_native: Convert  # native -> JSON wire
    to_cbor: Convert  # JSON wire -> CBOR message item
    from_cbor: Convert  # CBOR message item -> JSON wire without volatile fields


def scalar_form(name: str) -> Form:
    """The form of the scalar that a contract calls `name`."""
    if name == "bool":
        return Form(_bool, _same, _bool, _same, _bool)
    if name == "string" or name in PLACES:
        return Form(text, _same, text, _same, text)
    if name in INTEGER_RANGES:
        return _wide_integer(name) if name in WIDE else _narrow_integer(name)
    if name in FLOAT_BYTES:
        return _float(FLOAT_BYTES[name], name)
    return _bytes(FIXED_BYTES.get(name), name)


def enum_form(values: tuple[str, ...]) -> Form:
    """The form of one of a closed list of strings."""

    def check(value: Any) -> Any:
        if type(value) is not str or value not in values:
            raise IllTyped("one of " + ", ".join(values), value)
        return value

    return Form(check, _same, check, _same, check)


def text(value: Any) -> Any:
    """The string itself; raises IllTyped if it is not a string of Unicode scalar values."""
    if type(value) is not str:
        raise IllTyped("a string", value)
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise IllTyped("a string of Unicode scalar values", value) from None
    return value


def _same(value: Any) -> Any:
    return value


def _bool(value: Any) -> Any:
    if type(value) is not bool:
        raise IllTyped("true or false", value)
    return value


def _wide_integer(name: str) -> Form:
    low, high = INTEGER_RANGES[name]
    expected = f"{name} as a decimal string"

    def check(wire: Any) -> Any:
        if type(wire) is not str or len(wire) > 20 or not wire.isascii():
            raise IllTyped(expected, wire)
        digits = wire[1:] if wire[:1] == "-" and low < 0 else wire
        if not digits.isdigit() or (digits[0] == "0" and wire != "0") or not low <= int(wire) <= high:
            raise IllTyped(expected, wire)
        return wire

    def from_native(value: Any) -> str:
        return str(_integer(value, low, high, name))

    return Form(check, int, from_native, int, from_native)


def _narrow_integer(name: str) -> Form:
    low, high = INTEGER_RANGES[name]

    def check(value: Any) -> int:
        return _integer(value, low, high, f"{name} as a number")

    return Form(check, _same, check, _same, check)


def _integer(value: Any, low: int, high: int, expected: str) -> int:
    if type(value) is not int or not low <= value <= high:
        raise IllTyped(expected, value)
    return value


def _float(width: int, name: str) -> Form:
    digits = 2 * width
    expected = f"{name} as {digits} hex digits"

    def check(wire: Any) -> Any:
        if type(wire) is not str or len(wire) != digits or not is_hex(wire):
            raise IllTyped(expected, wire)
        return wire

    def to_native(wire: str) -> float:
        return Float(width, bytes.fromhex(wire)).number

    def from_native(value: Any) -> str:
        try:
            wire = Float.of(width, value).bits.hex() if type(value) is float else ""
        except OverflowError:
            wire = ""
        # A number between two neighbours of this width does not fit it; only NaN differs from itself.
        if not wire or (to_native(wire) != value and value == value):
            raise IllTyped(f"a number of {name}", value)
        return wire

    def from_cbor(item: Any) -> str:
        if not isinstance(item, Float) or item.width != width:
            raise IllTyped(f"{name} in {width} bytes", item)
        return item.bits.hex()

    return Form(check, to_native, from_native, lambda wire: Float(width, bytes.fromhex(wire)), from_cbor)


def is_hex(wire: str) -> bool:
    """Whether it is lower-case hex of whole bytes: to read and write it is a hundred times faster than a pattern."""
    try:
        return bytes.fromhex(wire).hex() == wire
    except ValueError:
        return False


def _bytes(length: int | None, name: str) -> Form:
    expected = f"{name} as lower-case hex" if length is None else f"{name} as {2 * length} lower-case hex digits"

    def check(wire: Any) -> Any:
        if type(wire) is not str or not is_hex(wire) or length not in (None, len(wire) // 2):
            raise IllTyped(expected, wire)
        return wire

    def from_native(value: Any) -> str:
        if not isinstance(value, bytes | bytearray) or length not in (None, len(value)):
            raise IllTyped(name, value)
        return value.hex()

    return Form(check, bytes.fromhex, from_native, bytes.fromhex, from_native)
