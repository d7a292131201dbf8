"""`tally mutants` with its options, on the cases of one small operator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from conformance.cli import mutants as command
from conformance.cli.main import status_of
from conformance.contract.family import Mutant
from conformance.contract.library import Library
from conformance.contract.yaml.source import Position
from conformance.tests.mutant_results import DECODE, cases_of
from conformance.tests.shipped import shipped_library
from conformance.trial.client import Attempt, attempt
from conformance.trial.committed_reports import DISTORTIONS_FILE
from conformance.trial.mutants import run as trial
from conformance.trial.mutants.kill_matrix import KillMatrix, MutantRow, Status
from conformance.trial.mutants.run import SoloResult, solo_problems, solos
from conformance.trial.options import NoProgress
from conformance.vectors.case import Case
from conformance.vectors.frozen.corpus import Corpus, load_corpus

TAGS = "decode-tags"
VECTORS = ("--by", "vectors")
Capture = pytest.CaptureFixture[str]


def few(cases: Sequence[Case]) -> Corpus:
    return replace(load_corpus(shipped_library().suite), cases={DECODE: tuple(cases)})


def speaking() -> list[Case]:
    """Cases that the mutant answers wrongly, and some others."""
    cases = list(cases_of(DECODE))
    return [case for case in cases if "not-canonical" in case.id or case in cases[:3]]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[KillMatrix]:
    """What `--write` would write; the commands see a few cases of one operator."""
    found: list[KillMatrix] = []
    seen = few(speaking())
    for module in (command,):
        monkeypatch.setattr(module, "specification", shipped_library)
        monkeypatch.setattr(module, "frozen_vectors", lambda library, least=0: seen)
    monkeypatch.setattr(command, "read_matrix", lambda file: KillMatrix((), {}))

    def keep(library: Library, matrix: KillMatrix, floor: Any) -> None:
        found.append(matrix)

    monkeypatch.setattr(command, "_write", keep)
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The cases that mutants were asked."""
    found: list[str] = []

    def noted(backend: str, cases: Sequence[Case], *arguments: Any, **options: Any) -> Attempt:
        found.extend(case.id for case in cases)
        return attempt(backend, cases, *arguments, **options)

    monkeypatch.setattr(trial, "attempt", noted)
    # What a child process was asked is not seen here.
    monkeypatch.setattr(command, "Forked", ThreadPoolExecutor)
    monkeypatch.setattr(command, "in_child_process", lambda work, progress: work(progress))
    return found


