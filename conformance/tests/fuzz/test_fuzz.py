"""Differential fuzzing: what it asks, what it counts, what it finds, and that it finds the same thing again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from conformance.backend.driver import Call
from conformance.backend.outcome import Observed, ObservedFailure, ObservedResult
from conformance.codec.codebook import Codebook, codebook_of
from conformance.tests.fuzz.tasks import task_of
from conformance.tests.halving import CASES, client, codebook
from conformance.tests.shipped import shipped_library
from conformance.tests.small_corpus import OPERATOR, case, halved, step
from conformance.trial.check import Kind, Result, Verdict
from conformance.trial.fuzz import fuzz_operator
from conformance.trial.fuzz.operator import DEFAULT_EXAMPLES, LEAST_SUCCEEDED, SEEN_ONCE, FuzzCounts
from conformance.trial.fuzz.seed import ACCEPTED, seeds_of
from conformance.trial.known_answers import KnownAnswers
from conformance.trial.options import RunOptions
from conformance.trial.run import run_trial
from conformance.vectors.case import Case
from conformance.vectors.frozen.corpus import load_corpus

INTRA_BLOCK = "UML_OS.Data.SeededIntraBlockMap_v1"
Figures_ = Mapping[str, Any]
# The main job fuzzes every shipped contract, and a run is red where a side of a guard is not reached.
CONTRACTS = ("UML_OS.Data.EncodeCursors_v1", "UML_OS.Data.SeededIntraBlockMap_v1", "UML_OS.Error.Emit_v1")


class Agrees:
    """Gives every call the same answer, right or not, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Call] = []
        self.known = KnownAnswers()

    def ask(self, calls: Sequence[Call]) -> Iterator[Observed]:
        self.asked += calls
        return iter([ObservedFailure("CONTRACT_VIOLATION", {})] * len(calls))


