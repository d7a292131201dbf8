"""The bundled tables name callables that exist, and import no more than what is asked for."""

import subprocess
import sys

import pytest

from impl.entries import Entries
from impl.mutants import UnusableMutant
from impl.mutants.catalogue import Mutant, Patch
from impl.mutants.loader import REFERENCE, patched_sources
from impl.reference import backend
from impl.reference.operators import EXPLANATIONS, OPERATORS


@pytest.mark.parametrize("table", [OPERATORS, EXPLANATIONS, *backend.machines.values()])
def test_every_place_of_the_reference_holds_a_callable(table: Entries) -> None:
    assert all(callable(table[name]) for name in table)


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        Entries("impl.reference", {})["UML_OS.Data.NextBatch_v2"]


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


def test_a_patch_that_leaves_no_python_is_refused_before_anything_is_served() -> None:
    file = next(path for path in REFERENCE.rglob("emit.py"))
    patch = Patch(str(file.relative_to(REFERENCE)), "def emit(", "def def emit(")
    mutant = Mutant("broken", (patch,))
    with pytest.raises(UnusableMutant, match="no Python"):
        patched_sources(mutant, REFERENCE)