@pytest.fixture
def tried(written: list[KillMatrix], monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The kinds that a command asked for; the vectors alone are run, because the others take seconds."""
    found: list[Sequence[str]] = []

    def noted(kinds: Sequence[str], *others: Any) -> trial.MutantOptions:
        found.append(tuple(kinds))
        return trial.MutantOptions(VECTORS[1:], *others)

    monkeypatch.setattr(command, "MutantOptions", noted)
    return found


def test_ids_alone_are_tried_on_the_vectors(tried: list[Sequence[str]]) -> None:
    assert status_of(["mutants", TAGS]) == 0
    assert tried == [("vectors",)]


def test_a_row_that_is_written_has_every_kind(tried: list[Sequence[str]], written: list[KillMatrix]) -> None:
    assert status_of(["mutants", TAGS, "--write"]) == 0
    assert tried == [("vectors", "laws", "fuzz", "crash")]
    assert TAGS in written[0].rows


def test_by_tries_what_it_names_beside_the_vectors_and_nothing_else(
    written: list[KillMatrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = shipped_library()
    of_cursors = {name: library.contracts[name] for name in library.contracts if name.endswith("Cursors_v1")}
    monkeypatch.setattr(command, "specification", lambda: replace(library, contracts=of_cursors))
    assert status_of(["mutants", TAGS, "--by", "laws", "--write"]) == 0
    row = written[0].rows[TAGS]
    assert row.killed
    assert row.laws is not None
    assert (row.fuzz, row.crash) == (None, None)


def test_by_knows_four_kinds(capsys: Capture) -> None:
    assert status_of(["mutants", TAGS, "--by", "luck"]) == 2
    assert "'luck' is not one of 'vectors', 'laws', 'fuzz', 'crash'" in capsys.readouterr().err


def test_changed_asks_only_what_killed_a_mutant_and_what_is_new(
    written: list[KillMatrix], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert status_of(["mutants", TAGS, *VECTORS, "--write"]) == 0
    first, everything = written.pop(), sorted(asked)
    killed = first.rows[TAGS].killed
    assert 0 < len(killed) < len(everything)
    new = next(id_ for id_ in everything if id_ not in killed)
    known = replace(first, digests={**first.digests, new: "of-another"})
    monkeypatch.setattr(command, "read_matrix", lambda file: known)
    asked.clear()
    assert status_of(["mutants", TAGS, *VECTORS, "--changed", "--write"]) == 0
    assert sorted(asked) == sorted({*killed, new})
    assert written[0].rows[TAGS].killed == killed
    # A mutant whose source is the same is asked nothing if no case in its reach changed.
    monkeypatch.setattr(command, "read_matrix", lambda file: first)
    asked.clear()
    assert status_of(["mutants", TAGS, *VECTORS, "--changed", "--write"]) == 0
    assert asked == []
    assert written[1].rows[TAGS] == first.rows[TAGS]
    # If a case that killed it is gone, the others are asked again.
    gone = replace(first, rows={TAGS: replace(first.rows[TAGS], killed=killed | {"gone"})})
    monkeypatch.setattr(command, "read_matrix", lambda file: gone)
    assert status_of(["mutants", TAGS, *VECTORS, "--changed", "--write"]) == 0
    assert sorted(asked) == sorted(killed)
    # A mutant whose source is another one is asked everything.
    other = replace(first, rows={TAGS: replace(first.rows[TAGS], sources="another")})
    monkeypatch.setattr(command, "read_matrix", lambda file: other)
    asked.clear()
    assert status_of(["mutants", TAGS, *VECTORS, "--changed", "--write"]) == 0
    assert sorted(asked) == everything


@pytest.mark.usefixtures("asked")
def test_an_interrupted_run_keeps_the_rows_that_it_has(
    written: list[KillMatrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting(NoProgress):
        def step(self, count: int = 1) -> None:
            raise KeyboardInterrupt

    texts: list[str] = []
    old = MutantRow("seed-words-big-endian", Status.KILLED, frozenset(), "of an earlier run", sources="another")
    monkeypatch.setattr(command, "read_matrix", lambda file: KillMatrix((), {old.id: old}))
    monkeypatch.setattr(command, "write_whole", lambda file, text: texts.append(text))
    monkeypatch.setattr(command, "shown_progress", lambda name: nullcontext(Interrupting()))
    monkeypatch.setattr(trial, "SAVED", 1)
    assert status_of(["mutants", TAGS, old.id, *VECTORS, "--changed", "--write"]) != 0
    assert written == []
    rows = json.loads(texts[0])["mutants"]
    assert rows[TAGS]["status"] == "killed"
    assert rows[old.id]["sources"] == "another"


@pytest.mark.usefixtures("written")
def test_solo_names_the_operator_that_is_enough(capsys: Capture) -> None:
    assert status_of(["mutants", "--solo", TAGS]) == 0
    page = capsys.readouterr().out
    assert f"{TAGS}  dies with {DECODE} alone" in page
    assert "1 mutant: 1 killed with one operator declared alone, 0 with a reason why not" in page


@pytest.mark.usefixtures("written")
def test_a_mutant_that_survives_alone_is_red(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    calm = [case for case in cases_of(DECODE) if "not-canonical" not in case.id][:2]
    monkeypatch.setattr(command, "frozen_vectors", lambda library, least=0: few(calm))
    assert status_of(["mutants", "--solo", TAGS]) == 1
    assert f"red: {TAGS} survives wherever one operator is declared alone" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--write", "--changed", "--by=laws"])
def test_solo_goes_with_no_other_option(option: str, capsys: Capture) -> None:
    assert status_of(["mutants", "--solo", option]) == 2
    assert "--solo runs the vectors and writes nothing" in capsys.readouterr().err


@pytest.mark.usefixtures("written")
def test_wire_is_red_where_fewer_leaves_speak_than_are_committed(capsys: Capture) -> None:
    assert status_of(["mutants", "--wire", DECODE]) == 1
    assert "hint: run `tally mutants --wire --write`" in capsys.readouterr().out


def test_wire_agrees_with_what_is_committed_for_an_operator(
    written: list[KillMatrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "frozen_vectors", lambda library, least=0: load_corpus(library.suite))
    assert status_of(["mutants", "--wire", DECODE]) == 0
    assert written == []


def test_wire_writes_the_part_of_an_operator_and_keeps_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(command, "write_whole", lambda file, text: texts.append(text))
    assert status_of(["mutants", "--wire", DECODE, "--write"]) == 0
    assert texts == [(shipped_library().suite.reports / DISTORTIONS_FILE).read_text("utf-8")]


@pytest.mark.usefixtures("written")
def test_wire_takes_operators_and_nothing_else(capsys: Capture) -> None:
    assert status_of(["mutants", "--wire", TAGS]) == 2
    assert "no contract has this name" in capsys.readouterr().err


def test_a_crash_that_was_asked_for_and_not_made_is_told() -> None:
    matrix = KillMatrix((), {"m": MutantRow("m", Status.SURVIVED)})
    assert "    crash: not tried" in "\n".join(command._matrix_lines(matrix, ("vectors", "crash"), verbose=True))
    assert "not tried" not in "\n".join(command._matrix_lines(matrix, ("vectors", "laws"), verbose=True))


# -- one operator alone


PLACE = Position("mutants.yaml", 1, 1)


def mutant(id_: str, solo: str = "") -> Mutant:
    return Mutant(id_, "halves", (), (), False, "", PLACE, solo)


def told(*found: SoloResult, **listed: str) -> list[str]:
    return list(solo_problems(found, {one.id: mutant(one.id, listed.get(one.id, "")) for one in found}))


def test_a_mutant_that_no_operator_alone_kills_must_say_why() -> None:
    assert told(SoloResult("a", "Halve_v1", "case"), SoloResult("b"), b="needs reader and writer") == []
    assert told(SoloResult("b"))[0].startswith("b survives wherever one operator is declared alone")


def test_a_reason_that_is_no_longer_true_is_red() -> None:
    (said,) = told(SoloResult("a", "Halve_v1", "case"), a="needs reader and writer")
    assert "take `solo` off it" in said


def test_a_mutant_that_cannot_be_asked_is_red() -> None:
    assert told(SoloResult("a", refusal="it exited")) == ["a could not be asked: it exited"]


def test_a_reader_s_mistake_is_noticed_though_the_writer_is_the_stand_in() -> None:
    library = shipped_library()
    corpus = load_corpus(library.suite)
    operator = "UML_OS.Checkpoint.RecoverRun_v1"
    cases: Any = [case for case in corpus.cases[operator] if case.group == "altered-payload"]
    (found,) = solos(library, cases, None, ["recovery-under-any-key"])
    assert found.operator == operator
    assert not found.refusal
    (unnoticed,) = solos(library, [], None, ["recovery-under-any-key"])
    assert unnoticed == SoloResult("recovery-under-any-key")
