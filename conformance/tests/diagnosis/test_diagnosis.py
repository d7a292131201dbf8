"""The diagnosis names the known mistake of a failing backend, or says that none explains it; never a near one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from conformance.contract.family import Mutant
from conformance.tests.mutant_results import DECODE, ORDER, attempted, codebook, committed, quick_cases
from conformance.tests.shipped import shipped_library
from conformance.trial.check import Check, Diagnosis, FailedCall, Kind, Result, Verdict
from conformance.trial.client import attempt
from conformance.trial.diagnosis.diagnosis import MOST_FOR_ONE, MOST_SUSPECTS, MOST_UNLISTED, NOT_EXPLAINED, diagnose
from conformance.trial.mutants.kill_matrix import KillMatrix, MutantRow, Status, believed

Answers = Mapping[str, Result]


class OnlyCases:
    """Asks mutants the frozen cases and nothing else."""

    def checks(self, mutant: Mutant, wanted: Sequence[str]) -> Answers:
        return attempt(mutant.backend, [case for case in quick_cases() if case.id in wanted], codebook()).results

    def alike_near(self, mutant: Mutant, failed: Sequence[Result], left_out: Sequence[str]) -> bool:
        return True

    def fresh(self, mutant: Mutant, operators: Sequence[str]) -> bool:
        return True


def shipped(results: Sequence[Result]) -> Diagnosis | None:
    return diagnose(results, shipped_library().mutants, committed(), OnlyCases())


def results_of(mutant: str, operator: str) -> list[Result]:
    return list(attempted(f"mutant:{mutant}", operator).results.values())


# -- real mutants as backends


@pytest.mark.parametrize(
    ("mutant", "operator"),
    [
        ("seed-words-big-endian", ORDER),
        ("bounded-draw-by-multiplication", ORDER),
        ("counter-carry-lost-at-32", ORDER),
        ("decode-negative-counters", DECODE),
    ],
)
def test_a_mutant_on_trial_is_named(mutant: str, operator: str) -> None:
    diagnosis = shipped(results_of(mutant, operator))
    known = shipped_library().mutants[mutant]
    assert diagnosis == explained((mutant,), known.sentence, tuple(sorted(known.requirements)), known.rulings)


def answered_otherwise(result: Result) -> Result:
    assert result.call is not None
    return replace(result, call=replace(result.call, answer={"result": {"block_order": ["0"]}}))


@pytest.mark.parametrize(
    ("of", "changed"),
    [
        pytest.param(Verdict.FAIL, answered_otherwise, id="another answer"),
        pytest.param(Verdict.PASS, lambda one: replace(one, verdict=Verdict.FAIL, outcome="result"), id="one more"),
        pytest.param(Verdict.FAIL, lambda one: Result(one.check, Verdict.PASS), id="one less"),
    ],
)
def test_one_failing_case_that_is_not_the_mutant_s_is_not_explained(
    of: Verdict, changed: Callable[[Result], Result]
) -> None:
    results = results_of("bounded-draw-by-multiplication", ORDER)
    k = next(k for k, result in enumerate(results) if result.verdict is of)
    results[k] = changed(results[k])
    assert shipped(results) == NOT_EXPLAINED


def test_mutants_that_the_selected_cases_do_not_tell_apart_are_all_named() -> None:
    # Two blocks have two orders: every mistake that turns one into the other looks the same. One leaves a block out.
    chosen = f"{ORDER}::sizes::num_blocks=2,epoch_seed=ascending"
    results = [result for result in results_of("fisher-yates-descending", ORDER) if result.check.id == chosen]
    found = shipped(results)
    assert found is not None
    assert set(found.mutants) == {id_ for id_, row in committed().rows.items() if chosen in row.killed} - {
        "last-block-left-out"
    }
    assert len(found.mutants) > 3
    assert found.sentence.startswith("one of these, which the selected cases do not tell apart: ")
    assert found.sentence.endswith(f"; {len(found.mutants) - 3} more")


# -- made results: what is believed, and what is asked


Ids = tuple[str, ...]


def explained(mutants: Ids, sentence: str, requirements: Ids, rulings: Ids) -> Diagnosis:
    return Diagnosis(True, False, mutants, sentence, requirements, rulings)


def single(mutants: Ids, sentence: str, requirements: Ids, rulings: Ids) -> Diagnosis:
    return Diagnosis(False, True, mutants, sentence, requirements, rulings)


def result(slug: str, verdict: Verdict, answer: Any = None, kind: Kind = Kind.VECTOR, step: str = "") -> Result:
    id_ = f"O::g::{slug}" if kind is Kind.VECTOR else f"O#law::{slug}"
    call = FailedCall("O", {"of": slug}, {"result": answer}) if verdict is Verdict.FAIL else None
    return Result(Check(id_, kind, "O", "g", "why", ("N01",), ()), verdict, "result", step, call=call)


def passing(slug: str) -> Result:
    return result(slug, Verdict.PASS)


def failing(slug: str, answer: Any = "wrong", step: str = "") -> Result:
    return result(slug, Verdict.FAIL, answer, step=step)


def mutants(**sentences: str) -> dict[str, Mutant]:
    position = next(iter(shipped_library().mutants.values())).position
    return {
        id_: Mutant(id_, sentence, (f"N{k}",), (f"NA{k}",), False, "", position)
        for k, (id_, sentence) in enumerate(sentences.items())
    }


def matrix(cases: str, behaviours: Mapping[str, str] | None = None, **killed: str) -> KillMatrix:
    rows = {
        id_: MutantRow(id_, Status.KILLED, frozenset(f"O::g::{c}" for c in slugs), (behaviours or {}).get(id_, id_))
        for id_, slugs in killed.items()
    }
    return KillMatrix(tuple(f"O::g::{c}" for c in cases), rows)


def many(count: int, **others: str) -> tuple[list[str], dict[str, Mutant], KillMatrix]:
    """The names of so many mutants that two cases kill, and all mutants with them."""
    names = [f"x{k}" for k in range(count)]
    return names, mutants(**dict.fromkeys(names, "errs"), **others), matrix("ab", None, **dict.fromkeys(names, "ab"))


class Asked:
    """Answers of made mutants; remembers who was asked what."""

    def __init__(self, **answers: Sequence[Result]) -> None:
        self.answers = {id_: {r.check.id: r for r in results} for id_, results in answers.items()}
        self.log: list[tuple[str, tuple[str, ...]]] = []
        self.left_out: tuple[str, ...] = ()
        self.other: dict[str, str] = {}  # by mutant: where it answers otherwise than the backend

    def alike_near(self, mutant: Mutant, failed: Sequence[Result], left_out: Sequence[str]) -> bool:
        self.left_out = tuple(left_out)
        return self.other.get(mutant.id) != "near"

    def fresh(self, mutant: Mutant, operators: Sequence[str]) -> bool:
        return self.other.get(mutant.id) != "fresh"

    def checks(self, mutant: Mutant, wanted: Sequence[str]) -> Answers:
        self.log.append((mutant.id, tuple(wanted)))
        return {id_: self.answers[mutant.id][id_] for id_ in wanted if id_ in self.answers[mutant.id]}


def test_a_run_without_failures_has_no_diagnosis() -> None:
    assert diagnose([passing("a")], mutants(x="errs"), matrix("a", x="a"), Asked()) is None


def test_cases_that_did_not_run_are_left_out_of_the_comparison() -> None:
    skipped = result("b", Verdict.NOT_APPLICABLE)
    diagnosis = diagnose(
        [failing("a"), skipped], mutants(x="errs"), matrix("ab", x="ab"), Asked(x=[failing("a"), failing("b")])
    )
    assert diagnosis == single(("x",), "errs", ("N0",), ("NA0",))


@pytest.mark.parametrize("outcome", ["crash", "timeout", "protocol_error"])
def test_a_lost_backend_is_never_a_mutant_s_doing(outcome: str) -> None:
    lost = replace(result("b", Verdict.ERROR), outcome=outcome)
    for results in ([lost], [failing("a"), lost]):
        assert diagnose(results, mutants(x="errs"), matrix("ab", x="ab"), Asked(x=[failing("a")])) == NOT_EXPLAINED


def test_one_failing_case_is_too_little_for_a_diagnosis_and_two_are_enough() -> None:
    asked = Asked(x=[failing("a"), failing("b")])
    one = diagnose([failing("a"), passing("c")], mutants(x="errs"), matrix("abc", x="ab"), asked)
    assert one == single(("x",), "errs", ("N0",), ("NA0",))
    two = diagnose([failing("a"), failing("b")], mutants(x="errs"), matrix("abc", x="ab"), asked)
    assert two == explained(("x",), "errs", ("N0",), ("NA0",))


def test_two_checks_that_show_one_call_are_one_failing_case() -> None:
    same = replace(failing("b"), call=failing("a").call)
    asked = Asked(x=[failing("a"), same])
    found = diagnose([failing("a"), same], mutants(x="errs"), matrix("ab", x="ab"), asked)
    assert found == single(("x",), "errs", ("N0",), ("NA0",))


@pytest.mark.parametrize("inputs", [{"handle": {"from": "open.handle"}}, {"root": {"root": "r"}, "name": "a"}])
def test_the_same_call_on_what_two_traces_made_is_two_failing_cases(inputs: Any) -> None:
    results = [replace(failing(slug), call=FailedCall("O", inputs, {"result": "wrong"})) for slug in "ab"]
    found = diagnose(results, mutants(x="errs"), matrix("ab", x="ab"), Asked(x=results))
    assert found == explained(("x",), "errs", ("N0",), ("NA0",))


@pytest.mark.parametrize("where", ["near", "fresh"])
def test_a_mutant_that_answers_anything_else_otherwise_is_not_named(where: str) -> None:
    asked = Asked(x=[failing("a"), failing("b")])
    fuzzed = result("?", Verdict.FAIL, kind=Kind.FUZZ)
    results = [failing("a"), failing("b"), fuzzed]
    found = diagnose(results, mutants(x="errs"), matrix("ab", x="ab"), asked)
    assert found == explained(("x",), "errs", ("N0",), ("NA0",))
    asked.other["x"] = where
    assert diagnose(results, mutants(x="errs"), matrix("ab", x="ab"), asked) == NOT_EXPLAINED


def test_a_mutant_that_a_passing_case_would_kill_does_not_explain_a_broken_law() -> None:
    broken = result("law", Verdict.FAIL, kind=Kind.LAW)
    assert diagnose([passing("a"), broken], mutants(x="errs"), matrix("a", x="a"), Asked()) == NOT_EXPLAINED


def test_laws_alone_can_explain_where_the_mutant_breaks_them_alike() -> None:
    broken = [result(slug, Verdict.FAIL, kind=Kind.LAW) for slug in ("one", "two")]
    asked = Asked(x=broken, y=[result(slug, Verdict.PASS, kind=Kind.LAW) for slug in ("one", "two")])
    found = diagnose(broken, mutants(x="errs", y="strays"), matrix("a", x="a", y="a"), asked)
    assert found == explained(("x",), "errs", ("N0",), ("NA0",))


def test_only_mutants_that_the_matrix_kills_by_the_failing_cases_are_asked() -> None:
    asked = Asked(x=[failing("a")], y=[failing("a"), failing("b")])
    diagnose([failing("a"), passing("b")], mutants(x="errs", y="strays"), matrix("ab", x="a", y="ab"), asked)
    assert {id_ for id_, _ in asked.log} == {"x"}


def test_what_kills_a_mutant_and_was_left_out_of_the_run_is_asked_too() -> None:
    asked = Asked(x=[failing("a"), failing("b")])
    diagnose([failing("a"), failing("b")], mutants(x="errs"), matrix("abcd", x="abd"), asked)
    assert asked.left_out == ("O::g::d",)


def test_a_case_that_changed_since_the_matrix_was_written_is_asked_and_not_believed() -> None:
    # The matrix says that b kills x; b is another case now, which x passes as the backend does.
    known, results = matrix("abc", x="abc"), [failing("a"), passing("b"), failing("c")]
    asked = Asked(x=[failing("a"), passing("b"), failing("c")])
    assert diagnose(results, mutants(x="errs"), known, asked) == NOT_EXPLAINED
    found = diagnose(results, mutants(x="errs"), known, asked, believed=["O::g::a", "O::g::c"])
    assert found == explained(("x",), "errs", ("N0",), ("NA0",))
    asked = Asked(x=[failing("a"), failing("b"), failing("c")])
    assert diagnose(results, mutants(x="errs"), known, asked, believed=["O::g::a", "O::g::c"]) == NOT_EXPLAINED


def test_a_mutant_that_the_matrix_does_not_hold_is_asked_everything() -> None:
    results = [failing("a"), failing("b"), passing("c")]
    asked = Asked(x=[failing("a"), failing("b"), passing("c")], y=[failing("a"), failing("b"), failing("c")])
    found = diagnose(results, mutants(x="errs", y="strays"), matrix("abc"), asked)
    assert found == explained(("x",), "errs", ("N0",), ("NA0",))


def test_too_many_mutants_that_the_matrix_does_not_hold_are_not_asked() -> None:
    known = mutants(**{f"x{k}": "errs" for k in range(MOST_UNLISTED + 1)})
    asked = Asked(**{id_: [failing("a"), failing("b")] for id_ in known})
    assert diagnose([failing("a"), failing("b")], known, matrix("ab"), asked) == NOT_EXPLAINED
    assert asked.log == []


def test_many_suspects_of_one_failing_call_are_not_asked() -> None:
    names, known, rows = many(MOST_FOR_ONE + 1)
    asked = Asked(**{id_: [failing("a"), failing("b")] for id_ in names})
    why = "25 known mistakes fail this case as well; only more failing cases tell them apart"
    assert diagnose([failing("a")], known, rows, asked) == Diagnosis(explained=False, sentence=why)
    assert asked.log == []
    found = diagnose([failing("a"), failing("b")], known, rows, asked)
    assert found is not None
    assert found.explained


def test_a_new_mutant_is_asked_a_single_failing_call_that_has_many_suspects() -> None:
    _, known, rows = many(MOST_FOR_ONE + 1, new="strays")
    found = diagnose([failing("a")], known, rows, Asked(new=[failing("a")]))
    assert found == single(("new",), "strays", ("N25",), ("NA25",))


@pytest.mark.parametrize("kind", [Kind.LAW, Kind.FUZZ])
def test_many_suspects_are_asked_where_no_frozen_case_fails(kind: Kind) -> None:
    # The matrix does not say which of them fail this law or this drawn call.
    names, known, rows = many(MOST_FOR_ONE + 1)
    broken = result("law", Verdict.FAIL, kind=kind)
    asked = Asked(**{id_: [broken if id_ == "x3" else result("law", Verdict.PASS, kind=kind)] for id_ in names})
    asked.other = {id_: "near" for id_ in names if id_ != "x3"}
    assert diagnose([broken], known, rows, asked) == single(("x3",), "errs", ("N3",), ("NA3",))


@pytest.mark.parametrize(("count", "kind"), [(MOST_SUSPECTS + 1, Kind.LAW), (MOST_FOR_ONE + 1, Kind.BEHAVIOUR)])
def test_very_many_suspects_and_many_where_behaviour_alone_fails_are_not_asked(count: int, kind: Kind) -> None:
    _, known, rows = many(count)
    asked = Asked()
    why = f"{count} known mistakes are not ruled out; only more checks tell them apart"
    strange = result("strange", Verdict.FAIL, kind=kind)
    assert diagnose([strange], known, rows, asked) == Diagnosis(explained=False, sentence=why)
    assert asked.log == []


@pytest.mark.parametrize("kinds", [{"fuzz": frozenset({"O"})}, {"laws": frozenset({"law:O#law"})}])
def test_a_mutant_that_no_case_kills_can_explain_what_no_case_shows(kinds: Any) -> None:
    broken = [result(slug, Verdict.FAIL, kind=Kind.LAW) for slug in ("one", "two")]
    known = matrix("a", x="")
    known = KillMatrix(known.cases, {"x": replace(known.rows["x"], **kinds)})
    found = diagnose([*broken, passing("a")], mutants(x="errs"), known, Asked(x=broken))
    assert found == explained(("x",), "errs", ("N0",), ("NA0",))


def test_a_case_is_believed_while_it_is_the_one_that_was_asked_and_nobody_else_answers_part_of_it() -> None:
    case = next(case for case in quick_cases() if case.operator == ORDER)
    known = KillMatrix((case.id,), {}, {case.id: case.digest[:8]})
    assert believed(known, [case], {ORDER}) == {case.id}
    assert believed(known, [case], {DECODE}) == frozenset()
    assert believed(known, [replace(case, digest="0" * 64)], {ORDER}) == frozenset()
    assert believed(replace(known, digests={}), [case]) == {case.id}


def test_a_case_outside_the_matrix_decides_as_well() -> None:
    # The matrix holds quick cases only; z is a slower one, which the mutant passes and the backend fails.
    asked = Asked(x=[failing("a"), passing("z")])
    assert diagnose([failing("a"), failing("z")], mutants(x="errs"), matrix("a", x="a"), asked) == NOT_EXPLAINED


def test_a_failing_case_outside_the_matrix_that_is_too_slow_to_ask_is_left_out() -> None:
    asked = Asked(x=[failing("a")])
    found = diagnose([failing("a"), failing("z")], mutants(x="errs"), matrix("a", x="a"), asked)
    assert found is not None
    assert found.mutants == ("x",)


def test_the_same_answer_in_another_step_is_another_mistake() -> None:
    asked = Asked(x=[failing("a", step="second")])
    assert diagnose([failing("a", step="first")], mutants(x="errs"), matrix("a", x="a"), asked) == NOT_EXPLAINED


def test_several_mistakes_that_fit_are_all_named_and_said_to_be_indistinguishable() -> None:
    asked = Asked(x=[failing("a")], y=[failing("a")])
    found = diagnose([failing("a")], mutants(x="errs", y="strays"), matrix("ab", x="a", y="ab"), asked)
    sentence = "one of these, which the selected cases do not tell apart: errs; strays"
    assert found == single(("x", "y"), sentence, ("N0", "N1"), ("NA0", "NA1"))


def test_one_behaviour_class_has_one_sentence() -> None:
    asked = Asked(x=[failing("a")], y=[failing("a")])
    alike = matrix("a", {"x": "same", "y": "same"}, x="a", y="a")
    found = diagnose([failing("a")], mutants(x="errs", y="strays"), alike, asked)
    assert found == single(("x", "y"), "errs", ("N0", "N1"), ("NA0", "NA1"))


def test_a_control_explains_nothing() -> None:
    control = {"x": replace(mutants(x="errs")["x"], control=True)}
    assert diagnose([failing("a")], control, matrix("a", x="a"), Asked(x=[failing("a")])) == NOT_EXPLAINED
