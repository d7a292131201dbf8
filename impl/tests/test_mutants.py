"""Mutants: one patch in memory, the files untouched, and a clear refusal of what cannot be applied."""

import sys
from pathlib import Path

import pytest

from impl.mutants import UnusableMutant
from impl.mutants.loader import REFERENCE, Mutant, Patch, find_mutant, load_mutant, patched_sources
from impl.reference import backend
from impl.tests.wire_client import ask_json, request, run_server

PERMUTE = "UML_OS.Data.SeededBlockPermute_v1"
ASK = request(1, PERMUTE, {"num_blocks": "8", "epoch_seed": "000102030405060708090a0b0c0d0e0f"})
REFERENCE_ORDER = ["0", "7", "4", "3", "6", "2", "1", "5"]

MUTANTS = """
mutants:
  - id: control
    control: true
  - id: seed-words-big-endian
    requirement: N10
    ruling: NA02
    sentence: reads the first seed word big-endian
    patch: {file: philox.py, find: 'key_0 = int.from_bytes(epoch_seed[0:4], "little")',
            replace: 'key_0 = int.from_bytes(epoch_seed[0:4], "big")'}
  - id: two-mistakes
    requirement: [N10, N11]
    sentence: makes nine rounds and answers backwards
    patches:
      - {file: philox.py, find: "ROUNDS = 10", replace: "ROUNDS = 9"}
      - {file: data/seeded_block_permute.py, find: "block_order=order", replace: "block_order=order[::-1]"}
  - file: philox.py
    mutants:
      - id: same-file-twice
        requirement: N11
        sentence: changes two constants of one file
        patches:
          - {find: "0xD2511F53", replace: "0xD2511F55"}
          - {find: "0xCD9E8D57", replace: "0xCD9E8D59"}
      - id: one-of-a-group
        requirement: N11
        sentence: makes nine rounds
        find: ROUNDS = 10
        replace: ROUNDS = 9
  - id: crashing
    requirement: N11
    sentence: divides by zero
    patch: {file: data/seeded_block_permute.py, find: "draw % (num_blocks - i)", replace: "draw % 0"}
  - id: text-missing
    requirement: N11
    sentence: is out of date
    patch: {file: philox.py, find: "ROUNDS = 11", replace: "ROUNDS = 12"}
  - id: text-twice
    requirement: N11
    sentence: is ambiguous
    patch: {file: philox.py, find: "MULTIPLIER_0", replace: "MULTIPLIER_1"}
  - id: file-missing
    requirement: N11
    sentence: patches no file
    patch: {file: data/no_such.py, find: "a", replace: "b"}
  - id: outside
    requirement: N11
    sentence: reaches outside the reference
    patch: {file: ../serve.py, find: "CHUNK = 1 << 20", replace: "CHUNK = 1"}
  - id: without-patch
    requirement: N11
    sentence: has no patch and does not say that it is a control
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    family = tmp_path / "data"
    family.mkdir()
    (family / "mutants.yaml").write_text(MUTANTS, "utf-8")
    other = tmp_path / "stream"
    other.mkdir()
    (other / "mutants.yaml").write_text("mutants: []\n", "utf-8")
    return tmp_path


def order_of(identity: str, spec: Path) -> list[str]:
    (answer,) = ask_json(f"mutant:{identity}", [ASK], {"TALLY_SPEC_DIR": str(spec)})
    result: list[str] = answer["result"]["block_order"]
    return result


@pytest.mark.parametrize("identity", ["seed-words-big-endian", "two-mistakes", "same-file-twice", "one-of-a-group"])
def test_a_mutant_answers_differently_and_leaves_the_reference_alone(spec: Path, identity: str) -> None:
    before = {file: file.read_bytes() for file in REFERENCE.rglob("*.py")}
    order = order_of(identity, spec)
    assert sorted(order) == sorted(REFERENCE_ORDER)
    assert order != REFERENCE_ORDER
    assert {file: file.read_bytes() for file in REFERENCE.rglob("*.py")} == before
    (answer,) = ask_json("reference", [ASK])
    assert answer["result"]["block_order"] == REFERENCE_ORDER


def test_a_control_answers_like_the_reference_by_its_own_name(spec: Path) -> None:
    assert order_of("control", spec) == REFERENCE_ORDER
    (answer,) = ask_json("mutant:control", [request(0, "tally.hello", {"protocol": 1})], {"TALLY_SPEC_DIR": str(spec)})
    assert len(answer["result"].pop("sources")) == 64
    assert answer["result"] == {**backend.hello(), "name": "mutant:control", "changed": []}


def test_a_crash_of_one_call_is_answered_with_its_cause(spec: Path) -> None:
    (answer,) = ask_json("mutant:crashing", [ASK], {"TALLY_SPEC_DIR": str(spec)})
    assert answer["error"]["code"] == -32603
    assert "ZeroDivisionError" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        ("text-missing", "occurs 0 times"),
        ("text-twice", "occurs 2 times"),
        ("file-missing", "no such file"),
        ("outside", "no such file"),
        ("without-patch", "has no patch"),
        ("no-such-mutant", "0 mutants have the id"),
    ],
)
def test_an_unusable_mutant_is_refused_with_status_3(spec: Path, identity: str, reason: str) -> None:
    status, output, errors = run_server(f"mutant:{identity}", b"", {"TALLY_SPEC_DIR": str(spec)})
    assert (status, output) == (3, b"")
    assert reason in errors
    assert "Traceback" not in errors


def test_an_id_in_two_families_is_refused(spec: Path) -> None:
    (spec / "stream" / "mutants.yaml").write_text("mutants: [{id: control, control: true}]\n", "utf-8")
    with pytest.raises(UnusableMutant, match="2 mutants"):
        find_mutant("control", spec)


def test_patches_of_one_file_build_on_each_other() -> None:
    first = Patch("philox.py", "ROUNDS = 10", "ROUNDS = 7")
    second = Patch("philox.py", "ROUNDS = 7", "ROUNDS = 8")
    (source,) = patched_sources(Mutant("pair", (first, second)), REFERENCE).values()
    assert b"ROUNDS = 8" in source


def test_a_process_that_holds_the_reference_cannot_become_a_mutant() -> None:
    assert "impl.reference" in sys.modules
    with pytest.raises(UnusableMutant, match="loaded already"):
        load_mutant("control")
