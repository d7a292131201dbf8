"""What a law or a record says of directories is the same in every run."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.laws.checkpoint import READ
from conformance.backend.driver import Call
from conformance.backend.outcome import ObservedResult
from conformance.cli.console import Complaint
from conformance.cli.interview import pair_of
from conformance.codec.codebook import codebook_of
from conformance.tests.shipped import shipped_library
from conformance.trial import law
from conformance.trial.law import LawBroken, law_root

RECOVER = "UML_OS.Checkpoint.RecoverRun_v1"


def a_broken_relation() -> None:
    with law_root() as root:
        path = str(root)
        call = Call(READ, {"root": path, "name": "c", "stage": "eval", "expected": {"text": f"{path}/c"}})
        raise LawBroken(f"nothing is below {path}", call)


def test_a_relation_that_breaks_names_its_roots_and_no_path() -> None:
    with pytest.raises(LawBroken) as broken:
        a_broken_relation()
    assert broken.value.message == "nothing is below {root:a}"
    assert broken.value.call is not None
    assert broken.value.call.inputs == {
        "root": {"root": "a"}, "name": "c", "stage": "eval", "expected": {"text": "{root:a}/c"}
    }  # fmt: skip


def test_a_relation_may_break_without_a_call() -> None:
    with pytest.raises(LawBroken, match="no relation") as broken, law_root():
        raise LawBroken("no relation")
    assert broken.value.call is None


def test_a_recorded_call_is_asked_in_a_fresh_root() -> None:
    with pair_of(codebook_of(shipped_library()), None, 30.0) as pair:
        observed = pair.reference.answer(RECOVER, {"root": {"root": "a"}, "public_key": "00" * 32})
    assert observed == ObservedResult({"state": "empty"})


def test_a_recorded_call_that_hangs_on_another_is_not_asked_alone() -> None:
    with (
        pair_of(codebook_of(shipped_library()), None, 30.0) as pair,
        pytest.raises(Complaint, match="needs the answer of the step 'open'"),
    ):
        pair.reference.answer("Stream.Position", {"handle": {"from": "open.handle"}})


def test_every_law_that_needs_directories_takes_them_from_one_place() -> None:
    laws = Path(law.__file__).parent
    assert [file.name for file in sorted(laws.glob("*.py")) if "Roots()" in file.read_text("utf-8")] == ["law.py"]
