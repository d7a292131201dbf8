"""The places of an input (the values in it that can be changed alone), and the degenerate values for each, by type.

Programs in other languages often treat degenerate values wrongly. They are a fixed list, not random: texts that look
equal and are not, digits of other scripts, both zeros, subnormals, lists of a dozen elements (sorted as text, the
tenth comes second), empty values beside absent ones, a bool or a whole float for an integer. Most of them are made from
the value at a place, so that the rest of the value stays valid.
"""

from __future__ import annotations

import struct
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from conformance.contract.lazy import np
from conformance.contract.types import (
    FIXED_BYTES,
    INTEGER_RANGES,
    Enum,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Tensor,
    Type,
    Value,
    is_place,
)
from conformance.contract.yaml.source import ValuePath

ABSENT: Final = object()  # marks that a value is absent
EACH: Final = "*"  # in a leaf's name: any key of a map, any index of a list
_ENDS: Final = 8  # at each end of a list, so many elements are places


class Place(NamedTuple):  # not a dataclass, which takes twice the time to make: a run makes half a million
    """One place: its path, the leaf of the type that it belongs to, and its value."""

    path: ValuePath  # a number in it is an index in a list or in a map of pairs
    # The path of the type, in which all elements of a list or keys of a map are one, but not those of a `value`.
    key: str
    type: Type
    value: Any
    optional: bool = False

    @property
    def is_there(self) -> bool:
        """Whether there is a value."""
        return self.value is not ABSENT


def places(type_: Type, value: Any) -> list[Place]:
    """Every place of a native value except the whole value; containers come before their parts."""
    found: list[Place] = []
    _collect(Place((), "", type_, value), found)
    return found


def distinct_places(type_: Type, value: Any) -> tuple[Place, ...]:
    """The first place of every leaf."""
    return first_of_each(places(type_, value))


def first_of_each(some: Iterable[Place]) -> tuple[Place, ...]:
    """The first place of every leaf, if possible one that has a value."""
    found: dict[str, Place] = {}
    for place in some:
        if place.key not in found or not found[place.key].is_there:
            found[place.key] = place
    return tuple(found.values())


