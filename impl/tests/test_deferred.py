"""The bundled tables name callables that exist, and a backend imports no more than it may and is asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from impl.backend import Entries, Machine
from impl.mutants.footprint import reached
from impl.mutants.loader import REFERENCE
from impl.reference.operators import EXPLANATIONS, MACHINES, OPERATORS

IMPL = Path(__file__).parents[1]
# YAML is how the families declare their mutants; numpy is what the fast backend is built on.
THIRD_PARTY = {
    "mutants": {"yaml"},
    "reference": {"cryptography"},
    "vectorized": {"numpy"},
    "library": {"click", "numpy", "opentelemetry", "pyarrow", "torch", "yaml"},  # no backend: what `tallystick` offers
}
SHARED = ("impl.types", "impl.failure", "impl.backend")
# No backend knows another one.
OWN = {
    "reference": ("impl.reference", *SHARED),
    "vectorized": ("impl.vectorized", "impl.arguments", *SHARED),
}
METHODS = {"Stream.Open": "open", "Stream.Close": "close"}


@pytest.mark.parametrize("table", [OPERATORS, EXPLANATIONS, *MACHINES.values()])
def test_every_place_of_the_reference_holds_a_callable(table: Entries | Machine) -> None:
    assert all(callable(table[name]) for name in table)


def test_a_call_imports_its_own_family_only() -> None:
    program = """if True:
        import sys
        from impl.reference import backend
        backend.call("UML_OS.Data.EncodeCursors_v1", {"cursors": {}})
        print(sorted({name.split(".")[2] for name in sys.modules if name.startswith("impl.reference.")}))
    """
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "data" in found.stdout
    assert "checkpoint" not in found.stdout
    assert "batch" not in found.stdout


def test_a_machine_is_reached_through_its_module() -> None:
    modules = {name: table.module(name) for table in MACHINES.values() for name in table}
    found = reached(modules, [(REFERENCE / "stream" / "machine.py").resolve()], REFERENCE)
    assert found == sorted(MACHINES["Stream"])


def test_a_shared_module_reaches_every_family_that_imports_it() -> None:
    modules = {name: OPERATORS.module(name) for name in OPERATORS}
    found = reached(modules, [(REFERENCE / "canonical_cbor.py").resolve()], REFERENCE)
    assert {"UML_OS.Data.NextBatch_v2", "UML_OS.Checkpoint.Restore_v1", "UML_OS.Error.Emit_v1"} <= set(found)
    assert "Batch.Permutations" not in found


def test_a_mutant_says_which_operators_it_changes() -> None:
    program = """if True:
        from impl.mutants.loader import load_mutant
        print(load_mutant("philox-nine-rounds").hello()["changed"])
    """
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "UML_OS.Data.NextBatch_v2" in found.stdout
    assert "UML_OS.Checkpoint" not in found.stdout


def test_the_methods_share_one_state_that_is_made_when_it_is_first_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "impl.reference.stream.machine", raising=False)
    machine = Machine("impl.reference.stream.machine:StreamMachine", METHODS)
    assert list(machine) == list(METHODS)
    assert "Stream.Open" in machine
    assert "Stream.Fly" not in machine
    assert "impl.reference.stream.machine" not in sys.modules
    assert machine["Stream.Open"].__self__ is machine["Stream.Close"].__self__  # type: ignore[attr-defined]
    other = Machine("impl.reference.stream.machine:StreamMachine", METHODS)
    assert machine["Stream.Open"].__self__ is not other["Stream.Open"].__self__  # type: ignore[attr-defined]


def test_an_unknown_method_and_a_wrong_place_are_said() -> None:
    with pytest.raises(KeyError):
        Entries("impl.reference", {})["UML_OS.Data.NextBatch_v2"]
    with pytest.raises(KeyError):
        Machine("impl.reference.stream.machine:StreamMachine", METHODS)["Stream.Fly"]
    with pytest.raises(AttributeError):
        Machine("impl.reference.stream.machine:Nobody", METHODS)["Stream.Open"]


def imported_names(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_a_backend_imports_the_standard_library_and_impl_only() -> None:
    for file in (file for file in sorted(IMPL.rglob("*.py")) if "tests" not in file.relative_to(IMPL).parts):
        names, room = imported_names(file), file.relative_to(IMPL).parts[0]
        allowed = sys.stdlib_module_names | {"impl"} | THIRD_PARTY.get(room, set())
        assert {name.split(".")[0] for name in names} <= allowed, file
        if room in OWN:
            assert all(name.startswith(OWN[room]) for name in names if name.startswith("impl.")), file
