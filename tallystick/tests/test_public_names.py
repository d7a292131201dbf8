"""The public names: lazy, complete, without logic, each with a docstring whose example runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tallystick

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tallystick"
NAMES = (
    "BatchBuilder", "ContextStream", "ContractFailure", "Cursor", "DataProvider", "DatasetConsumer", "Sampler",
    "commit_run", "describe_database", "open_database", "prefetched", "read_container", "recover_run",
    "restore_checkpoint", "run_trial", "save_checkpoint", "write_container",
)  # fmt: skip
FAMILIES = ("batch", "checkpoint", "queue", "stream", "telemetry")
FASTEST = 0.030  # seconds
FOREIGN = re.compile(r"^ *(?:from|import) (impl|conformance)\b", re.MULTILINE)
OF_THE_HARNESS = tuple(ROOT / "docs" / f"{name}.md" for name in ("html-report", "suites", "tutorial"))


def family(name: str) -> ModuleType:
    return importlib.import_module(f"tallystick.{name}")


def examples() -> dict[str, doctest.DocTest]:
    """Every example of a public name."""
    public = {f"tallystick.{name}": getattr(tallystick, name) for name in tallystick.__all__}
    for one in FAMILIES:
        public |= {f"tallystick.{one}.{name}": getattr(family(one), name) for name in family(one).__all__}
    parser = doctest.DocTestParser()
    found: dict[str, doctest.DocTest] = {}
    for name, thing in public.items():
        text = getattr(thing, "__doc__", None) or ""
        if ">>>" in text and text not in [test.docstring for test in found.values()]:
            found[name] = parser.get_doctest(text, {}, name, None, None)
            found[name].docstring = text
    return found


EXAMPLES = examples()


def test_the_package_gives_the_promised_names() -> None:
    assert sorted(NAMES) == sorted(tallystick.__all__)
    assert set(NAMES) <= set(dir(tallystick))
    assert all(getattr(tallystick, name) is not None for name in NAMES)


def test_type_checkers_and_python_find_a_name_in_the_same_place() -> None:
    nodes = ast.walk(ast.parse((PACKAGE / "__init__.py").read_text("utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    typed = {alias.name: node.module for node in imports for alias in node.names if alias.asname == alias.name}
    assert typed == tallystick._PLACES


def test_an_import_costs_next_to_nothing_and_brings_nothing_along() -> None:
    code = "import sys, time\nbefore = time.perf_counter()\nimport tallystick\nprint(time.perf_counter() - before)\n"
    code += "print(sorted({'numpy', 'impl', 'conformance', 'torch'} & set(sys.modules)))"
    said = [subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split("\n") for _ in range(5)]
    assert min(float(lines[0]) for lines in said) < FASTEST
    assert {lines[1] for lines in said} == {"[]"}


def test_a_wrong_name_is_an_attribute_error_that_python_can_correct() -> None:
    with pytest.raises(AttributeError, match="'tallystick' has no attribute 'Samplr'"):
        _ = tallystick.Samplr


@pytest.mark.parametrize("file", sorted(PACKAGE.glob("*.py")), ids=lambda file: file.stem)
def test_no_module_of_the_package_has_logic(file: Path) -> None:
    body = ast.parse(file.read_text("utf-8")).body
    if file.stem == "__init__":
        functions = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        assert functions == ["__getattr__", "__dir__"]
        return
    assert [type(node) for node in body if not isinstance(node, ast.ImportFrom)] == [ast.Expr, ast.Assign]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_a_sentence_errors_a_source_and_an_example(name: str) -> None:
    text: Any = getattr(tallystick, name).__doc__
    assert text.split("\n\n")[0].endswith((".", ":"))
    assert ">>> " in text
    assert "Source: " in text
    assert name == "ContractFailure" or re.search(r"Raises\s", text)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_of_a_docstring_runs(name: str) -> None:
    result = doctest.DocTestRunner(verbose=False).run(EXAMPLES[name], out=print)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_public_name_of_a_family_has_a_docstring() -> None:
    for one in FAMILIES:
        public = {name: getattr(family(one), name) for name in family(one).__all__}
        assert [name for name, thing in public.items() if callable(thing) and not thing.__doc__] == []


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


def code_of(file: Path) -> str:
    """The Python of a page or a program."""
    text = file.read_text("utf-8")
    return "\n".join(re.findall(r"^ *```python\n(.*?)^ *```$", text, re.M | re.S)) if file.suffix == ".md" else text


@pytest.mark.parametrize("file", [*PAGES, *sorted((ROOT / "examples").rglob("*.py"))], ids=lambda file: file.stem)
def test_pages_and_examples_import_the_public_package_alone(file: Path) -> None:
    foreign = FOREIGN.findall(code_of(file))
    assert set(foreign) <= ({"conformance"} if file in OF_THE_HARNESS else set())


def test_the_reference_has_a_section_for_every_name(package: Callable[[str], ModuleType], tmp_path: Path) -> None:
    package("pdoc")
    command = [sys.executable, "-W", "error", str(ROOT / ".ci" / "reference.py"), str(tmp_path)]
    subprocess.run(command, check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    page = (tmp_path / "tallystick.html").read_text("utf-8")
    assert [name for name in NAMES if f'<section id="{name}">' not in page] == []
    assert "Raises ContractFailure" in page
    assert [one for one in FAMILIES if not (tmp_path / "tallystick" / f"{one}.html").is_file()] == []
