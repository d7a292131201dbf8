"""Calls near a failing one distinguish a backend from a mutant, so a similar mistake is not diagnosed as the mutant."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest

from conformance.backend.outcome import Crash, Lost, ObservedResult
from conformance.codec.cbor import decode, encode_canonical
from conformance.tests.mutant_results import codebook, quick_cases
from conformance.trial.client import Client
from conformance.trial.diagnosis.interview import MOST_LEFT_OUT, FailingQuestion, MutantProbe, questions_of
from conformance.trial.diagnosis.neighbourhood import LONGEST, AnySteps, cost, in_turns, is_long
from conformance.vectors.case import CallStep, FileStep, QuestionCall
from conformance.vectors.compact import expanded, recipe
from conformance.vectors.conversation.exchange import Exchange, Transcript
from conformance.vectors.files.file_steps import codec_of
from conformance.vectors.files.filecodec import encode_file

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

    def walk(self, steps: Sequence[Any]) -> Transcript | Lost:
        self.asked += 1
        said = []
        for step in steps:
            number = int(self.mistake(step.inputs))
            if number < 0:
                return Crash("it was ended")
            said.append(Exchange(step.name, step.operator, step.inputs, ObservedResult({"original_index": number})))
        return Transcript(tuple(said))


def question(**changes: str) -> AnySteps:
    return (QuestionCall("call", MAP, {**INPUTS, **changes}),)


def probed(
    backend: Answering, mutant: Answering, failing: FailingQuestion, cases: Sequence[Any] = (), others: Any = ()
) -> bool:
    """Whether a mutant answers as a backend does, near a failing question and in the others."""
    right = cast(Client, type(backend)(lambda inputs: 0))
    probe = MutantProbe(codebook(), cast(Client, backend), right, [failing], cases)
    return probe.answers_alike(cast(Client, mutant), others)


def alike(backend: Mistake, mutant: Mistake, *others: AnySteps) -> bool:
    failing = FailingQuestion(question(), "", "g")
    return probed(Answering(backend), Answering(mutant), failing, others=others)


def size(inputs: Mapping[str, Any]) -> int:
    return int(inputs["block_size"])


def test_what_answers_alike_everywhere_near_is_alike() -> None:
    assert alike(lambda inputs: size(inputs) > 1000, lambda inputs: size(inputs) >= 1001)


@pytest.mark.parametrize("limit", [999, 1001, 4097, 17])
def test_a_mistake_with_another_limit_is_another_mistake(limit: int) -> None:
    assert not alike(lambda inputs: size(inputs) > 1000, lambda inputs: size(inputs) > limit)


OPEN = "Stream.Open"
DECODE = "UML_OS.Data.DecodeCursors_v1"
SOURCE = {"kind": "tokens", "tokens": [0], "on_end": "wrap"}


def of_count(count: int) -> QuestionCall:
    return QuestionCall("call", OPEN, {"source": SOURCE, "rank": 0, "world_size": 1, "cms_frequencies": ["2"] * count})


def of_long_count(count: int) -> QuestionCall:
    inputs = {**of_count(1).inputs, "cms_frequencies": recipe("numbers", count, start="2", step=0)}
    return QuestionCall("call", OPEN, inputs)


def of_bytes(count: int) -> QuestionCall:
    return QuestionCall("call", DECODE, {"cursors_cbor": "ab" * count})


def of_number(count: int) -> QuestionCall:
    return QuestionCall("call", MAP, {**INPUTS, "block_size": str(count)})


def measured(inputs: Mapping[str, Any]) -> int:
    """What the limit of these tests is on."""
    if "cms_frequencies" in inputs:
        return len(expanded(inputs["cms_frequencies"]))
    return len(inputs["cursors_cbor"]) // 2 if "cursors_cbor" in inputs else size(inputs)


def off_by(number: int, limit: int) -> Mistake:
    """What accepts so many more than the limit, or, below zero, so many less."""
    low, high = sorted((limit, limit + number))
    return lambda inputs: int(low < measured(inputs) <= high)


@pytest.mark.parametrize("number", [2, 3, 10, -2, -3, -10])
@pytest.mark.parametrize(
    ("ask", "limit"),
    [(of_count, 24), (of_count, 700), (of_long_count, 65_536), (of_bytes, 100), (of_bytes, 1000), (of_number, 1000)],
    ids=["count", "longer-count", "recipe", "bytes", "more-bytes", "integer"],
)
def test_a_limit_off_by_more_is_not_taken_for_a_limit_off_by_one(
    ask: Callable[[int], QuestionCall], limit: int, number: int
) -> None:
    first = limit + 1 if number > 0 else limit
    off_by_one = 1 if number > 0 else -1

    def told(backend: int, mutant: int) -> bool:
        one, other = (Answering(off_by(number, limit)) for number in (backend, mutant))
        return not probed(one, other, FailingQuestion((ask(first),)))

    assert told(number, off_by_one)
    assert told(off_by_one, number)
    assert told(number, number + off_by_one)
    assert not told(number, number)


def test_a_limit_far_from_the_failing_call_is_looked_for_until_it_is_exact() -> None:
    for limit, other, same in ((2001, 2004, False), (2004, 2001, False), (2001, 2001, True)):
        backend, mutant = (Answering(off_by(one - 1000, 1000)) for one in (limit, other))
        assert probed(backend, mutant, FailingQuestion((of_number(1500),))) is same


class Reading(Answering):
    """A backend whose answers hang on a number in a file that the harness wrote, under a digest that must be right."""

    def walk(self, steps: Sequence[Any]) -> Transcript | Lost:
        put, call = steps
        number, digest = decode(encode_file(codec_of(put.body), put.body[codec_of(put.body)]))[0]
        sealed = digest == hashlib.sha256(encode_canonical(number)).digest()
        answer = int(self.mistake({"block_size": number})) if sealed else 0
        observed = ObservedResult({"original_index": answer})
        return Transcript((Exchange(call.name, call.operator, call.inputs, observed),))


@pytest.mark.parametrize("number", [2, 3, 10, -2, -3, -10])
def test_a_limit_on_a_number_in_a_file_is_looked_for_too(number: int) -> None:
    limit = 2**40
    held = limit + 1 if number > 0 else limit
    data = encode_canonical([held, hashlib.sha256(encode_canonical(held)).digest()])
    put = FileStep("put", {"root": "a", "path": "saved", "bytes": data.hex()})
    for other, same in ((number, True), (1 if number > 0 else -1, False)):
        backend, mutant = (Reading(off_by(one, limit)) for one in (number, other))
        assert probed(backend, mutant, FailingQuestion((put, *question()), "call")) is same


def test_a_mistake_that_hangs_on_a_leaf_more_is_another_mistake() -> None:
    assert not alike(lambda inputs: 1, lambda inputs: int(inputs["local_pos"]) > 0)
    assert not alike(lambda inputs: 1, lambda inputs: inputs["epoch_seed"].endswith("0f"))


def test_a_mistake_that_gives_another_wrong_value_is_another_mistake() -> None:
    assert not alike(lambda inputs: 1, lambda inputs: 1 if size(inputs) == 5000 else 2)


def test_a_backend_that_is_lost_near_by_makes_another_mistake() -> None:
    assert not alike(lambda inputs: -1 if size(inputs) < 5000 else 1, lambda inputs: 1)


def test_numbers_that_meet_at_a_limit_move_together() -> None:
    equal = {"local_pos": "7", "block_size": "7"}
    backend = Answering(lambda inputs: inputs["local_pos"] == inputs["block_size"])
    nearly = Answering(lambda inputs: inputs["local_pos"] == inputs["block_size"] and size(inputs) < 100)
    assert not probed(backend, nearly, FailingQuestion(question(**equal)))


def test_frozen_cases_that_the_run_left_out_are_asked() -> None:
    far = question(block_id="1234567", epoch_seed="ab" * 16)
    backend: Mistake = lambda inputs: 2 if inputs["block_id"] == "1234567" else 1  # noqa: E731
    assert alike(backend, lambda inputs: 1)
    assert not alike(backend, lambda inputs: 1, far)


def test_a_backend_is_asked_once_for_all_mutants() -> None:
    backend, right = Answering(lambda inputs: size(inputs) > 1000), Answering(lambda inputs: 0)
    probing = MutantProbe(codebook(), cast(Client, backend), cast(Client, right), [FailingQuestion(question())], ())
    one, other = (cast(Client, Answering(lambda inputs: size(inputs) > 1000)) for _ in range(2))
    assert probing.answers_alike(one, ())
    before = backend.asked
    assert probing.answers_alike(other, ())
    assert backend.asked == before > 100


def test_values_of_other_cases_are_tried_at_the_same_leaf() -> None:
    cases = [case for case in quick_cases() if case.operator == MAP]
    seeds = {step.inputs["epoch_seed"] for case in cases for step in case.steps if isinstance(step, CallStep)}
    rare = next(seed for seed in sorted(seeds - {INPUTS["epoch_seed"]}) if len(set(seed)) > 8)
    first = [one for one in cases if any(getattr(step, "inputs", {}).get("epoch_seed") == rare for step in one.steps)]
    backend, mutant = Answering(lambda inputs: 1), Answering(lambda inputs: 1 + (inputs["epoch_seed"] == rare))
    assert probed(backend, mutant, FailingQuestion(question()))
    assert not probed(backend, mutant, FailingQuestion(question()), first[:1])


def test_a_trace_is_asked_whole_with_one_call_changed() -> None:
    steps: AnySteps = (QuestionCall("first", MAP, INPUTS), QuestionCall("second", MAP, {**INPUTS, "local_pos": "6"}))
    # The first call's leaf shows it, though the second one failed.
    backend, mutant = Answering(lambda inputs: 1), Answering(lambda inputs: 1 + (inputs["block_id"] == "4"))
    assert not probed(backend, mutant, FailingQuestion(steps, "second"))


def test_questions_are_taken_by_turns_until_they_have_cost_the_budget() -> None:
    one = [question(block_id=str(k)) for k in range(9)]
    other = [question(local_pos=str(k)) for k in range(2)]
    each = cost(one[0])
    taken = list(in_turns([one, other], each * 5))
    assert taken == [one[0], other[0], one[1], other[1], one[2]]


def test_of_frozen_cases_a_long_one_is_asked_only_where_there_are_no_others() -> None:
    cases = quick_cases()
    long = [case for case in cases if is_long(case.steps)]
    short = [case for case in cases if case.steps and not is_long(case.steps)]
    assert long
    asked = questions_of([*long, *short])
    assert len(asked) == MOST_LEFT_OUT
    assert not any(map(is_long, asked))
    assert questions_of([*long, short[0]]) == [short[0].steps]
    assert questions_of(long) == [long[0].steps]


def test_a_recipe_is_as_long_as_what_it_makes() -> None:
    assert is_long((of_long_count(LONGEST),))
    assert not is_long((of_long_count(100),))
