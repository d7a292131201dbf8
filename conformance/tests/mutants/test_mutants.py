"""The corpus notices every deliberate mistake, and the kill matrix says so truthfully."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from conformance.contract.family import Mutant
from conformance.contract.library import Library
from conformance.tests.mutant_results import DECODE, EMIT, ORDER, cases_of, codebook, committed, quick_cases
from conformance.tests.shipped import shipped_library
from conformance.tests.sliced_house import LONG
from conformance.trial.client import attempt
from conformance.trial.committed_reports import MATRIX_FILE, UnreadableReport
from conformance.trial.mutants.kill_matrix import (
    KillMatrix,
    MutantRow,
    Status,
    matrix_changes,
    matrix_problems,
    matrix_text,
    read_matrix,
    undeclared_classes,
)
from conformance.trial.mutants.run import CoveredFunctions, MutantScope, footprints, measure_matrix, reach_of
from conformance.vectors.case import Case

WRONG = "draw-before-increment"
SMALL = ("control", WRONG)


def library_with(*mutants: Mutant) -> Library:
    return replace(shipped_library(), mutants={mutant.id: mutant for mutant in mutants})


def row(id_: str, *killed: str, behaviour: str = "", status: Status = Status.KILLED, reason: str = "") -> MutantRow:
    return MutantRow(id_, status, frozenset(f"O::g::{slug}" for slug in killed), behaviour or id_, reason)


def matrix_of(*rows: MutantRow, cases: str = "abc") -> KillMatrix:
    return KillMatrix(tuple(f"O::g::{slug}" for slug in cases), {one.id: one for one in rows})


def mutant(id_: str, equivalent_to: str = "", control: bool = False) -> Mutant:
    position = next(iter(shipped_library().mutants.values())).position
    return Mutant(id_, f"makes the mistake {id_}", ("N01",), (), control, equivalent_to, position)


# -- what is declared


def test_every_mutant_names_a_requirement_and_its_rulings_exist() -> None:
    library = shipped_library()
    for one in library.mutants.values():
        assert one.control or one.requirements, one.id
        assert all(library.requirement(id_) for id_ in one.requirements), one.id
        assert set(one.rulings) <= set(library.rulings), one.id


def test_a_sentence_continues_the_words_the_backend() -> None:
    for one in shipped_library().mutants.values():
        assert one.sentence[0].islower(), one.id
        assert one.sentence[-1] not in ".!", one.id


# -- what is committed


def test_the_committed_matrix_is_of_today_s_mutants_and_cases() -> None:
    """Whether old rows were asked new cases is told by `tally mutants`, which runs every night: it takes an hour."""
    stale = "run `tally mutants ID --write` for what is new and review the difference"
    assert set(committed().rows) == set(shipped_library().mutants), stale
    assert set(committed().cases) == {case.id for case in quick_cases()}, stale
    assert all(row.sources for row in committed().rows.values()), stale


def test_nothing_in_the_committed_matrix_is_red() -> None:
    mutants = shipped_library().mutants
    assert list(matrix_problems(committed(), mutants)) == []
    assert undeclared_classes(committed(), mutants) == ()


def test_cases_of_every_operator_kill_mutants() -> None:
    killing = {id_.split("::")[0] for row in committed().rows.values() for id_ in row.killed}
    assert killing == {case.operator for case in quick_cases()}


def test_the_small_set_of_cases_kills_what_all_cases_kill() -> None:
    chosen = set(committed().killing_set)
    assert len(chosen) < len(committed().cases) / 8
    assert all(row.killed & chosen for row in committed().rows.values() if row.killed)


# -- what a run finds


def quick_to_ask() -> list[Case]:
    """The cases of the operator that is asked most, without the groups that cost seconds."""
    return [case for case in cases_of(ORDER) if case.group not in LONG]


def test_a_run_finds_what_is_committed() -> None:
    """One mutant, and the control, which must pass every case, on its operator's cases and a sample of the others'."""
    asked = (*quick_to_ask(), *(case for case in quick_cases()[::120] if case.operator != ORDER))
    fresh = measure_matrix(shipped_library(), asked, SMALL)
    known = {case.id for case in asked} & set(committed().digests)  # the cases that every row was asked
    assert len(known) > len(asked) * 0.9  # the newest cases may not be asked of every row yet
    for id_ in SMALL:
        assert fresh.rows[id_].killed & known == committed().rows[id_].killed & known
    assert fresh.rows[WRONG].killed
    assert fresh.rows["control"].killed == frozenset()


@pytest.mark.parametrize("id_", ["philox-nine-rounds", "decode-tags", "epoch-seed-nested"])
def test_a_mutant_answers_rightly_whatever_it_says_its_mistake_cannot_reach(id_: str) -> None:
    backend, book = shipped_library().mutants[id_].backend, codebook()
    reached = {case.id for case in reach_of(backend, book).of(quick_cases())}
    beyond = [case for case in quick_cases() if case.id not in reached]
    assert beyond
    assert reached
    assert attempt(backend, beyond[::96], book).wrong == frozenset()


def test_the_matrix_does_not_depend_on_workers_or_order() -> None:
    cases = quick_to_ask()[::4]
    texts = set()
    for jobs, order in ((1, cases), (3, tuple(reversed(cases)))):
        with ThreadPoolExecutor(jobs) as executor:
            texts.add(matrix_text(measure_matrix(shipped_library(), order, SMALL, executor)))
    assert len(texts) == 1
    assert WRONG in texts.pop()


def test_a_mutant_that_no_case_notices_survives() -> None:
    without = [case for case in cases_of(DECODE) if "tagged" not in case.id]
    fresh = measure_matrix(shipped_library(), without, ["decode-tags"])
    assert fresh.rows["decode-tags"].status is Status.SURVIVED
    (sentence,) = matrix_problems(fresh, shipped_library().mutants)
    assert sentence == "decode-tags survived: no frozen case notices that it skips CBOR tags instead of refusing them"


def test_only_quick_cases_decide() -> None:
    slow = [replace(case, profile="standard") for case in cases_of(DECODE)]
    fresh = measure_matrix(shipped_library(), slow, ["decode-tags"])
    assert fresh.cases == ()
    assert "there is no case to kill a mutant with" in list(matrix_problems(fresh, shipped_library().mutants))


@pytest.mark.parametrize(
    ("patch", "status", "reason"),
    [
        ({"file": "philox.py", "find": "ROUNDS = 11", "replace": "ROUNDS = 9"}, Status.NOT_APPLIED, "occurs 0 times"),
        ({"file": "philox.py", "find": "ROUNDS = 10", "replace": "ROUNDS = ("}, Status.DOES_NOT_RUN, "SyntaxError"),
    ],
)
def test_a_patch_that_does_not_fit_is_told_from_a_reference_that_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patch: dict[str, str], status: Status, reason: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mutants.yaml").write_text(
        yaml.safe_dump({"mutants": [{"id": "stale", "sentence": "makes a mistake", "patch": patch}]})
    )
    monkeypatch.setenv("TALLY_SPEC_DIR", str(tmp_path))
    library = library_with(mutant("stale"))
    fresh = measure_matrix(library, cases_of(EMIT)[:2])
    assert fresh.rows["stale"].status is status
    (sentence,) = matrix_problems(fresh, library.mutants)
    assert reason in sentence


# -- what is red


def test_a_control_that_dies_is_red() -> None:
    dead = row("control", "b", "a", status=Status.CONTROL_DEAD)
    assert list(matrix_problems(matrix_of(dead), {"control": mutant("control", control=True)})) == [
        "control is a control, yet O::g::a fails on it"
    ]


def test_a_declared_class_whose_members_differ_is_red() -> None:
    mutants = {"x": mutant("x"), "y": mutant("y", "x"), "z": mutant("z", "x")}
    apart = matrix_of(row("x", "a", "b"), row("y", "a"), row("z", "a", "b", behaviour="other"))
    assert list(matrix_problems(apart, mutants)) == [
        "y is declared equivalent to x, but O::g::b tells them apart",
        "z is declared equivalent to x, but a case that kills both, with other answers tells them apart",
    ]


def test_a_class_declared_with_nobody_is_red() -> None:
    mutants = {"x": mutant("x", "nobody")}
    assert list(matrix_problems(matrix_of(row("x", "a")), mutants)) == [
        "x is declared equivalent to nobody, which is no mutant"
    ]


def test_a_run_of_some_mutants_does_not_miss_the_others_of_a_class() -> None:
    mutants = {"x": mutant("x"), "y": mutant("y", "x")}
    assert list(matrix_problems(matrix_of(row("y", "a")), mutants)) == []
    assert list(matrix_problems(matrix_of(row("x", "a")), mutants)) == []


def test_mutants_that_answer_alike_are_found_unless_declared() -> None:
    alike = matrix_of(row("x", "a", behaviour="same"), row("y", "a", behaviour="same"), row("z", "a"))
    assert undeclared_classes(alike, {id_: mutant(id_) for id_ in "xyz"}) == (("x", "y"),)
    assert undeclared_classes(alike, {"x": mutant("x"), "y": mutant("y", "x"), "z": mutant("z")}) == ()


# -- the report


def test_the_text_of_a_matrix_holds_all_of_it(tmp_path: Path) -> None:
    matrix = matrix_of(
        row("all", *"abcdefg"),
        row("some", *"acdg"),
        row("none", status=Status.SURVIVED),
        row("stale", status=Status.NOT_APPLIED, reason="the text occurs 0 times"),
        cases="abcdefg",
    )
    rows = {id_: replace(one, behaviour=one.behaviour if one.killed else "") for id_, one in matrix.rows.items()}
    file, text = tmp_path / MATRIX_FILE, matrix_text(replace(matrix, rows=rows))
    file.write_text(text)
    assert read_matrix(file) == KillMatrix(matrix.cases, dict(sorted(rows.items())))
    assert '"O::g": "*"' in text
    assert '"O::g": "0,2-3,6"' in text


def test_the_committed_text_is_what_is_written() -> None:
    file = shipped_library().suite.reports / "kill-matrix.json"
    assert matrix_text(committed()) == file.read_text("utf-8")


def test_a_missing_or_foreign_matrix_is_named_with_the_next_step(tmp_path: Path) -> None:
    file = tmp_path / "kill-matrix.json"
    for text in (None, "{", '{"format": 1}', '{"format": 2, "cases": {"O::g": {}}, "mutants": {"x": {}}}'):
        if text is not None:
            file.write_text(text)
        with pytest.raises(UnreadableReport, match=r"kill-matrix\.json: .*\n    hint: run `tally mutants --write`"):
            read_matrix(file)


def test_every_change_of_the_matrix_is_named() -> None:
    old = matrix_of(row("gone", "a"), row("less", "a", "b"), row("other", "a"), row("dead", "a"), row("same", "a"))
    new = matrix_of(
        row("new", "a"),
        row("less", "a"),
        row("other", "a", behaviour="otherwise"),
        row("dead", status=Status.SURVIVED),
        row("same", "a"),
        cases="abcd",
    )
    assert list(matrix_changes(old, new)) == [
        "dead was killed, is survived",
        "gone is gone",
        "less was killed by 2 cases, is killed by 1",
        "new is new",
        "other is killed by the same cases but answers otherwise",
        "1 case came, 0 went",
    ]
    assert list(matrix_changes(old, old)) == []


def test_the_killing_set_is_small_and_breaks_ties_by_id() -> None:
    matrix = matrix_of(row("x", "a", "b"), row("y", "b", "c"), row("z", "c", "a"), row("w", "d"), cases="abcd")
    assert matrix.killing_set == ("O::g::a", "O::g::b", "O::g::d")


# -- the cases that a mutant is asked


def test_a_case_without_a_footprint_and_a_function_that_runs_once_count_as_run() -> None:
    taken = CoveredFunctions({"a": frozenset({"f:1"})}, frozenset({"g:1"}))
    assert taken.runs("a", frozenset({"f:1"}))
    assert not taken.runs("a", frozenset({"h:1"}))
    assert taken.runs("a", frozenset({"g:1"}))
    assert taken.runs("b", frozenset({"h:1"}))


def test_a_mutant_that_does_not_say_what_it_changes_is_asked_every_case_in_reach() -> None:
    cases = cases_of(EMIT)
    assert MutantScope(frozenset({EMIT}), functions=None).of(cases, CoveredFunctions({}, frozenset())) == list(cases)


@pytest.mark.parametrize("id_", ["emit-boolean-as-number", "emit-negative-number"])
def test_the_cases_that_are_left_out_are_answered_rightly(id_: str) -> None:
    book, cases = codebook(), cases_of(EMIT)
    reach = reach_of(shipped_library().mutants[id_].backend, book)
    near = reach.of(cases)
    asked = {case.id for case in reach.of(cases, footprints(cases, book))}
    assert reach.functions
    wrong = attempt(shipped_library().mutants[id_].backend, near, book).wrong
    assert wrong
    assert wrong <= asked
    assert len(asked) < len(near) / 2
