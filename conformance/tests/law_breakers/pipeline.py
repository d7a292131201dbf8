"""The laws of the file queue go red for a provider or a consumer that is wrong in one way."""

from __future__ import annotations

from checks.laws.pipeline import CONSUMER, PROVIDER
from conformance.tests.law_breakers.spoilt import Memory, Native, Sin, answers

GET, STATS, SCHEMA = f"{CONSUMER}.GetBatch", f"{CONSUMER}.Stats", f"{CONSUMER}.Schema"
PRODUCE = f"{PROVIDER}.Produce"


def the_one_before(inputs: Native, result: Native, memory: Memory) -> Native:
    return memory.setdefault("batch", result)  # type: ignore[no-any-return]


def every_second(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    return memory["batch"] if memory["calls"] == 3 else memory.setdefault("batch", result) and result


def in_memory(inputs: Native, result: Native, memory: Memory) -> Native:
    splits = {split: {**stats, "files_held": 7} for split, stats in result["splits"].items()}
    return {**result, "splits": splits}


def others_above_high(inputs: Native, result: Native, memory: Memory) -> Native:
    if memory.setdefault("first", inputs["handle"]) == inputs["handle"]:
        return result
    return {**result, "splits": {split: {**stats, "above_high": True} for split, stats in result["splits"].items()}}


def the_first_for_others(inputs: Native, result: Native, memory: Memory) -> Native:
    if memory.setdefault("first", inputs["handle"]) == inputs["handle"]:
        return memory.setdefault("batch", result) and result
    return memory["batch"]  # type: ignore[no-any-return]


def another_role(inputs: Native, result: Native, memory: Memory) -> Native:
    return {"fields": [{**field, "role": "x"} for field in result["fields"]]}


def modest(inputs: Native, result: Native, memory: Memory) -> Native:
    return {"produced": False}


SINS: list[Sin] = [
    answers("queue-every-row-once", "the first batch for ever", GET, the_one_before, "batch 2 of file 0"),
    answers("queue-every-row-once", "everything in memory", STATS, in_memory, "7 files are in memory"),
    answers("queue-restart", "the first batch for ever", GET, the_one_before, "restarted after every"),
    answers("queue-order", "the first batch once more", GET, every_second, "files in memory"),
    answers("metadata-of-any-form", "another role", SCHEMA, another_role, "the fields that a consumer tells"),
    answers("queue-files-of-any-form", "the first batch for ever", GET, the_one_before, "the batch from row"),
    answers("queue-codecs-alike", "other figures", STATS, others_above_high, "with the codec pt, compared with npz"),
    answers("queue-looks-change-nothing", "another batch", GET, the_first_for_others, "with looks between them"),
    answers("queue-splits-apart", "another batch", GET, the_first_for_others, "the split train beside others"),
    answers("queue-backpressure", "says nothing was made", PRODUCE, modest, "the files of a turn"),
]
