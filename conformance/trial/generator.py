"""A generator of whole inputs, and all generators by the name that a contract's `fuzz.generator` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from conformance.contract.model import Contract
from conformance.contract.source import MalformedContract, Problem
from conformance.contract.suite import Suite
from conformance.trial.suite_code import offered

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
def known_generators(suite: Suite) -> Mapping[str, Generator]:
    """The generators of a suite by name, from the GENERATORS of its modules; raises MalformedContract."""
    return offered(suite, suite.generators, "GENERATORS")


def generator_of(contract: Contract, suite: Suite) -> Generator | None:
    """The generator that a contract names, None where it names none; raises MalformedContract for one unheard of."""
    name = contract.fuzz_generator
    if not name:
        return None
    if name not in known_generators(suite):
        hint = f"the modules of the suite have {', '.join(sorted(known_generators(suite))) or 'none'}"
        problem = Problem(contract.source.at(("fuzz", "generator")), "C004", f"there is no generator {name!r}", hint)
        raise MalformedContract([problem])
    return known_generators(suite)[name]


def valid(statements: list[str]) -> list[str]:
    """The statements that SQLite takes, one after the other."""
    import sqlite3

    kept = []
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            try:
                connection.execute(statement)
            except sqlite3.Error:
                continue
            kept.append(statement)
    return kept
