"""The relations that laws are made of: each returns where it holds and raises LawBroken where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.backend.drive import Call
from conformance.trial.laws.law import LawBroken

_MISSING = "nothing"


def must(holds: bool, message: str, call: Call | None = None) -> None:
    """A plain condition."""
    if not holds:
        raise LawBroken(message, call)


def must_be_permutation(values: Sequence[int], start: int, stop: int, what: str, call: Call | None = None) -> None:
    """Each number of [start, stop) stands in `values` exactly once."""
    seen: set[int] = set()
    for position, value in enumerate(values):
        if not start <= value < stop:
            raise LawBroken(f"{what}: {value} at position {position} is outside [{start}, {stop})", call)
        if value in seen:
            raise LawBroken(f"{what}: {value} at position {position} stands there for the second time", call)
        seen.add(value)
    if len(seen) != stop - start:
        missing = next(value for value in range(start, stop) if value not in seen)
        raise LawBroken(f"{what}: {missing} is missing, one of {stop - start - len(seen)}", call)


def must_equal(expected: Any, actual: Any, what: str, call: Call | None = None) -> None:
    """Two native values are the same; the message names the first place where they differ."""
    if expected == actual:
        return
    path, left, right = first_difference(expected, actual)
    place = f"{path} is" if path else "it is"
    raise LawBroken(f"{what}: {place} {_shown(right)}, not {_shown(left)}", call)


def first_difference(expected: Any, actual: Any, path: str = "") -> tuple[str, Any, Any]:
    """The path of the first difference between two different native values, and both sides there."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in (*expected, *(name for name in actual if name not in expected)):
            left, right = expected.get(name, _MISSING), actual.get(name, _MISSING)
            if left != right:
                return first_difference(left, right, f"{path}.{name}" if path else str(name))
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        for index in range(max(len(expected), len(actual))):
            left = expected[index] if index < len(expected) else _MISSING
            right = actual[index] if index < len(actual) else _MISSING
            if left != right:
                return first_difference(left, right, f"{path}[{index}]")
    return path, expected, actual


def _shown(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= 120 else text[:120] + "..."
