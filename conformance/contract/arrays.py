"""Looking into tensors and long lists from expressions, a whole list at a time; the bodies of named functions."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def indices(items: Sequence[Any]) -> list[int]:
    """0, 1, ... one less than the number of items."""
    return list(range(len(items)))


def integers(dtype: str, data: bytes) -> list[int]:
    """The elements of little-endian data of a dtype of integers or bools, a bool as 0 or 1; raises ValueError."""
    found = _array(dtype, data)
    if found.dtype.kind not in "biu":
        raise ValueError(f"{dtype} holds no integers")
    return [int(element) for element in found.tolist()]


def numbers(dtype: str, data: bytes) -> list[float]:
    """The elements of little-endian data of any dtype, as binary64."""
    return [float(element) for element in _array(dtype, data).tolist()]


def _array(dtype: str, data: bytes) -> np.ndarray[Any, Any]:
    import numpy as np  # 100 ms that most commands do without

    return np.frombuffer(bytes(data), np.dtype(dtype).newbyteorder("<"))


def flattened(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """The items of all lists, in their order."""
    return [item for items in lists for item in items]


def parts(items: Sequence[int], count: int) -> list[list[int]]:
    """The items as so many lists of one length; raises ValueError where there are none."""
    if count < 0 or len(items) % max(count, 1) or (items and not count):
        raise ValueError(f"{len(items)} items in {count} parts")
    width = len(items) // count if count else 0
    return [list(items[part * width : (part + 1) * width]) for part in range(count)]


def where(items: Sequence[Any], flags: Sequence[int]) -> list[Any]:
    """The items at whose place the flag is not 0."""
    return [item for item, flag in zip(items, flags, strict=True) if flag]


def where_not(items: Sequence[Any], flags: Sequence[int]) -> list[Any]:
    """The items at whose place the flag is 0."""
    return [item for item, flag in zip(items, flags, strict=True) if not flag]


def blanked(items: Sequence[int], flags: Sequence[int]) -> list[int]:
    """The items, 0 at every place whose flag is not 0."""
    return [0 if flag else item for item, flag in zip(items, flags, strict=True)]


def members(items: Sequence[int], known: Collection[int]) -> list[int]:
    """1 at every place whose item is one of the known, else 0."""
    some = frozenset(known)
    return [int(item in some) for item in items]


def gather(items: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """The items at these places, in their order; raises IndexError."""
    if any(place < 0 for place in places):
        raise IndexError("a negative place")
    return [items[place] for place in places]


def quotients(number: int, items: Sequence[int]) -> list[int]:
    """How often each item goes into a number; raises ZeroDivisionError."""
    return [number // item for item in items]


def remainders(number: int, items: Sequence[int]) -> list[int]:
    """What each item leaves of a number; raises ZeroDivisionError."""
    return [number % item for item in items]


def differences(items: Sequence[int], others: Sequence[int]) -> list[int]:
    """Each item less the other at its place; raises OverflowError below zero."""
    found = [item - other for item, other in zip(items, others, strict=True)]
    if any(one < 0 for one in found):
        raise OverflowError("a difference below zero")
    return found


def unique(items: Sequence[int]) -> list[int]:
    """Every item once, in the order of first appearance."""
    return list(dict.fromkeys(items))


def is_ascending(items: Sequence[int]) -> bool:
    """Whether no item is less than the one before."""
    return all(one <= other for one, other in pairwise(items))


def is_grouped(items: Sequence[int]) -> bool:
    """Whether equal items stand together."""
    turns = sum(one != other for one, other in pairwise(items))
    return turns + bool(items) == len(set(items))


def all_within(items: Sequence[int], least: int, limit: int) -> bool:
    """Whether every item is at least the one and below the other."""
    return all(least <= item < limit for item in items)


def all_finite(items: Sequence[float]) -> bool:
    """Whether no item is infinite or no number."""
    return all(math.isfinite(item) for item in items)


def scores(items: Sequence[float], mean: float, deviation: float) -> list[float]:
    """(item - mean) / deviation in binary64, rounded once to binary32; 0 for a deviation of 0."""
    return [0.0 if deviation == 0 else _float32((item - mean) / deviation) for item in items]


def _float32(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
