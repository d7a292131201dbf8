"""The parameters of a law: the values that a contract's `over` lists, and their combinations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from conformance.contract.model import LawUse
from conformance.contract.position import MalformedContract, Problem

Axes = dict[str, tuple[Any, ...]]
Point = Mapping[str, Any]
_KINDS = {int: "a whole number from 0 on", str: "a text", bool: "true or false"}


def axes(use: LawUse, defaults: Mapping[str, Any]) -> Axes:
    """The values of each parameter, from `use.over` or else the defaults; a single value stands for a list of one.

    Raises MalformedContract for a parameter that is not among the defaults, or a value of another kind than theirs.
    """
    for name in use.over:
        if name not in defaults:
            known = ", ".join(defaults)
            problem = Problem(use.position, "C004", f"the law {use.law} has no parameter {name!r}", f"it has {known}")
            raise MalformedContract([problem])
        _check(use, name, _listed(defaults[name]))
    return {name: _listed(use.over.get(name, default)) for name, default in defaults.items()}


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _check(use: LawUse, name: str, defaults: tuple[Any, ...]) -> None:
    """No value of another kind than the defaults', none at all, or a negative one where no default is negative."""
    given = _listed(use.over[name])
    kinds = {type(value) for value in defaults}
    negative = any(isinstance(value, int) and value < 0 for value in defaults)
    wrong = [value for value in given if type(value) not in kinds]
    wrong += [value for value in given if type(value) is int and value < 0 and not negative]
    if given and not wrong:
        return
    found = f"{wrong[0]!r}" if wrong else "nothing"
    expected = " or ".join(sorted(_KINDS.get(kind, kind.__name__) for kind in kinds))
    message = f"the law {use.law} cannot take {found} as {name}"
    raise MalformedContract([Problem(use.position, "C004", message, f"give {expected}, as in {list(defaults)[:3]}")])


def grid(chosen: Axes) -> Iterator[Point]:
    """Every combination, the last parameter varying fastest."""
    for values in product(*chosen.values()):
        yield dict(zip(chosen, values, strict=True))


def slug(point: Point) -> str:
    """A point as it stands in a check's id: `block_size=7,seed=0`."""
    return ",".join(f"{name}={_text(value)}" for name, value in point.items())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