def put(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """A copy of a native value with another value at a path, or with none if `new` is ABSENT; other parts are shared.

    Raises KeyError or IndexError where the path leads nowhere.
    """
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        copy = dict(value)
        if not rest and new is ABSENT:
            copy.pop(step, None)
        else:
            copy[step] = put(value[step], rest, new) if rest else new
        return copy
    assert isinstance(step, int)
    items = list(value)
    if not rest and new is ABSENT:
        del items[step]
    elif isinstance(value, tuple):
        key, old = items[step]
        items[step] = (key, put(old, rest, new))
    else:
        items[step] = put(items[step], rest, new)
    return tuple(items) if isinstance(value, tuple) else items


def at(value: Any, path: Sequence[str | int]) -> Any:
    """The value at a path of a native value; raises KeyError or IndexError."""
    for step in path:
        value = value[step][1] if isinstance(value, tuple) and isinstance(step, int) else value[step]
    return value


def _collect(holder: Place, found: list[Place]) -> None:
    for step, name, type_, value, optional in _parts(holder.type, holder.value):
        place = Place((*holder.path, step), f"{holder.key}.{name}" if holder.key else name, type_, value, optional)
        found.append(place)
        if not isinstance(type_, Scalar) and value is not ABSENT:
            _collect(place, found)


def _parts(type_: Type, value: Any) -> Sequence[tuple[str | int, str, Type, Any, bool]]:
    """The parts of a value: the step to each, its step in the key, type, value, and whether it may be absent."""
    match type_:
        case Struct(fields):
            return [
                (member.name, member.name, member.type, value.get(member.name, ABSENT), member.optional)
                for member in fields
                if (member.optional or member.name in value) and not is_place(member.type)
            ]
        case MapOf(item):
            return [(key, EACH, item, value[key], True) for key in sorted(value)]
        case ListOf(item):
            return [(k, EACH, item, value[k], True) for k in _ends(len(value))]
        case Value() if isinstance(value, dict):
            return [(key, key, type_, inner, True) for key, inner in value.items()]
        case Value() if isinstance(value, list | tuple):
            parts = [pair[1] for pair in value] if isinstance(value, tuple) else value
            return [(k, EACH, type_, parts[k], True) for k in _ends(len(value))]
    return ()


def _ends(count: int) -> Sequence[int]:
    return range(count) if count <= 2 * _ENDS else (*range(_ENDS), *range(count - _ENDS, count))


_DOZEN: Final = 12
OTHER_DIGITS: Final = {ord("0") + k: chr(0x660 + k) for k in range(10)}  # of another script; some programs read them
WIDE: Final = {letter: letter + 0xFEE0 for letter in range(ord("!"), ord("~") + 1)}  # NFKC makes the same of both
_MARK, ASTRAL, HALFWIDTH = "\ufeff", "\U0001f600", "\uff61"  # UTF-16 sorts the second before the third
COMPOSED, DECOMPOSED = "\u00e9", "e\u0301"
_BLANKS: Final = ("\t", "\u00a0", "\u3000", "\u200b", "\u0085")  # some programs trim them
_CASES: Final = ("\u00df", "\u0130", "\u017f", "\u212a")  # letters that change their number or kind when case is folded
_WORDS: Final = ("null", "NaN", "true", "1e3", "007", "+1", "0x10")  # other values, for programs that guess types
_INHERITED: Final = ("__proto__", "constructor")  # members that an empty object of JavaScript seems to have
_POWERS: Final = (8, 16, 31, 32, 53, 63)
_SIGNALLING: Final[Mapping[str, str]] = {"float16": "7c01", "float32": "7f800001", "float64": "7ff0000000000001"}
_FLOATS: Final[Mapping[str, tuple[float, float, float]]] = {  # least subnormal, least normal, largest
    "float16": (2.0**-24, 2.0**-14, 65504.0),
    "float32": (2.0**-149, 2.0**-126, (2.0 - 2.0**-23) * 2.0**127),
    "float64": (5e-324, 2.0**-1022, sys.float_info.max),
}


_NARROWED: Final[Mapping[str, tuple[float, float]]] = {  # for a float of half the bits: subnormal, and half way
    "float32": (2.0**-20, 1.0 + 2.0**-11),
    "float64": (2.0**-130, 1.0 + 2.0**-24),
}
_PAYLOAD: Final = struct.unpack(">d", bytes.fromhex("fff8002460000000"))[0]  # a NaN, with a payload in 32 bits too


def degenerates(place: Place) -> Iterator[Any]:
    """The distinct degenerate values for a place, without its own value; ABSENT is one if it may be left out."""
    seen = {_identity(place.value)}
    value = place.value if place.is_there else empty_value(place.type)
    first = [ABSENT] if place.optional and place.is_there else [] if place.is_there else [value]
    for one in (*first, *_values(place.type, value)):
        if (identity := _identity(one)) not in seen:
            seen.add(identity)
            yield one


def empty_value(type_: Type) -> Any:
    """The simplest value of a type: zero, empty, or the first choice; a struct without optional members."""
    match type_:
        case Scalar("bool"):
            return False
        case Scalar(name) if name in INTEGER_RANGES:
            return 0
        case Scalar(name) if name in FIXED_BYTES:
            return bytes(FIXED_BYTES[name])
        case Scalar("bytes"):
            return b""
        case Scalar(name) if name in _FLOATS:
            return 0.0
        case Scalar():
            return ""
        case Enum(values):
            return values[0]
        case ListOf():
            return []
        case MapOf():
            return {}
        case Struct(fields):
            return {member.name: empty_value(member.type) for member in fields if not member.optional}
        case Tensor(dtype):
            return np.zeros(0, dtype=dtype or "uint8")
    return {}


def _identity(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    return float_text(value) if type(value) is float else repr(value)


def float_text(value: float) -> str:
    """A float as a text that no other float has: a NaN has its bits beside it."""
    return f"nan {struct.pack('>d', value).hex()}" if value != value else repr(value)


def _values(type_: Type, value: Any) -> Iterator[Any]:
    match type_:
        case Scalar("bool"):
            yield from (False, True)
        case Scalar("string"):
            yield from texts(value)
        case Scalar("bytes"):
            yield from _byte_strings(value)
        case Scalar(name) if name in INTEGER_RANGES:
            yield from integers(*INTEGER_RANGES[name], value)
        case Scalar(name) if name in FIXED_BYTES:
            yield from (bytes(len(value)), b"\xff" * len(value), value[::-1], b"\x80" + value[1:], _other_end(value))
        case Scalar(name):
            yield from floats(name)
        case Enum(values):
            yield from values
        case ListOf(item):
            yield from _lists(value, empty_value(item))
        case MapOf(item):
            yield from _maps(value, empty_value(item))
        case Tensor():
            yield from _tensors(value)
        case Struct(fields):
            yield {member.name: value[member.name] for member in fields if not member.optional}
        case _:
            yield from _self_describing(value)


def texts(value: str) -> Iterator[str]:
    """Texts that are nearly equal to this one, and the shortest texts."""
    yield from ("", "a", "\0", value + "\0", _MARK + value, value.swapcase(), value.translate(OTHER_DIGITS))
    yield from (value.translate(WIDE), unicodedata.normalize("NFD", value))
    yield from (value + COMPOSED, value + DECOMPOSED, value + ASTRAL, value + HALFWIDTH)
    yield from (value[:-1], value[:-1] + "~", " ", f" {value}", f"{value} ", f"{value}\n", f"{value}{value}")
    yield from (*_INHERITED, *(value + blank for blank in _BLANKS), *(value + letter for letter in _CASES), *_WORDS)


def integers(low: int, high: int, value: int) -> Iterator[int]:
    """Integers at and next to the bounds, to powers of two where programs cut, and to this value."""
    for number in (0, 1, -1, high, high - 1, low, low + 1, value + 1, value - 1):
        if low <= number <= high:
            yield number
    for power in _POWERS:
        for number in (2**power + 1, 2**power, -(2**power) - 1):
            if low <= number <= high:
                yield number


def floats(name: str) -> Iterator[float]:
    """Both zeros, subnormals and their neighbours, the largest number, both infinities, NaN, what fewer bits round."""
    subnormal, normal, largest = _FLOATS[name]
    yield from (0.0, -0.0, subnormal, -subnormal, normal - subnormal, normal, largest, -largest)
    yield from (float("inf"), float("-inf"), float("nan"), 1.0, -1.0)
    if name in _NARROWED:
        yield from (*_NARROWED[name], _PAYLOAD)


def _byte_strings(value: bytes) -> Iterator[bytes]:
    yield from (b"", b"\0", value + b"\0", value[:-1], b"\0" + value, _MARK.encode() + value, value[::-1])
    yield from (value + value, value + b"\n", value + b" ")
    if value:
        yield _other_end(value)


def _other_end(value: bytes) -> bytes:
    """The bytes with another last byte: some programs compare the first bytes only."""
    return value[:-1] + bytes([value[-1] ^ 1])


def _lists(value: list[Any], other: Any) -> Iterator[list[Any]]:
    items = list(value) or [other]
    yield from ([], items[:1], items[:1] * 2, items[::-1], items[1:])
    for count in (_DOZEN - 1, _DOZEN + 1):
        dozen = (items * count)[:count]
        if all(type(item) is int for item in dozen):
            dozen = [dozen[0] - k if dozen[0] >= count else k for k in range(count)]
        yield dozen


def _maps(value: dict[str, Any], other: Any) -> Iterator[dict[str, Any]]:
    items = [value[key] for key in sorted(value)] or [other]
    first, last, key = items[0], items[-1], min(value, default="k")
    yield from ({}, {key: first}, {**value, "": first})
    for twin in (key.swapcase(), f"{key}\0", f"{key} ", f"{key}{ASTRAL}", key.translate(OTHER_DIGITS)):
        yield {key: first, twin: last}
    yield {**value, **dict.fromkeys(_INHERITED, last)}
    yield {COMPOSED: first, DECOMPOSED: last}
    yield {ASTRAL: first, HALFWIDTH: last}
    yield {f"{key}{k}": (items * _DOZEN)[k] for k in range(_DOZEN)}


def _tensors(value: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    yield np.zeros_like(value)
    if value.dtype.kind == "f":
        yield np.full_like(value, -0.0)
    if value.ndim:
        yield value[:0].copy()
        yield np.ascontiguousarray(value[::-1])
        yield np.concatenate([value, value[-1:]])
        if 0 < len(value) < _DOZEN and value.size < 256:
            yield np.resize(value, (_DOZEN, *value.shape[1:]))
    if not value.size:
        return
    if value.dtype.kind == "b":
        yield ~value
        return
    extremes = floats(value.dtype.name) if value.dtype.kind == "f" else integers(*INTEGER_RANGES[value.dtype.name], 0)
    for extreme in extremes:
        one = value.copy()
        one.reshape(-1)[0] = extreme
        yield one
    if value.dtype.name in _SIGNALLING:
        # Set by its bits: assigning a float of another width would make a signalling NaN quiet.
        one = value.copy()
        one.view(f"u{one.itemsize}").reshape(-1)[0] = int(_SIGNALLING[value.dtype.name], 16)
        yield one


def _self_describing(value: Any) -> Iterator[Any]:
    match value:
        case None:
            yield from (False, 0, "", b"", [], {})
        case bool():
            yield from (not value, int(value), float(value), None)
        case int():
            yield from (float(value) if abs(value) < 2**53 else 0.0, value == 1, True, str(value), None)
            yield from (0, -1, 2**63, 2**64 - 1, -(2**63) - 1, -(2**64))
            yield from (near for near in (value + 1, value - 1) if -(2**64) <= near < 2**64)
        case float():
            yield from (*floats("float64"), *([int(value)] if _is_integer(value) else []), None)
        case str():
            yield from (*texts(value), value.encode(), None, [value])
        case bytes():
            yield from (*_byte_strings(value), bytes(len(value)), value.hex(), None, [value])
        case list():
            yield from (*_lists(value, None), None, {}, tuple(enumerate(value)))
        case dict() | tuple():
            yield from (*_self_describing_maps(value), None, [])


def _is_integer(value: float) -> bool:
    """Whether a number is an integer that CBOR can encode as an integer."""
    return value.is_integer() and -(2**64) <= value < 2**64


def _self_describing_maps(value: Any) -> Iterator[Any]:
    pairs = tuple(value.items() if isinstance(value, dict) else value)
    yield {}
    yield dict(pairs[::-1]) if isinstance(value, dict) else pairs[::-1]
    yield from ((*pairs, (key, None)) for key in (0, None, b"a"))
    if not isinstance(value, dict):
        return
    yield {"": None, **value}
    yield {**value, "a": None}
    keys = [COMPOSED, DECOMPOSED, ASTRAL, HALFWIDTH, *_INHERITED, *(f"k{k}" for k in range(_DOZEN))]
    yield {**value, **dict.fromkeys(keys, 1)}
    for key in list(value)[:1]:
        yield (*pairs, (key, value[key]))
        for twin in (key.swapcase(), f"{key}\0", f"{key} ", f"{key}{DECOMPOSED}"):
            yield {**value, twin: value[key]}
            yield {twin if name == key else name: one for name, one in value.items()}
