"""The named functions that expressions may call for what CEL's own comprehensions cannot bound (spec/README.md)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cel_expr_python import cel

from conformance.contract import arrays
from conformance.contract.canonical import array, canonical, is_rows, rows, text_map
from conformance.contract.item import encode_item
from conformance.contract.members import (
    element,
    element_count,
    has_member,
    kind,
    member,
    member_names,
    text,
    with_member,
)
from conformance.contract.profile import has_canonical, is_canonical

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


def _is_permutation(items: Sequence[int]) -> bool:
    return len(items) == len(set(items)) and all(0 <= item < len(items) for item in items)


def _distinct(items: Sequence[Any]) -> bool:
    return len(items) == len(set(items))


def _all_below(items: Sequence[int], limit: int) -> bool:
    return all(item < limit for item in items)


def _count_below(items: Sequence[int], limit: int) -> int:
    return sum(item < limit for item in items)


def _consecutive(items: Sequence[int], start: int) -> bool:
    return all(item == start + k for k, item in enumerate(items))


def _divide(numerator: int, denominator: int) -> float:
    return float(numerator) / float(denominator)


def _total(items: Sequence[int]) -> int:
    if not _total_fits(items):
        raise OverflowError("the sum leaves uint64")
    return sum(items)


def _total_fits(items: Sequence[int]) -> bool:
    return sum(items) < 2**64


def _sha256(data: bytes) -> bytearray:
    return bytearray(hashlib.sha256(bytes(data)).digest())


def _prefix(data: bytes, length: int) -> bytearray:
    if len(data) < length:
        raise ValueError(f"{len(data)} bytes have no prefix of {length}")
    return bytearray(data[:length])


def _hex(data: bytes) -> str:
    return bytes(data).hex()


def _bytes_of(call: Callable[..., bytes]) -> Callable[..., bytearray]:
    # The engine cuts `bytes` at the first NUL, also in what a function returns.
    return lambda *arguments: bytearray(call(*arguments))


FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("is_permutation", [[_ANY]], _T.BOOL, _is_permutation),
    Function("distinct", [[_ANY]], _T.BOOL, _distinct),
    Function("all_below", [[_UINTS, _T.UINT]], _T.BOOL, _all_below),
    Function("count_below", [[_UINTS, _T.UINT]], _T.UINT, _count_below),
    Function("consecutive", [[_UINTS, _T.UINT]], _T.BOOL, _consecutive),
    Function("total", [[_UINTS]], _T.UINT, _total),
    Function("total_fits", [[_UINTS]], _T.BOOL, _total_fits),
    Function("divide_float64", [[_T.UINT, _T.UINT]], _T.DOUBLE, _divide),
    Function("gcd", [[_T.UINT, _T.UINT]], _T.UINT, math.gcd),
    Function("largest", [[_UINTS]], _T.UINT, max),
    Function("min", [[_T.UINT, _T.UINT]], _T.UINT, min),
    Function("max", [[_T.UINT, _T.UINT]], _T.UINT, max),
    Function("sha256", [[_T.BYTES]], _T.BYTES, _sha256),
    Function("prefix", [[_T.BYTES, _T.UINT]], _T.BYTES, _prefix),
    Function("hex", [[_T.BYTES]], _T.STRING, _hex),
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
    Function("element_count", [[_T.BYTES]], _T.UINT, element_count),
    Function("element", [[_T.BYTES, _T.UINT]], _T.BYTES, _bytes_of(element)),
    Function("member_names", [[_T.BYTES]], _T.List(_T.STRING), member_names),
    Function("quotients", [[_T.UINT, _UINTS]], _UINTS, arrays.quotients),
    Function("remainders", [[_T.UINT, _UINTS]], _UINTS, arrays.remainders),
    Function("differences", [[_UINTS, _UINTS]], _UINTS, arrays.differences),
    Function("indices", [[_ANY]], _INTS, arrays.indices),
    Function("integers", [[_T.STRING, _T.BYTES]], _INTS, arrays.integers),
    Function("numbers", [[_T.STRING, _T.BYTES]], _NUMBERS, arrays.numbers),
    Function("flattened", [[_T.List(_ANY)]], _ANY, arrays.flattened),
    Function("parts", [[_INTS, _T.INT]], _T.List(_INTS), arrays.parts),
    Function("where", [[_ANY, _INTS]], _ANY, arrays.where),
    Function("where_not", [[_ANY, _INTS]], _ANY, arrays.where_not),
    Function("blanked", [[_INTS, _INTS]], _INTS, arrays.blanked),
    Function("members", [[_ANY, _ANY]], _INTS, arrays.members),
    Function("gather", [[_ANY, _ANY]], _ANY, arrays.gather),
    Function("unique", [[_INTS]], _INTS, arrays.unique),
    Function("is_ascending", [[_ANY]], _T.BOOL, arrays.is_ascending),
    Function("is_grouped", [[_INTS]], _T.BOOL, arrays.is_grouped),
    Function("all_within", [[_ANY, _T.INT, _T.UINT]], _T.BOOL, arrays.all_within),
    Function("all_finite", [[_NUMBERS]], _T.BOOL, arrays.all_finite),
    Function("scores", [[_NUMBERS, _T.DOUBLE, _T.DOUBLE]], _NUMBERS, arrays.scores),
)
