"""The pages name files that exist, and docs/architecture.md follows the imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from conformance.tests.processes import ROOT
from conformance.tests.sources import modules, tree

WITH_PATHS = ("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md")
HARNESS = ROOT / "conformance"
MOST = 15
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?)`")
FILE = re.compile(r"`([\w/]+[.]py)`")


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def section(text: str, title: str) -> list[str]:
    """The rows of the table below a heading, without its head."""
    body = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [line for line in body.splitlines() if line.startswith("|")][2:]


def named_paths(text: str) -> list[str]:
    """What a page names in code style that looks like a path: with a slash, or a module or page."""
    found = (match[1] for match in PATH.finditer(text))
    return [path for path in found if "/" in path or re.search(r"[.](py|md|toml)\Z", path)]


@pytest.mark.parametrize("name", WITH_PATHS)
def test_every_path_that_a_page_names_exists(name: str) -> None:
    paths = named_paths(page(name))
    bases = (ROOT, HARNESS) if name == "docs/architecture.md" else (ROOT,)
    assert len(paths) >= 10
    assert [path for path in paths if not any((base / path).exists() for base in bases)] == []


def test_a_path_that_is_gone_would_be_seen() -> None:
    assert named_paths("see `docs/gone.md`, `tally lint`, `gone.py` and `WRITERS`") == ["docs/gone.md", "gone.py"]


def test_contributing_answers_where_each_kind_of_thing_is_added() -> None:
    rows = section(page("CONTRIBUTING.md"), "Where do I add ...")
    answers = {cells[1].strip(): cells[2].strip() for cells in (row.split("|") for row in rows)}
    wanted = ("an operator", "a law", "a lint rule", "an output format", "a wire", "a bundled backend", "a command")
    for thing in (*wanted, "a mutant"):
        assert [key for key in answers if key.startswith(thing)], thing
    assert all(PATH.search(answer) for answer in answers.values())


# -- the path of one case


@cache
def imported(file: Path) -> frozenset[str]:
    """Every name that a module imports, dotted."""
    names: set[str] = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def dotted(path: str) -> str:
    return "conformance." + path.removesuffix(".py").replace("/", ".")


def rows_of(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By file: its function, and the files that it hands the case over to."""
    found = {}
    for row in section(text, "The files"):
        file, function, _, next_ones = (cell.strip() for cell in row.strip("|").split("|"))
        found[file.strip("`")] = (function.strip("`"), tuple(FILE.findall(next_ones)))
    return found


WAY = rows_of(page("docs/architecture.md"))
OTHERS = section(page("docs/architecture.md"), "Other files on the path")
BESIDE = [match[1] for row in OTHERS if (match := FILE.search(row))]
ENTRIES = {f"{dotted(file)}.{function}": file for file, (function, _) in WAY.items()}


def handed_to(names: frozenset[str]) -> set[str]:
    """The files of the table whose function is among imported names."""
    return {file for entry, file in ENTRIES.items() if entry in names}


def between(modules: Mapping[str, frozenset[str]], way: Mapping[str, object]) -> set[str]:
    """The modules that are not in the table, imported by one of it, and that import the function of one of it."""
    used = {name for file in way for name in modules[file]}
    return {
        path
        for path, names in modules.items()
        if path not in way
        and any(name == dotted(path) or name.startswith(f"{dotted(path)}.") for name in used)
        and handed_to(names)
    }


def harness() -> dict[str, frozenset[str]]:
    return {file.relative_to(HARNESS).as_posix(): imported(file) for file in modules("conformance")}


def test_the_way_of_a_case_has_at_most_fifteen_files() -> None:
    assert 10 <= len(WAY) <= MOST


@pytest.mark.parametrize("file", sorted(WAY))
def test_the_table_names_a_function_of_the_file_and_exactly_those_it_hands_over_to(file: str) -> None:
    function, next_ones = WAY[file]
    whole = tree(HARNESS / file)
    assert function in {node.name for node in whole.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert set(next_ones) == handed_to(imported(HARNESS / file))


def test_the_diagram_shows_the_files_of_the_table() -> None:
    diagram = page("docs/architecture.md").split("```")[1]
    assert {file.removesuffix(".py") for file in WAY} <= set(re.findall(r"\w+(?:/\w+)+", diagram))


def test_no_other_file_is_on_the_way() -> None:
    assert between(harness(), WAY) == set(BESIDE)


def test_a_file_that_came_between_would_be_seen() -> None:
    modules = harness()
    modules["trial/run.py"] |= {"conformance.trial.detour.through"}
    modules["trial/detour.py"] = frozenset({"conformance.trial.cases.CaseRunner"})
    assert between(modules, WAY) - set(BESIDE) == {"trial/detour.py"}
