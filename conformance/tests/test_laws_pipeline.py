"""The laws of the file queue go red for a provider or a consumer that is wrong in one way."""

from __future__ import annotations

from conformance.tests.spoilt_backend import Memory, Native, Sin, Wrong, breaks, each_of
from conformance.trial.laws.pipeline_run import CONSUMER, PROVIDER

GET, STATS, PRODUCE = f"{CONSUMER}.GetBatch", f"{CONSUMER}.Stats", f"{PROVIDER}.Produce"


def the_one_before(inputs: Native, result: Native, memory: Memory) -> Native:
    return memory.setdefault("batch", result)  # type: ignore[no-any-return]


def every_second(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    return memory["batch"] if memory["calls"] == 3 else memory.setdefault("batch", result) and result


def in_memory(inputs: Native, result: Native, memory: Memory) -> Native:
    splits = {split: {**stats, "files_held": 7} for split, stats in result["splits"].items()}
    return {**result, "splits": splits}


def modest(inputs: Native, result: Native, memory: Memory) -> Native:
    return {"produced": False}


PIPELINE: list[Sin] = [
    (
        "queue-every-row-once",
        "the first batch for ever",
        Wrong(answer=the_one_before, operator=GET),
        "batch 2 of file 0",
    ),
    ("queue-every-row-once", "everything in memory", Wrong(answer=in_memory, operator=STATS), "7 files are in memory"),
    ("queue-restart", "the first batch for ever", Wrong(answer=the_one_before, operator=GET), "restarted after every"),
    ("queue-order", "the first batch once more", Wrong(answer=every_second, operator=GET), "files in memory"),
    ("queue-backpressure", "says nothing was made", Wrong(answer=modest, operator=PRODUCE), "the files of a turn"),
]


@each_of(PIPELINE)
def test_a_wrong_backend_breaks_the_law(law: str, wrong: Wrong, said: str) -> None:
    assert breaks(law, wrong, said)
