"""A wrong call made small: one place after the other, the simplest value that is still answered wrongly.

Hypothesis shrinks the choices behind a call and stops where two of them hang together, as in a remainder; a call is
judged by its values, so they are what is made small here. Nothing is drawn: the same call shrinks to the same call.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from conformance.contract.types import FIXED_BYTES, Enum, Scalar, Struct, Tensor, Type
from conformance.trial.fuzz.leaf import ABSENT, EACH, Leaf, Path
from conformance.trial.fuzz.seed import Native

_SMALL: Final = 9  # numbers from 0 on that are tried before anything else
_STEPS: Final = range(1, 9)  # times a power of two: what is taken away from a number, so that a remainder can stay
_BYTES: Final = 64  # of a long value that are zeroed one by one
_MOST: Final = 4000  # calls

FirstWrong = Callable[[Sequence[Native]], int | None]  # the place of the first input that is answered wrongly


def shrink(native: Native, leaves: Sequence[Leaf], first_wrong: FirstWrong) -> Native:
    """The input, answered wrongly, with every place as simple as the others allow."""
    left = _MOST
    improved = True
    while improved:
        improved = False
        for leaf in leaves:
            for path in list(places(native, leaf.path)):
                while left > 0:
                    candidates = [replaced(native, path, value) for value in _simpler(native, path, leaf)]
                    left -= len(candidates)
                    if (found := first_wrong(candidates)) is None:
                        break
                    native, improved = candidates[found], True
    return native


def places(native: Any, path: Path) -> Iterator[Path]:
    """Every place of an input that a leaf's path leads to."""
    if not path:
        yield ()
        return
    if not isinstance(native, dict):
        return
    for key in sorted(native) if path[0] == EACH else [path[0]]:
        if key in native:
            yield from ((key, *rest) for rest in places(native[key], path[1:]))


def replaced(native: Native, path: Path, value: Any) -> Native:
    """A copy of an input with another value at a place, or nothing there for ABSENT."""
    whole = copy.deepcopy(native)
    holder: Any = whole
    for step in path[:-1]:
        holder = holder[step]
    if value is ABSENT:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return whole


def _simpler(native: Native, path: Path, leaf: Leaf) -> list[Any]:
    value: Any = native
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return []  # an earlier place was simplified away
        value = value[step]
    return [*([ABSENT] if leaf.optional else []), *simpler(leaf.type, value)]


def simpler(type_: Type, value: Any) -> list[Any]:
    """Simpler values of a type, the simplest first; each makes a number, a length or a place in a list less."""
    match type_:
        case Enum(values):
            return list(values[: values.index(value)])
        case Scalar(name) if name in FIXED_BYTES:
            return _zeroed(value)
        case Struct() | Tensor():
            return []
    match value:
        case bool():
            return [False] if value else []
        case int():
            return _smaller(value)
        case float():
            return [simple for simple in (0.0, 1.0) if simple < abs(value)]
        case bytes():
            return [*_cut(value), *_zeroed(value)]
        case str():
            return _cut(value)
        case list():
            return [*_cut(value), *(value[:k] + value[k + 1 :] for k in range(len(value)))]
        case dict():
            return [{name: value[name] for name in value if name != key} for key in sorted(value)]
    return []


def _smaller(number: int) -> list[int]:
    size = abs(number)
    sizes = set(range(min(_SMALL, size)))
    power = 1
    while power <= size:
        sizes |= {size - step * power for step in _STEPS if step * power <= size}
        power *= 2
    sign = 1 if number >= 0 else -1
    return [sign * one for one in sorted(sizes)]


def _zeroed(text: bytes) -> list[bytes]:
    zeros = bytes(len(text))
    single = [text[:k] + b"\0" + text[k + 1 :] for k in range(min(len(text), _BYTES)) if text[k]]
    return [zeros, *single] if text != zeros else []


def _cut(sequence: Any) -> list[Any]:
    return [sequence[:length] for length in sorted({0, len(sequence) // 2, len(sequence) - 1})] if sequence else []
