"""The bundled tables name callables that exist, and import no more than what is asked for."""

import subprocess
import sys

import pytest

from impl.deferred import Entries, Machine
from impl.mutants.loader import REFERENCE
from impl.mutants.reach import reached
from impl.reference.operators import EXPLANATIONS, MACHINES, OPERATORS


@pytest.mark.parametrize("table", [OPERATORS, EXPLANATIONS, *MACHINES.values()])
def test_every_place_of_the_reference_holds_a_callable(table: Entries | Machine) -> None:
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
