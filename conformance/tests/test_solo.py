"""Mutants with one operator declared at a time."""

from __future__ import annotations

from typing import Any

from conformance.contract.family import Mutant
from conformance.contract.source import Position
from conformance.tests.shipped import shipped_library
from conformance.trial.mutants import Solo, solo_problems, solos
from conformance.vectors.corpus import load_corpus

PLACE = Position("mutants.yaml", 1, 1)


def mutant(id_: str, solo: str = "") -> Mutant:
    return Mutant(id_, "data", "halves", (), (), False, "", PLACE, solo)


def told(*found: Solo, **listed: str) -> list[str]:
    return list(solo_problems(found, {one.id: mutant(one.id, listed.get(one.id, "")) for one in found}))


def test_a_mutant_that_no_operator_alone_kills_must_say_why() -> None:
    assert told(Solo("a", "Halve_v1", "case"), Solo("b"), b="needs reader and writer") == []
    assert told(Solo("b"))[0].startswith("b survives wherever one operator is declared alone")


def test_a_reason_that_is_no_longer_true_is_red() -> None:
    (said,) = told(Solo("a", "Halve_v1", "case"), a="needs reader and writer")
    assert "take `solo` off it" in said


def test_a_mutant_that_cannot_be_asked_is_red() -> None:
    assert told(Solo("a", refusal="it exited")) == ["a could not be asked: it exited"]


def test_a_reader_s_mistake_is_noticed_though_the_writer_is_the_stand_in() -> None:
    library = shipped_library()
    corpus = load_corpus(library.suite)
    operator = "UML_OS.Checkpoint.RecoverRun_v1"
    cases: Any = [case for case in corpus.cases[operator] if case.group == "altered-payload"]
    (found,) = solos(library, cases, None, ["recovery-under-any-key"])
    assert found.operator == operator
    assert not found.refusal
    (unnoticed,) = solos(library, [], None, ["recovery-under-any-key"])
    assert unnoticed == Solo("recovery-under-any-key")
