"""What the modules of a package offer by name: laws and generators are found, not listed."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any


def offered(package: ModuleType, attribute: str) -> dict[str, Any]:
    """What the modules of a package offer under `attribute`, by name; raises ValueError where a name comes twice."""
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(package.__path__):
        for one in getattr(importlib.import_module(f"{package.__name__}.{module.name}"), attribute, ()):
            if one.name in found:
                raise ValueError(f"two of {attribute} are called {one.name}")
            found[one.name] = one
    return found
