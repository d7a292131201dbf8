"""The dependencies that are declared, those that CI tests with and the lowest ones agree with each other."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from conformance.tests.processes import ROOT
from conformance.tests.sources import modules, tree

LOWEST: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))
declared: Callable[..., dict[str, str]] = LOWEST["declared"]
normalized: Callable[[str], str] = LOWEST["normalized"]
PINNED: dict[str, str] = LOWEST["pinned"]()
OWN = {"pip"}  # every environment brings its own
ALL = {name: bounds for name, bounds in declared("duckdb", "torch", "loaders", "dev").items() if name not in OWN}
# Projects whose modules have another name.
PROJECTS = {"yaml": "pyyaml", "cel_expr_python": "cel-expr-python", "opentelemetry": "opentelemetry-api"}


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_dependency_is_pinned_within_its_bounds(name: str) -> None:
    assert name in PINNED, f"{name} is not in .ci/constraints.txt"
    assert PINNED[name] in SpecifierSet(ALL[name]), f"{name} {PINNED[name]} is outside {ALL[name]}"


@pytest.mark.parametrize("name", sorted(declared("duckdb")))
def test_every_runtime_dependency_has_a_lower_bound_that_is_allowed(name: str) -> None:
    assert LOWEST["lowest"]()[name] in SpecifierSet(ALL[name])


def test_the_lowest_versions_are_the_pinned_ones_but_for_what_is_declared() -> None:
    rows = dict(line.split("==") for line in LOWEST["lines"]())
    lower = LOWEST["lowest"]()
    assert rows == {**PINNED, **lower}
    assert {name for name in rows if rows[name] != PINNED[name]} <= set(declared("duckdb"))
    assert len({name for name in lower if lower[name] != PINNED[name]}) >= 5


def outside(file: Path) -> set[str]:
    """The modules that a file imports from outside the standard library and this repository, where it always does."""
    names = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names - sys.stdlib_module_names - {"conformance", "impl"}


def test_everything_that_is_imported_is_declared() -> None:
    imported = {name for file in modules("conformance", "impl", skeletons=True) for name in outside(file)}
    known = {*declared("duckdb", "torch", "telemetry")}
    assert {normalized(PROJECTS.get(name, name)) for name in imported} <= known


def test_every_session_that_installs_uses_the_constraints() -> None:
    text = (ROOT / "noxfile.py").read_text("utf-8")
    installs = re.findall(r'session\.install\((.*)\)|"pip", "install", (.*)\)', text)
    assert len(installs) >= 3
    assert [row for row in map("".join, installs) if '"-c"' not in row] == []
    for file in (ROOT / ".ci" / "run", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))):
        rows = [line for line in file.read_text("utf-8").splitlines() if "pip install" in line]
        assert rows, file
        assert [row for row in rows if "-c .ci/constraints.txt" not in row] == [], file
