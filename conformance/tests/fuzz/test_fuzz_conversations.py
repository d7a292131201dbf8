"""Conversations that a generator of a machine makes: what they ask, what they find, how they are made small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from conformance.backend.outcome import ObservedFailure
from conformance.codec.codebook import codebook_of
from conformance.tests.fuzz.tasks import task_of
from conformance.tests.shipped import shipped_library
from conformance.trial.client import Client, driver_of
from conformance.trial.fuzz.conversation import conversation_steps
from conformance.trial.fuzz.file_example import Example
from conformance.trial.fuzz.files import FileSearch
from conformance.trial.generator import generator_of
from conformance.vectors.case import FileStep, QuestionCall, TreeStep
from conformance.vectors.conversation.exchange import Transcript

LIBRARY = shipped_library()
CODEBOOK = codebook_of(LIBRARY)
CONSUMER = "Pipeline.Consumer"
# The refusals of each machine that conversations must reach.
REACHED = {
    "Pipeline.Consumer": {"QUEUE_TIMEOUT", "SCHEMA_MISMATCH", "QUARANTINE_FULL", "LEGACY_INVALID"},
    "Pipeline.Provider": {"META_INVALID", "CONFIG_INVALID", "QUARANTINE_FULL", "COUNTER_OVERFLOW"},
}


def conversations(machine: str, count: int) -> Iterator[Example]:
    contract = LIBRARY.contracts[machine]
    generator = generator_of(contract, LIBRARY.suite)
    assert generator is not None
    for number in range(count):
        yield Example((), (), conversation_steps(contract, CODEBOOK, generator.make(Random(number))), generator.name)


@pytest.fixture(scope="module")
def right() -> Iterator[Client]:
    """The reference in one process for all tests."""
    with Client(driver_of("reference", CODEBOOK)) as asked:
        yield asked


@pytest.mark.parametrize("machine", sorted(REACHED))
def test_conversations_ask_every_operation_and_reach_the_refusals(machine: str, right: Client) -> None:
    walks = [right.walk(example.steps) for example in conversations(machine, 60)]
    made = [one for walk in walks if isinstance(walk, Transcript) for one in walk.exchanges]
    counts = Counter(one.observed.code for one in made if isinstance(one.observed, ObservedFailure))
    assert counts.keys() >= REACHED[machine]
    assert counts.total() < 0.5 * len(made)
    machine_of = LIBRARY.contracts[machine].machine
    assert machine_of is not None
    unasked = {*machine_of.methods} - {one.operator for one in made}
    assert not {name for name in unasked if not name.endswith(".Schema")}, "the schema never changes"


def test_a_call_takes_the_handle_of_the_last_opening_in_the_same_root() -> None:
    made = {
        "root": "r",
        "steps": [
            {"call": "Open", "inputs": {"config": {"high_watermark": 1, "low_watermark": 0}}},
            {"put": {"path": "x", "text": "y"}},
            {"call": "Stats", "inputs": {}},
            {"call": "Open", "inputs": {"config": {"high_watermark": 1, "low_watermark": 0}}},
            {"call": "Stats", "inputs": {}},
        ],
    }
    opened, put, stats, again, last, looked = conversation_steps(LIBRARY.contracts[CONSUMER], CODEBOOK, made)
    calls = [step for step in (opened, stats, again, last) if isinstance(step, QuestionCall)]
    assert [step.name for step in calls] == ["open-1", "stats-2", "open-3", "stats-4"]
    assert [step.inputs.get("root") for step in calls] == [{"root": "r"}, None, {"root": "r"}, None]
    given = [None, {"from": "open-1.handle"}, None, {"from": "open-3.handle"}]
    assert [step.inputs.get("handle") for step in calls] == given
    assert put == FileStep("put", {"root": "r", "path": "x", "text": "y"})
    assert isinstance(looked, TreeStep)
    # Without the second opening, the call on its handle goes as well.
    kept = Example((), (), (opened, put, stats, again, last, looked), "")._with_steps([opened, stats, last, looked])
    assert kept.after == (opened, stats, looked)


def test_a_mistake_between_files_and_calls_is_found_and_made_small(right: Client) -> None:
    contract = LIBRARY.contracts[CONSUMER]
    with Client(driver_of("mutant:queue-legacy-deletes", CODEBOOK)) as wrong:
        search = FileSearch(task_of(contract, (), wrong, right, CODEBOOK))
        search.try_all((example, None) for example in conversations(CONSUMER, 30))
    assert search.found is not None
    trace = [line.partition(":")[0].lstrip("- {") for line in search.found.details["trace"]]
    assert {*trace} == {"put", "step"}
    assert len(trace) <= 8
