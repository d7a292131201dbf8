"""What every test may ask for: a tool outside Python, an optional package, or a clear word that it is not here."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Never

import pytest


def not_run(reason: str) -> Never:
    """Say "not run: REASON" in the summary, or fail where every tool is required."""
    if os.environ.get("TALLY_REQUIRE_TOOLS") == "1":
        pytest.fail(f"not run: {reason}")
    pytest.skip(f"not run: {reason}")


def absent(name: str) -> Never:
    """Say that a tool or a package is not here."""
    not_run(f"{name} not found")


@contextmanager
def modules_of(folder: Path) -> Iterator[None]:
    """Import from a folder of programs; its modules are forgotten after it, as another folder has the same names."""
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield
    for name in sys.modules.keys() - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


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
