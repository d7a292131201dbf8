"""The named functions for expressions, used where CEL's comprehensions would have no bound (docs/language.md)."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import cbor2
from cel_expr_python import cel

from conformance.contract.cache import digest_of_texts
from conformance.contract.canonical import (
    array,
    canonical,
    element,
    encode_item,
    has_canonical,
    has_member,
    is_canonical,
    is_rows,
    kind,
    member,
    member_names,
    rows,
    text,
    text_map,
    with_member,
)
from conformance.contract.family import ErrorCode
from conformance.contract.types import INTEGER_RANGES

if TYPE_CHECKING:
    import numpy as np


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
    import numpy as np  # takes 100 ms, and most commands do not need it

    return np.frombuffer(bytes(data), np.dtype(dtype).newbyteorder("<"))


def parts(items: Sequence[int], count: int) -> list[list[int]]:
    """The items as `count` lists of one length; raises ValueError if that is impossible."""
    if count < 0 or len(items) % max(count, 1) or (items and not count):
        raise ValueError(f"{len(items)} items in {count} parts")
    width = len(items) // count if count else 0
    return [list(items[part * width : (part + 1) * width]) for part in range(count)]


def where(items: Sequence[Any], flags: Sequence[int]) -> list[Any]:
    """The items at the indices where the flag is not 0."""
    return [item for item, flag in zip(items, flags, strict=True) if flag]


def where_not(items: Sequence[Any], flags: Sequence[int]) -> list[Any]:
    """The items at the indices where the flag is 0."""
    return [item for item, flag in zip(items, flags, strict=True) if not flag]


def blanked(items: Sequence[int], flags: Sequence[int]) -> list[int]:
    """The items, with 0 at every index where the flag is not 0."""
    return [0 if flag else item for item, flag in zip(items, flags, strict=True)]


def members(items: Sequence[int], known: Collection[int]) -> list[int]:
    """1 at every index whose item is among the known ones, else 0."""
    some = frozenset(known)
    return [int(item in some) for item in items]


def gather(items: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """The items at these places, in their order; raises IndexError."""
    if any(place < 0 for place in places):
        raise IndexError("a negative place")
    return [items[place] for place in places]


def differences(items: Sequence[int], others: Sequence[int]) -> list[int]:
    """Each item minus the other item at the same index; raises OverflowError below zero."""
    found = [item - other for item, other in zip(items, others, strict=True)]
    if any(one < 0 for one in found):
        raise OverflowError("a difference below zero")
    return found


def is_grouped(items: Sequence[int]) -> bool:
    """Whether equal items are next to each other."""
    turns = sum(one != other for one, other in pairwise(items))
    return turns + bool(items) == len(set(items))


def all_within(items: Sequence[int], least: int, limit: int) -> bool:
    """Whether every item is at least `least` and below `limit`."""
    return all(least <= item < limit for item in items)


def scores(items: Sequence[float], mean: float, deviation: float) -> list[float]:
    """(item - mean) / deviation in binary64, rounded once to binary32; 0 for a deviation of 0."""
    return [0.0 if deviation == 0 else _float32((item - mean) / deviation) for item in items]


def _float32(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


_T = cel.Type
_UINTS = _T.List(_T.UINT)
_ANY = _T.List(_T.DYN)
_INTS = _T.List(_T.INT)
_NUMBERS = _T.List(_T.DOUBLE)
_ROWS = _T.List(_T.Map(_T.STRING, _T.UINT))


@dataclass(frozen=True, slots=True)
class Function:
    """A named function: its overloads by parameter types, one result type, and a pure Python body."""

    name: str
    parameters: Sequence[Sequence[Any]]
    returns: Any
    call: Callable[..., Any]
    over: str = ""  # the digest of the data that it reads besides its arguments


def _is_permutation(items: Sequence[int]) -> bool:
    return len(items) == len(set(items)) and all(0 <= item < len(items) for item in items)


def _total(items: Sequence[int]) -> int:
    found = sum(items)
    if found >= 2**64:
        raise OverflowError("the sum leaves uint64")
    return found


def _sha256(data: bytes) -> bytearray:
    return bytearray(hashlib.sha256(bytes(data)).digest())


def _prefix(data: bytes, length: int) -> bytearray:
    if len(data) < length:
        raise ValueError(f"{len(data)} bytes have no prefix of {length}")
    return bytearray(data[:length])


def _bytes_of(call: Callable[..., bytes]) -> Callable[..., bytearray]:
    # The engine cuts `bytes` at the first NUL, even in the answer of a function.
    return lambda *arguments: bytearray(call(*arguments))


FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("is_permutation", [[_ANY]], _T.BOOL, _is_permutation),
    Function("distinct", [[_ANY]], _T.BOOL, lambda items: len(items) == len(set(items))),
    Function("all_below", [[_UINTS, _T.UINT]], _T.BOOL, lambda items, limit: all(item < limit for item in items)),
    Function("count_below", [[_UINTS, _T.UINT]], _T.UINT, lambda items, limit: sum(item < limit for item in items)),
    Function("total", [[_UINTS]], _T.UINT, _total),
    Function("total_fits", [[_UINTS]], _T.BOOL, lambda items: sum(items) < 2**64),
    Function("largest", [[_UINTS]], _T.UINT, max),
    Function("min", [[_T.UINT, _T.UINT]], _T.UINT, min),
    Function("sha256", [[_T.BYTES]], _T.BYTES, _sha256),
    Function("prefix", [[_T.BYTES, _T.UINT]], _T.BYTES, _prefix),
    Function("hex", [[_T.BYTES]], _T.STRING, lambda data: bytes(data).hex()),
    Function("cbor", [[_T.BOOL], [_T.UINT], [_T.DOUBLE], [_T.STRING], [_T.BYTES]], _T.BYTES, _bytes_of(encode_item)),
    Function("cbor_array", [[_T.List(_T.BYTES)]], _T.BYTES, _bytes_of(array)),
    Function("cbor_map", [[_T.Map(_T.STRING, _T.BYTES)]], _T.BYTES, _bytes_of(text_map)),
    Function("cbor_rows", [[_T.List(_T.STRING), _ROWS]], _T.BYTES, _bytes_of(rows)),
    Function("is_cbor_rows", [[_T.BYTES, _T.List(_T.STRING)]], _T.BOOL, is_rows),
    Function("canonical", [[_T.BYTES]], _T.BYTES, _bytes_of(canonical)),
    Function("is_canonical", [[_T.BYTES]], _T.BOOL, is_canonical),
    Function("has_canonical", [[_T.BYTES]], _T.BOOL, has_canonical),
    Function("item_kind", [[_T.BYTES]], _T.STRING, kind),
    Function("item_text", [[_T.BYTES]], _T.STRING, text),
    Function("has_member", [[_T.BYTES, _T.STRING]], _T.BOOL, has_member),
    Function("member", [[_T.BYTES, _T.STRING]], _T.BYTES, _bytes_of(member)),
    Function("with_member", [[_T.BYTES, _T.STRING, _T.BYTES]], _T.BYTES, _bytes_of(with_member)),
    Function("element", [[_T.BYTES, _T.UINT]], _T.BYTES, _bytes_of(element)),
    Function("member_names", [[_T.BYTES]], _T.List(_T.STRING), member_names),
    Function("quotients", [[_T.UINT, _UINTS]], _UINTS, lambda number, items: [number // item for item in items]),
    Function("remainders", [[_T.UINT, _UINTS]], _UINTS, lambda number, items: [number % item for item in items]),
    Function("differences", [[_UINTS, _UINTS]], _UINTS, differences),
    Function("indices", [[_ANY]], _INTS, lambda items: list(range(len(items)))),
    Function("integers", [[_T.STRING, _T.BYTES]], _INTS, integers),
    Function("numbers", [[_T.STRING, _T.BYTES]], _NUMBERS, numbers),
    Function("flattened", [[_T.List(_ANY)]], _ANY, lambda lists: [item for items in lists for item in items]),
    Function("parts", [[_INTS, _T.INT]], _T.List(_INTS), parts),
    Function("where", [[_ANY, _INTS]], _ANY, where),
    Function("where_not", [[_ANY, _INTS]], _ANY, where_not),
    Function("blanked", [[_INTS, _INTS]], _INTS, blanked),
    Function("members", [[_ANY, _ANY]], _INTS, members),
    Function("gather", [[_ANY, _ANY]], _ANY, gather),
    Function("unique", [[_INTS]], _INTS, lambda items: list(dict.fromkeys(items))),
    Function("is_ascending", [[_ANY]], _T.BOOL, lambda items: all(one <= other for one, other in pairwise(items))),
    Function("is_grouped", [[_INTS]], _T.BOOL, is_grouped),
    Function("all_within", [[_ANY, _T.INT, _T.UINT]], _T.BOOL, all_within),
    Function("all_finite", [[_NUMBERS]], _T.BOOL, lambda items: all(map(math.isfinite, items))),
    Function("scores", [[_NUMBERS, _T.DOUBLE, _T.DOUBLE]], _NUMBERS, scores),
)


def registry_functions(errors: Mapping[str, ErrorCode]) -> Sequence[Function]:
    """The named functions over the registry: whether a code is registered, and the fields of its entry."""

    def registered(code: str) -> bool:
        return code in errors

    def diagnostics_match(code: str, item: bytes) -> bool:
        declared = errors[code].diagnostics
        given = cbor2.loads(bytes(item))
        if not isinstance(given, dict) or given.keys() != declared.keys():
            return False
        # Decoding drops a repeated key, so the item would become shorter.
        whole = len(encode_item(given)) == len(item)
        return whole and all(_is_of(given[name], kind) for name, kind in declared.items())

    over = digest_of_texts([repr(sorted(errors.items()))])
    return (
        Function("registered", [[_T.STRING]], _T.BOOL, registered, over),
        Function("error_number", [[_T.STRING]], _T.UINT, lambda code: errors[code].number, over),
        Function("error_severity", [[_T.STRING]], _T.STRING, lambda code: errors[code].severity, over),
        Function("error_subsystem", [[_T.STRING]], _T.STRING, lambda code: errors[code].subsystem, over),
        Function("error_message", [[_T.STRING]], _T.STRING, lambda code: errors[code].message, over),
        Function("diagnostics_match", [[_T.STRING, _T.BYTES]], _T.BOOL, diagnostics_match, over),
    )


_PYTHON_TYPES: Final[Mapping[str, type]] = {"string": str, "bytes": bytes, "bool": bool}


def _is_of(value: Any, kind: str) -> bool:
    if kind in INTEGER_RANGES:
        low, high = INTEGER_RANGES[kind]
        return type(value) is int and low <= value <= high
    return type(value) is _PYTHON_TYPES[kind]
