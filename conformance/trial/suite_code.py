"""The Python modules that a suite names, its laws and generators; only the process that runs them imports them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from conformance.contract.source import MalformedContract, Position, Problem
from conformance.contract.suite import Suite


def offered(suite: Suite, modules: Sequence[str], attribute: str) -> dict[str, Any]:
    """What modules of a suite offer under `attribute`, by name; raises MalformedContract where one cannot be used."""
    found: dict[str, Any] = {}
    for name in modules:
        module = _imported(suite, name)
        for one in getattr(module, attribute, ()):
            if one.name in found:
                raise _unusable(suite, f"two of the {attribute} of its modules are called {one.name}", "rename one")
            found[one.name] = one
    return found


def _imported(suite: Suite, name: str) -> Any:
    root = str(suite.root)
    if root not in sys.path:
        sys.path.append(root)  # what a module imports later is found, and shadows nothing
    try:
        sys.path.insert(0, root)  # the suite's own packages, whatever else has their names
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(root)
    except Exception as error:
        said = f"the module {name!r} cannot be imported: {type(error).__name__}: {error}"
        raise _unusable(suite, said, "correct the module, or its name under [suite]") from None


def _unusable(suite: Suite, message: str, hint: str) -> MalformedContract:
    return MalformedContract([Problem(Position(str(suite.file), 1, 1), "C018", message, hint)])
