"""Running hashes over long conversations, driven by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.backend.driver import Call, Talk
from conformance.backend.outcome import BadAnswer, Failure, ObservedFailure, Outcome, RawResult
from conformance.codec.codebook import Codebook, codebook_of
from conformance.codec.framing import DIALECTS
from conformance.tests.vectors_walk import OPERATOR, load
from conformance.vectors.case import Accumulation
from conformance.vectors.conversation.accumulate import (
    AccumulatedRun,
    accumulate,
    gap,
    window_of,
)

CHAIN = Accumulation(
    OPERATOR, {"place": {"lap": "0", "at": "5"}, "width": 3}, "visited", "chain", {"place": "after"}, "", 5, ()
)
Answer = Callable[[Mapping[str, Any]], Outcome]


@pytest.fixture(scope="module")
def codebook(tmp_path_factory: pytest.TempPathFactory) -> Codebook:
    return codebook_of(load(tmp_path_factory.mktemp("walk")))


def walk(inputs: Mapping[str, Any]) -> Outcome:
    at, width = int(inputs["place"]["at"]), inputs["width"]
    after = {"lap": inputs["place"]["lap"], "at": str(at + width)}
    return RawResult({"visited": [str(at + k) for k in range(width)], "after": after})


def held(talk: Talk[Any], answer: Answer = walk, batches: list[int] | None = None) -> Any:
    outcomes: Any = None
    while True:
        try:
            calls = talk.send(outcomes)
        except StopIteration as end:
            return end.value
        assert not hasattr(calls, "restart")
        asked: list[Call] = list(calls)  # type: ignore[arg-type]
        if batches is not None:
            batches.append(len(asked))
        outcomes = [answer(call.inputs) for call in asked]


def run(accumulation: Accumulation, codebook: Codebook, answer: Answer = walk, keep: Any = ()) -> AccumulatedRun:
    found = held(accumulate(accumulation, codebook, DIALECTS["json"], keep), answer)
    assert isinstance(found, AccumulatedRun)
    return found


def little(numbers: range) -> str:
    return hashlib.sha256(b"".join(number.to_bytes(8, "little") for number in numbers)).hexdigest()


def test_a_number_is_hashed_as_eight_bytes(codebook: Codebook) -> None:
    found = run(replace(CHAIN, output="after.at", count=1), codebook)
    assert found.checkpoints == ((1, little(range(8, 9))),)


def test_a_sweep_counts_and_asks_many_calls_at_a_time(codebook: Codebook) -> None:
    sweep = replace(CHAIN, generator="sweep", parameters={"place.at": {"start": "10", "step": "3"}}, count=600)
    batches: list[int] = []
    found = held(accumulate(sweep, codebook, DIALECTS["json"]), batches=batches)
    assert found.checkpoints[-1] == (600, little(range(10, 10 + 1800)))
    assert batches == [1, 256, 256, 87]


def test_batches_shrink_where_answers_are_long(codebook: Codebook) -> None:
    sweep = replace(CHAIN, generator="sweep", parameters={"place.at": {"start": "0", "step": "1"}}, count=40)
    batches: list[int] = []
    wide = replace(sweep, inputs={**CHAIN.inputs, "width": 4096})
    held(accumulate(wide, codebook, DIALECTS["json"]), batches=batches)
    assert batches == [1, 32, 7]


def test_a_run_stops_at_the_first_checkpoint_that_differs_and_tells_between_which(codebook: Codebook) -> None:
    def strides(inputs: Mapping[str, Any]) -> Outcome:
        return walk(inputs) if int(inputs["place"]["at"]) < 14 else walk({**inputs, "place": {"lap": "0", "at": "0"}})

    right = run(replace(CHAIN, count=64), codebook)
    found = run(replace(CHAIN, count=64, checkpoints=right.checkpoints), codebook, strides)
    assert found.checkpoints[-1][0] == 4
    apart = gap(right.checkpoints, found.checkpoints)
    assert apart is not None
    assert (apart.agreed, apart.differs) == (2, 4)
    assert str(apart) == "the first difference lies in the calls 3..4"


def test_a_failure_stops_the_run_and_names_its_call(codebook: Codebook) -> None:
    data = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": OPERATOR}

    def refuses(inputs: Mapping[str, Any]) -> Outcome:
        return Failure(1801, "CONTRACT_VIOLATION", data) if inputs["place"]["at"] == "11" else walk(inputs)

    found = run(CHAIN, codebook, refuses)
    assert found.stop is not None
    assert found.stop.call == 3
    assert found.stop.inputs["place"]["at"] == "11"
    assert found.stop.observed == ObservedFailure("CONTRACT_VIOLATION", data)


@pytest.mark.parametrize(
    "answer",
    [
        {"visited": ["05"], "after": {"lap": "0", "at": "6"}},
        {"visited": ["5"], "after": {"lap": "0", "at": 6}},
        {"visited": ["5"], "after": {"lap": "0"}},
        {"after": {"lap": "0", "at": "6"}},
        {"visited": ["5"], "after": {"lap": "0", "at": "6"}, "more": 1},
        None,
    ],
)
def test_an_answer_of_the_wrong_shape_stops_the_run(codebook: Codebook, answer: Any) -> None:
    found = run(CHAIN, codebook, lambda _: RawResult(answer))
    assert found.stop is not None
    assert isinstance(found.stop.observed, BadAnswer)


def test_kept_windows_can_be_asked_again_one_by_one(codebook: Codebook) -> None:
    found = run(CHAIN, codebook, keep={0, 4})
    assert found.windows.keys() == {0, 4}
    assert found.windows[4].inputs["place"]["at"] == "17"
    again = held(window_of(CHAIN, found.windows[4].inputs, codebook, DIALECTS["json"]))
    assert again == found.windows[4].sha256 == little(range(17, 20))


def test_memory_does_not_grow_with_the_run(codebook: Codebook, tmp_path: Path) -> None:
    import tracemalloc

    sweep = replace(CHAIN, generator="sweep", parameters={"place.at": {"start": "0", "step": "3"}})
    peaks = []
    for count in (512, 8192):
        tracemalloc.start()
        run(replace(sweep, count=count), codebook)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
