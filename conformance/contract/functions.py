"""The named functions that expressions may call for what CEL's own comprehensions cannot bound (spec/README.md)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cel_expr_python import cel

_T = cel.Type
_UINTS = _T.List(_T.UINT)


@dataclass(frozen=True, slots=True)
class Function:
    """A named function: its overloads by parameter types, one result type, and a pure Python body."""

    name: str
    parameters: Sequence[Sequence[Any]]
    returns: Any
    call: Callable[..., Any]


def _is_permutation(items: Sequence[int]) -> bool:
    return len(items) == len(set(items)) and all(item < len(items) for item in items)


def _distinct(items: Sequence[Any]) -> bool:
    return len(items) == len(set(items))


def _all_below(items: Sequence[int], limit: int) -> bool:
    return all(item < limit for item in items)


def _consecutive(items: Sequence[int], start: int) -> bool:
    return all(item == start + k for k, item in enumerate(items))


def _divide(numerator: int, denominator: int) -> float:
    return float(numerator) / float(denominator)


def _total(items: Sequence[int]) -> int:
    total = sum(items)
    if total >= 2**64:
        raise OverflowError("the sum leaves uint64")
    return total


def _sha256(data: bytes) -> bytearray:
    return bytearray(hashlib.sha256(bytes(data)).digest())


FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("is_permutation", [[_UINTS]], _T.BOOL, _is_permutation),
    Function("distinct", [[_UINTS]], _T.BOOL, _distinct),
    Function("all_below", [[_UINTS, _T.UINT]], _T.BOOL, _all_below),
    Function("consecutive", [[_UINTS, _T.UINT]], _T.BOOL, _consecutive),
    Function("total", [[_UINTS]], _T.UINT, _total),
    Function("divide_float64", [[_T.UINT, _T.UINT]], _T.DOUBLE, _divide),
    Function("gcd", [[_T.UINT, _T.UINT]], _T.UINT, math.gcd),
    Function("min", [[_T.UINT, _T.UINT]], _T.UINT, min),
    Function("max", [[_T.UINT, _T.UINT]], _T.UINT, max),
    Function("sha256", [[_T.BYTES]], _T.BYTES, _sha256),
)
