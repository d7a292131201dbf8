"""What a generator is, and the ones there are, by the name that a contract's `fuzz.generator` gives."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from types import ModuleType
from typing import Any

import conformance.trial.generators as rooms
from conformance.contract.model import Contract
from conformance.contract.source import MalformedContract, Problem


def offered(package: ModuleType, attribute: str) -> dict[str, Any]:
    """What the modules of a package offer under `attribute`, by name; raises ValueError where a name comes twice."""
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(package.__path__):
        for one in getattr(importlib.import_module(f"{package.__name__}.{module.name}"), attribute, ()):
            if one.name in found:
                raise ValueError(f"two of {attribute} are called {one.name}")
            found[one.name] = one
    return found


Native = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Generator:
    """A named maker of complete native inputs; the same state of `Random` makes the same inputs.

    `grown` makes inputs that are large in one way each: as many tables, columns or keys as a byte cannot count;
    `listed` those of rare values and names, asked before any is drawn.
    """

    name: str
    make: Callable[[Random], Native]
    grown: Callable[[Random], Iterator[Native]] | None = None
    listed: Callable[[], Iterator[Native]] | None = None


@cache
def known_generators() -> Mapping[str, Generator]:
    """Every generator of every family, found in the modules of this package that offer GENERATORS."""
    return offered(rooms, "GENERATORS")


def generator_of(contract: Contract) -> Generator | None:
    """The generator that a contract names, None where it names none; raises MalformedContract for one unheard of."""
    name = contract.fuzz_generator
    if not name:
        return None
    if name not in known_generators():
        hint = f"conformance/trial/generators has {', '.join(sorted(known_generators()))}"
        problem = Problem(contract.source.at(("fuzz", "generator")), "C004", f"there is no generator {name!r}", hint)
        raise MalformedContract([problem])
    return known_generators()[name]
