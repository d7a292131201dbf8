"""Backend and mutant are told apart by what they answer near a failing call: no near miss passes for a mutant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest

from conformance.backend.observed import ObservedResult
from conformance.backend.outcome import Crash, Lost
from conformance.tests.mutant_results import codebook, quick_cases
from conformance.trial.asker import Asker
from conformance.trial.neighbourhood import Steps, cost, in_turns
from conformance.trial.probing import Failing, Probing
from conformance.vectors.case import CallStep
from conformance.vectors.exchange import Exchange, Held
from conformance.vectors.question import Asked

MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
INPUTS = {
    "block_id": "3",
    "local_pos": "5",
    "block_size": "5000",
    "epoch_seed": "000102030405060708090a0b0c0d0e0f",
    "cardinality": "100000",
}
Mistake = Callable[[Mapping[str, Any]], int]


class Answering:
    """A backend that answers one number to each call: 0 is right."""

    def __init__(self, mistake: Mistake) -> None:
        self.mistake, self.asked = mistake, 0

    def walk(self, steps: Sequence[Any]) -> Held | Lost:
        self.asked += 1
        said = []
        for step in steps:
            number = int(self.mistake(step.inputs))
            if number < 0:
                return Crash("it was ended")
            said.append(Exchange(step.name, step.operator, step.inputs, ObservedResult({"original_index": number})))
        return Held(tuple(said))


def question(**changes: str) -> Steps:
    return (Asked("call", MAP, {**INPUTS, **changes}),)


def alike(backend: Mistake, mutant: Mistake, *others: Steps) -> bool:
    right, failing = Answering(lambda inputs: 0), [Failing(question(), "", "g")]
    asked = [cast(Asker, one) for one in (Answering(backend), right, Answering(mutant))]
    return Probing(codebook(), asked[0], asked[1], failing, ()).alike(asked[2], others)


def size(inputs: Mapping[str, Any]) -> int:
    return int(inputs["block_size"])


def test_what_answers_alike_everywhere_near_is_alike() -> None:
    assert alike(lambda inputs: size(inputs) > 1000, lambda inputs: size(inputs) >= 1001)


@pytest.mark.parametrize("limit", [999, 1001, 4097, 17])
def test_a_mistake_with_another_limit_is_another_mistake(limit: int) -> None:
    assert not alike(lambda inputs: size(inputs) > 1000, lambda inputs: size(inputs) > limit)


def test_a_mistake_that_hangs_on_a_leaf_more_is_another_mistake() -> None:
    assert not alike(lambda inputs: 1, lambda inputs: int(inputs["local_pos"]) > 0)
    assert not alike(lambda inputs: 1, lambda inputs: inputs["epoch_seed"].endswith("0f"))


def test_a_mistake_that_gives_another_wrong_value_is_another_mistake() -> None:
    assert not alike(lambda inputs: 1, lambda inputs: 1 if size(inputs) == 5000 else 2)


def test_a_backend_that_is_lost_near_by_makes_another_mistake() -> None:
    assert not alike(lambda inputs: -1 if size(inputs) < 5000 else 1, lambda inputs: 1)


def test_numbers_that_meet_at_a_limit_move_together() -> None:
    equal = {"local_pos": "7", "block_size": "7"}
    backend, right = Answering(lambda inputs: inputs["local_pos"] == inputs["block_size"]), Answering(lambda inputs: 0)
    nearly = Answering(lambda inputs: inputs["local_pos"] == inputs["block_size"] and size(inputs) < 100)
    asked = [cast(Asker, one) for one in (backend, right, nearly)]
    assert not Probing(codebook(), asked[0], asked[1], [Failing(question(**equal))], ()).alike(asked[2], ())


def test_frozen_cases_that_the_run_left_out_are_asked() -> None:
    far = question(block_id="1234567", epoch_seed="ab" * 16)
    backend: Mistake = lambda inputs: 2 if inputs["block_id"] == "1234567" else 1  # noqa: E731
    assert alike(backend, lambda inputs: 1)
    assert not alike(backend, lambda inputs: 1, far)


def test_a_backend_is_asked_once_for_all_mutants() -> None:
    backend, right = Answering(lambda inputs: size(inputs) > 1000), Answering(lambda inputs: 0)
    probing = Probing(codebook(), cast(Asker, backend), cast(Asker, right), [Failing(question())], ())
    one, other = (cast(Asker, Answering(lambda inputs: size(inputs) > 1000)) for _ in range(2))
    assert probing.alike(one, ())
    before = backend.asked
    assert probing.alike(other, ())
    assert backend.asked == before > 100


def test_values_of_other_cases_are_tried_at_the_same_leaf() -> None:
    cases = [case for case in quick_cases() if case.operator == MAP]
    seeds = {step.inputs["epoch_seed"] for case in cases for step in case.steps if isinstance(step, CallStep)}
    rare = next(seed for seed in sorted(seeds - {INPUTS["epoch_seed"]}) if len(set(seed)) > 8)
    first = [one for one in cases if any(getattr(step, "inputs", {}).get("epoch_seed") == rare for step in one.steps)]
    right, failing = Answering(lambda inputs: 0), [Failing(question())]
    backend, mutant = Answering(lambda inputs: 1), Answering(lambda inputs: 1 + (inputs["epoch_seed"] == rare))
    asked = [cast(Asker, one) for one in (backend, right, mutant)]
    assert Probing(codebook(), asked[0], asked[1], failing, ()).alike(asked[2], ())
    assert not Probing(codebook(), asked[0], asked[1], failing, first[:1]).alike(asked[2], ())


def test_a_trace_is_asked_whole_with_one_call_changed() -> None:
    steps: Steps = (Asked("first", MAP, INPUTS), Asked("second", MAP, {**INPUTS, "local_pos": "6"}))
    right = Answering(lambda inputs: 0)
    # The first call's leaf shows it, though the second one failed.
    backend, mutant = Answering(lambda inputs: 1), Answering(lambda inputs: 1 + (inputs["block_id"] == "4"))
    asked = [cast(Asker, one) for one in (backend, right, mutant)]
    assert not Probing(codebook(), asked[0], asked[1], [Failing(steps, "second")], ()).alike(asked[2], ())


def test_questions_are_taken_by_turns_until_they_have_cost_the_budget() -> None:
    one = [question(block_id=str(k)) for k in range(9)]
    other = [question(local_pos=str(k)) for k in range(2)]
    each = cost(one[0])
    taken = list(in_turns([one, other], each * 5))
    assert taken == [one[0], other[0], one[1], other[1], one[2]]
