"""The parameters of a law: the values that a contract's `over` lists, and their combinations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from conformance.contract.model import LawUse
from conformance.contract.position import MalformedContract, Problem

Axes = dict[str, tuple[Any, ...]]
Point = Mapping[str, Any]


def axes(use: LawUse, defaults: Mapping[str, Any]) -> Axes:
    """The values of each parameter, from `use.over` or else the defaults; a single value stands for a list of one.

    Raises MalformedContract for a parameter that is not among the defaults.
    """
    for name in use.over:
        if name not in defaults:
            known = ", ".join(defaults)
            problem = Problem(use.position, "C004", f"the law {use.law} has no parameter {name!r}", f"it has {known}")
            raise MalformedContract([problem])
    chosen = {name: use.over.get(name, default) for name, default in defaults.items()}
    return {name: tuple(value) if isinstance(value, list | tuple) else (value,) for name, value in chosen.items()}


def grid(chosen: Axes) -> Iterator[Point]:
    """Every combination, the last parameter varying fastest."""
    for values in product(*chosen.values()):
        yield dict(zip(chosen, values, strict=True))


def slug(point: Point) -> str:
    """A point as it stands in a check's id: `block_size=7,seed=0`."""
    return ",".join(f"{name}={_text(value)}" for name, value in point.items())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
