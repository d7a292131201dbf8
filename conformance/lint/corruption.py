"""Makes wrong results from right ones: each leaf changes by one step, each list loses, repeats or swaps items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from conformance.contract.types import INTEGER_RANGES, Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value


def same_shape(one: Any, other: Any) -> bool:
    """Whether two native values are equal; two arrays are if their dtypes, shapes and bytes are."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return (
            isinstance(one, np.ndarray)
            and isinstance(other, np.ndarray)
            and (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_shape(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_shape, one, other))
    return bool(one == other)


_PLACES: Final = 4  # list positions tried from each end
Wrong = tuple[str, Any]  # the dotted path of the change, and the whole value with it


def corruptions(type_: Type, value: Any, path: str = "") -> Iterator[Wrong]:
    """Wrong values of the same type, each with the path of its only change."""
    match type_:
        case Struct():
            for member in type_.fields:
                yield from _in_member(member, value, f"{path}.{member.name}" if path else member.name)
        case ListOf(item):
            for wrong in _lists(item, value):
                if not same_shape(wrong, value):  # equal for a palindrome or two equal neighbours
                    yield path, wrong
            for k in _ends(len(value)):
                for where, wrong in corruptions(item, value[k], path):
                    yield where, [*value[:k], wrong, *value[k + 1 :]]
        case MapOf(item):
            yield from _in_map(item, value, path)
        case _:
            for wrong in _leaves(type_, value):
                yield path, wrong


def _in_member(member: Field, value: Mapping[str, Any], path: str) -> Iterator[Wrong]:
    if member.volatile:
        return
    if member.name not in value:
        return
    for where, wrong in corruptions(member.type, value[member.name], path):
        yield where, {**value, member.name: wrong}
    if member.optional:
        yield path, {name: inner for name, inner in value.items() if name != member.name}


def _in_map(item: Type, value: Mapping[str, Any], path: str) -> Iterator[Wrong]:
    for key in sorted(value)[:_PLACES]:
        rest = {name: inner for name, inner in value.items() if name != key}
        yield path, rest
        yield path, {**rest, key + "x": value[key]}
        for where, wrong in corruptions(item, value[key], path):
            yield where, {**value, key: wrong}


def _ends(length: int) -> list[int]:
    return sorted({*range(min(_PLACES, length)), *range(max(0, length - _PLACES), length)})


def _lists(item: Type, value: list[Any]) -> Iterator[list[Any]]:
    for k in _ends(len(value)):
        yield value[:k] + value[k + 1 :]  # dropped
        yield [*value[: k + 1], *value[k:]]  # twice
        if k + 1 < len(value):
            yield [*value[:k], value[k + 1], value[k], *value[k + 2 :]]  # swapped
            yield [*value[:k], value[k + 1], *value[k + 1 :]]  # one in place of another
    # Dropping the greatest leaves a permutation a permutation, and a range a range.
    if value and all(isinstance(element, int) for element in value):
        greatest = value.index(max(value))
        yield value[:greatest] + value[greatest + 1 :]
        yield [*value, max(value) + 1]
        yield [*value, 0]
    elif not value and isinstance(item, Scalar) and item.name in INTEGER_RANGES:
        yield from ([0], [0, 0])
    yield value[::-1]
    yield []


def _leaves(type_: Type, value: Any) -> Iterator[Any]:
    match type_:
        case Scalar("bool"):
            yield not value
        case Scalar(name) if name in INTEGER_RANGES:
            low, high = INTEGER_RANGES[name]
            near = (value + 1, value - 1, value ^ 1, 2 * value, value + 4096, low, high)
            yield from (wrong for wrong in dict.fromkeys(near) if low <= wrong <= high and wrong != value)
        case Scalar("string"):
            yield from (wrong for wrong in (value + "x", value[:-1], value.swapcase(), "") if wrong != value)
        case Scalar("bytes"):
            yield from _bytes(value)
            yield value + b"\0"
            if value:
                yield value[:-1]
        case Scalar(name) if name.startswith("bytes"):
            yield from _bytes(value)
        case Scalar(name):
            kind = np.dtype(name).type
            steps = (np.nextafter(kind(value), kind(end)) for end in (math.inf, -math.inf))
            yield from (float(wrong) for wrong in (*steps, kind(-value), kind(value + 1.0)))
        case Enum(values):
            yield from (other for other in values if other != value)
        case Value():
            yield from (wrong for wrong in (None, True, 0, "x", b"", {}, {"x": 0}) if wrong != value)
        case Tensor():
            yield from _tensors(value)


def _bytes(value: bytes) -> Iterator[bytes]:
    for k in _ends(len(value)):
        yield bytes([*value[:k], value[k] ^ 1, *value[k + 1 :]])


def _other(element: Any) -> Any:
    """Another element of the dtype: the next integer (after the greatest, the least), or a float's next bits."""
    dtype = element.dtype
    if dtype.kind == "b":
        return not element
    if dtype.kind == "f":
        return (element.view(f"u{dtype.itemsize}") ^ 1).view(dtype)
    return np.iinfo(dtype).min if element == np.iinfo(dtype).max else element + 1


def _tensors(value: Any) -> Iterator[Any]:
    for k in _ends(value.size):
        wrong = value.copy()
        flat = wrong.reshape(-1)
        flat[k] = _other(flat[k])
        yield wrong
    if value.ndim > 1 and value.shape[0] != value.shape[1]:
        yield value.swapaxes(0, 1)
