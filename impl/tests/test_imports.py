"""What the backends may import."""

import ast
import sys
from pathlib import Path

import pytest

IMPL = Path(__file__).parents[1]
# YAML is how the families declare their mutants; numpy is what the fast backend is built on.
THIRD_PARTY = {"mutants": {"yaml"}, "reference": {"cryptography"}, "vectorized": {"numpy"}}
SOURCES = sorted(file for file in IMPL.rglob("*.py") if "tests" not in file.parts)


def imported_names(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(IMPL)))
def test_a_backend_imports_the_standard_library_and_impl_only(file: Path) -> None:
    room = file.relative_to(IMPL).parts[0]
    allowed = sys.stdlib_module_names | {"impl"} | THIRD_PARTY.get(room, set())
    assert {name.split(".")[0] for name in imported_names(file)} <= allowed


@pytest.mark.parametrize("file", sorted((IMPL / "reference").rglob("*.py")), ids=lambda file: file.name)
def test_the_reference_knows_no_other_backend(file: Path) -> None:
    inside = {name for name in imported_names(file) if name.startswith("impl.")}
    allowed = ("impl.reference", "impl.types", "impl.failure", "impl.backend", "impl.deferred")
    assert all(name.startswith(allowed) for name in inside)