class Halves(Agrees):
    """Halves without a process; `wrong` numbers are halved wrongly."""

    def __init__(self, *wrong: int) -> None:
        super().__init__()
        self.wrong = wrong

    def ask(self, calls: Sequence[Call]) -> Iterator[Observed]:
        self.asked += calls
        for call in calls:
            whole = int(call.inputs["whole"])
            data = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": OPERATOR}
            half = str(whole // 2 + (whole in self.wrong))
            yield ObservedFailure("CONTRACT_VIOLATION", data) if whole % 2 else ObservedResult({"half": half})


def fuzzed(
    backend: object,
    reference: object | None = None,
    cases: Sequence[Case] = CASES,
    forms: Codebook | None = None,
    operator: str = OPERATOR,
    **options: Any,
) -> tuple[Result, Figures_]:
    forms = forms or codebook()
    right = reference or Halves()
    contract = forms[operator].contract
    return fuzz_operator(task_of(contract, cases, backend, right, forms, **options))


# -- what it asks and counts


def test_an_honest_backend_is_asked_what_was_wanted_and_passes() -> None:
    backend, reference = Halves(), Halves()
    result, figures = fuzzed(backend, reference, examples=100)
    assert (result.verdict, result.check.kind, result.check.id) == (Verdict.PASS, Kind.FUZZ, f"{OPERATOR}?fuzz")
    assert backend.asked == reference.asked
    assert figures["examples"] + figures["listed"] == len(backend.asked)
    assert 100 <= figures["examples"] < 108


def test_the_figures_are_those_of_the_calls() -> None:
    backend = Halves()
    _, figures = fuzzed(backend, examples=100)
    odd = sum(int(call.inputs["whole"]) % 2 for call in backend.asked)
    even = len(backend.asked) - odd
    assert figures["examples"] + figures["listed"] == even + odd
    assert figures["guards"] == {"even": {"passed": even, "refused": odd}}
    assert odd > 5
    assert figures["listed"] > 20
    assert figures["succeeded"] >= LEAST_SUCCEEDED * figures["examples"]


def test_a_guard_is_only_passed_by_calls_that_reach_it() -> None:
    contract = codebook_of(shipped_library())[INTRA_BLOCK].contract
    first, second, *_ = (guard.id for guard in contract.requires)
    figures = FuzzCounts(contract)
    for side, count in ((ACCEPTED, 6), (first, 3), (second, 1)):
        for _ in range(count):
            figures.add(side)
    record = figures.record()
    assert (record["examples"], record["succeeded"]) == (10, 6)
    assert record["guards"][first] == {"passed": 7, "refused": 3}
    assert record["guards"][second] == {"passed": 6, "refused": 1}


def test_the_calls_vary_in_every_input() -> None:
    backend = Halves()
    fuzzed(backend, examples=DEFAULT_EXAMPLES)
    asked = [call.inputs for call in backend.asked]
    wholes = {int(inputs["whole"]) for inputs in asked}
    assert len(wholes - set(range(42))) > 15
    assert max(wholes) > 2**31
    assert len({inputs["salt"] for inputs in asked}) > 5
    assert {"label" in inputs for inputs in asked} == {True, False}


def test_the_same_seed_asks_the_same_calls_and_another_one_others() -> None:
    asked = []
    for seed in ("", "", "x"):
        backend = Halves()
        fuzzed(backend, seed=seed, examples=60)
        asked.append(backend.asked)
    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


def test_seeds_come_from_traces_too_but_not_what_an_earlier_step_answers() -> None:
    first = step("first", {"whole": "40"}, {"half": "20"})
    second = step("second", {"whole": {"from": "first.half"}}, {"half": "10"})
    third = step("third", {"whole": "44"}, {"half": "22"})
    seeds = seeds_of(codebook()[OPERATOR], [case("trace", first, second, third)])
    assert [native["whole"] for native in seeds.all] == [40, 44]


# -- too little is not green


@pytest.mark.parametrize(
    ("wholes", "said"),
    [
        (range(1, 40, 2), "no call was passed by the guard even"),
        (range(0), "only 0 of 0 calls succeed"),
    ],
)
def test_a_side_of_a_guard_that_nothing_reaches_is_an_error(wholes: range, said: str) -> None:
    result, _ = fuzzed(Halves(), cases=[halved(whole) for whole in wholes], examples=60)
    assert result.verdict is Verdict.ERROR
    assert result.message.startswith("fuzzing reached too little: ")
    assert said in result.message


@pytest.mark.parametrize("operator", CONTRACTS)
def test_every_shipped_contract_is_fuzzed_on_both_sides_of_every_guard(operator: str) -> None:
    shipped = shipped_library()
    cases = load_corpus(shipped.suite).cases.get(operator, ())
    result, figures = fuzzed(Agrees(), Agrees(), cases, codebook_of(shipped), operator)
    assert (result.verdict, result.message) == (Verdict.PASS, "")
    assert figures["examples"] >= (shipped.contracts[operator].fuzz_examples or DEFAULT_EXAMPLES)
    assert figures["succeeded"] >= 0.6 * figures["examples"]
    assert all(min(counts.values()) > 0 for counts in figures["guards"].values())


# -- what it finds


def test_the_smallest_wrong_call_is_found_and_nothing_else_is_in_it() -> None:
    result, _ = fuzzed(client("wrong_in_a_corner"))
    assert result.verdict is Verdict.FAIL
    assert result.call is not None
    assert result.call.inputs == {"whole": "100", "salt": "00" * 16}
    assert result.difference is not None
    assert (result.difference.path, result.difference.expected, result.difference.actual) == ("half", "50", "51")


def test_what_is_found_is_found_again_the_same() -> None:
    found = [fuzzed(client("wrong_in_a_corner")) for _ in range(2)]
    assert found[0] == found[1]


def test_shrinking_does_not_count_as_fuzzing() -> None:
    backend = Halves(*range(100, 2**12, 2))
    result, figures = fuzzed(backend)
    assert result.verdict is Verdict.FAIL
    assert figures["examples"] < len(backend.asked)


def test_a_call_that_is_answered_wrongly_only_beside_others_is_wrong_but_not_said_to_be_the_smallest() -> None:
    class Crowded(Halves):
        def ask(self, calls: Sequence[Call]) -> Iterator[Observed]:
            self.wrong = tuple(range(100, 2**12, 2)) if len(calls) > 1 else ()
            return super().ask(calls)

    result, _ = fuzzed(Crowded())
    assert (result.verdict, result.message) == (Verdict.FAIL, SEEN_ONCE)
    assert result.call is not None
    assert int(result.call.inputs["whole"]) in range(100, 2**12, 2)


def test_a_call_that_ends_the_backend_is_an_error_with_its_input() -> None:
    with client("leaves_on_six") as backend:
        result, _ = fuzzed(backend)
    assert (result.verdict, result.outcome) == (Verdict.ERROR, "crash")
    assert result.call is not None
    assert result.call.inputs["whole"] == "6"
    assert "it exited with status 9" in result.message


def test_a_call_that_silences_the_backend_is_an_error_with_its_input() -> None:
    with client("sleeps_on_six", 0.3) as backend:
        result, _ = fuzzed(backend)
    assert (result.verdict, result.outcome) == (Verdict.ERROR, "timeout")
    assert result.call is not None
    assert result.call.inputs["whole"] == "6"


def test_a_reference_without_an_answer_is_no_ones_pass() -> None:
    with client("leaves_on_six") as reference:
        result, _ = fuzzed(Halves(), reference)
    assert (result.verdict, result.of_suite) == (Verdict.ERROR, True)
    assert "the reference gave no valid answer" in result.message


@pytest.mark.usefixtures("no_diagnosis")
def test_fuzzing_finds_what_only_a_corner_of_an_operator_gets_wrong() -> None:
    shipped = shipped_library()
    options = RunOptions(
        backend="python:conformance.tests.fakes.spoilt:WrongInACorner", select=(f"{INTRA_BLOCK}?fuzz",)
    )
    (result,) = run_trial(shipped, load_corpus(shipped.suite), options).results
    assert result.verdict is Verdict.FAIL
    assert result.call is not None
    inputs = result.call.inputs
    assert (inputs["local_pos"], inputs["block_id"]) == ("5", "0")
    assert int(inputs["block_size"]) == 7
