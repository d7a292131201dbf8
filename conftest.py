"""What every test may ask for: a tool outside Python, an optional package, or a clear word that it is not here."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable
from types import ModuleType
from typing import Never

import pytest


def absent(name: str) -> Never:
    """Say "not run: NAME not found" in the summary, or fail where every tool is required."""
    reason = f"not run: {name} not found"
    if os.environ.get("TALLY_REQUIRE_TOOLS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """The path of an external tool."""

    def find(name: str) -> str:
        return shutil.which(name) or absent(name)

    return find


@pytest.fixture(scope="session")
def package() -> Callable[[str], ModuleType]:
    """An optional Python package."""

    def find(name: str) -> ModuleType:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            absent(name)

    return find
