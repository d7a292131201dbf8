"""Where the module of a `python:` backend is looked for: in the folder in which its process starts, before all others.

Only that module comes first: what else lies in the folder, such as a `json` of the user's, comes last, as ever.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType


def module_places(module: str, others: Sequence[str], here: Path) -> list[str]:
    """The folders in which the first package of a dotted name is looked for; nothing is imported.

    `here` comes first if it has the whole module. Otherwise a package of the same name elsewhere has it.
    """
    return [str(here), *others] if _has(module, here) else [*others, str(here)]


def _has(module: str, here: Path) -> bool:
    places: Sequence[str] | None = [str(here)]
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, places) if places is not None and part else None
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True


def import_from(module: str, here: Path) -> ModuleType:
    """Import a module as `module_places` finds it; whatever it imports itself is looked for in `here` last."""
    if str(here) not in sys.path:
        sys.path.append(str(here))
    finder = _Finder(module.partition(".")[0], module_places(module, sys.path, here))
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(module)
    finally:
        sys.meta_path.remove(finder)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds one package, in its places, and nothing else."""

    package: str
    places: list[str]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, self.places) if path is None and fullname == self.package else None
