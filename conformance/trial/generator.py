"""What the Python modules of a suite offer: its laws, and generators of whole inputs by name.

Only the process that runs the checks imports them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from traceback import extract_tb
from typing import Any, Final, Protocol, TypeVar

from conformance.contract.model import Contract
from conformance.contract.suite import Suite
from conformance.contract.suite_file import entry_place
from conformance.contract.yaml.source import MalformedContract, Problem


class Named(Protocol):
    """What a module offers has a name."""

    @property
    def name(self) -> str:
        """The name."""


T = TypeVar("T", bound=Named)


def offered(suite: Suite, modules: Sequence[str], attribute: str, kind: type[T]) -> dict[str, T]:
    """What modules of a suite offer under `attribute`, by name; raises MalformedContract where one cannot be used."""
    found: dict[str, T] = {}
    key = attribute.lower()  # under [suite]
    for name in modules:
        module = _imported(suite, key, name)
        for one in getattr(module, attribute, ()):
            if not isinstance(one, kind):
                message = f"the {attribute} of the module {name!r} have {one!r:.60}, which is no {kind.__name__}"
                hint = f"make it with {kind.__module__}.{kind.__name__}"
                raise _unusable(suite, key, name, message, hint)
            if one.name in found:
                message = f"two of the {attribute} of its modules are called {one.name}"
                raise _unusable(suite, key, name, message, "rename one")
            found[one.name] = one
    return found


def _imported(suite: Suite, key: str, name: str) -> Any:
    root = str(suite.root)
    if root not in sys.path:
        sys.path.append(root)  # what a module imports later is found, and shadows nothing
    try:
        sys.path.insert(0, root)  # the suite's own packages, whatever else has their names
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(root)
    except (Exception, SystemExit) as error:
        said = f"the module {name!r} cannot be imported: {type(error).__name__}: {error}"
        raise _unusable(suite, key, name, said, "correct the module, or its name under [suite]") from None


def _unusable(suite: Suite, key: str, name: str, message: str, hint: str) -> MalformedContract:
    return MalformedContract([Problem(entry_place(suite, "suite", key, name), "C018", message, hint)])


_HARNESS: Final = Path(__file__).parents[1]


def shown_error(error: BaseException) -> str:
    """An error with its last line outside the harness; without its text if that may contain the path of a root."""
    frames = [frame for frame in extract_tb(error.__traceback__) if not Path(frame.filename).is_relative_to(_HARNESS)]
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    text = "" if "/" in str(error) else f": {error}"
    return f"{type(error).__name__}{text}{place}"


Native = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Generator:
    """A named maker of complete native inputs; the same state of `Random` makes the same inputs."""

    name: str
    make: Callable[[Random], Native]
    # Inputs that are large in one way each: as many tables, columns or keys as a byte cannot count.
    grown: Callable[[Random], Iterator[Native]] | None = None
    listed: Callable[[], Iterator[Native]] | None = None  # of rare values and names, asked before any is drawn

    def made(self, suite: Suite, random: Random, *keys: str) -> Native:
        """What it makes; raises MalformedContract if that fails, or is no dict with these keys."""
        try:
            made = self.make(random)
        except Exception as error:
            message = f"the generator {self.name!r} fails: {shown_error(error)}"
            raise _unusable(suite, "generators", "", message, "correct it") from error
        lacking = [key for key in keys if key not in made] if isinstance(made, dict) else ["a dict of inputs"]
        if lacking:
            message = f"the generator {self.name!r} makes {made!r:.60}, which lacks {lacking[0]!r}"
            hint = "docs/suites.md, `Laws and generators`, says what it returns"
            raise _unusable(suite, "generators", "", message, hint)
        return made


@cache
def known_generators(suite: Suite) -> Mapping[str, Generator]:
    """The generators of a suite by name, from the GENERATORS of its modules; raises MalformedContract."""
    return offered(suite, suite.generators, "GENERATORS", Generator)


def generator_of(contract: Contract, suite: Suite) -> Generator | None:
    """The generator that a contract names, None if it names none. Raises MalformedContract for an unknown one."""
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
