"""The laws of checkpoints and summaries go red for codecs and totals that are wrong in one way."""

from __future__ import annotations

from conformance.codec.cbor import encode_canonical
from conformance.contract.canonical import head
from conformance.tests.law_breakers.spoilt import Memory, Native, Sin, answers, asks, changed

ENCODE = "UML_OS.Data.EncodeCursors_v1"
DECODE = "UML_OS.Data.DecodeCursors_v1"
SUMMARIZE = "UML_OS.Data.SummarizeRun_v1"


def keys_as_given(inputs: Native, result: Native, memory: Memory) -> Native:
    cursors = inputs["cursors"]
    pairs = b"".join(encode_canonical(key) + encode_canonical(cursor) for key, cursor in cursors.items())
    return {"cursors_cbor": head(5, len(cursors)) + pairs}


def through_binary64(inputs: Native, result: Native, memory: Memory) -> Native:
    rounded = {
        key: {name: min(int(float(number)), 2**64 - 1) for name, number in cursor.items()}
        for key, cursor in result["cursors"].items()
    }
    return {"cursors": rounded}


def salted_the_second_time(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    return {"cursors_cbor": result["cursors_cbor"] + bytes(memory["calls"] > 2)}


def trailing_byte_ignored(inputs: Native, memory: Memory) -> Native:
    data = inputs["cursors_cbor"]
    if data == memory.get("last", b"") + b"\0":
        return {"cursors_cbor": memory["last"]}
    memory.setdefault("last", data)
    return inputs


def batches_counted(inputs: Native, result: Native, memory: Memory) -> Native:
    seen = sum(record["global_batch_size"] for record in inputs["trace_records"])
    return changed(result, run_end={**result["run_end"], "total_samples_seen": seen})


def shares_counted(inputs: Native, result: Native, memory: Memory) -> Native:
    seen = sum(min(record["micro_batch_size"], record["produced_count"]) for record in inputs["trace_records"])
    return changed(result, run_end={**result["run_end"], "total_samples_seen": seen})


def epoch_before_the_last_call(inputs: Native, result: Native, memory: Memory) -> Native:
    records = inputs["trace_records"]
    epoch = records[-1]["cursor_before"]["epoch"] if records else 0
    return changed(result, run_end={**result["run_end"], "final_epoch": epoch})


def every_stage_shuffled(inputs: Native, result: Native, memory: Memory) -> Native:
    stages = dict.fromkeys(("train", "eval", "infer"), True)
    return changed(result, run_header={**result["run_header"], "is_shuffled_per_stage": stages})


SINS: list[Sin] = [
    answers("cursor-round-trip", "keys as given", ENCODE, keys_as_given, "order in which keys"),
    answers("cursor-round-trip", "binary64", DECODE, through_binary64, "decoded from"),
    answers("cursor-round-trip", "a salt", ENCODE, salted_the_second_time, "encoded from"),
    asks("cursor-round-trip", "a spare byte", DECODE, trailing_byte_ignored, "must be refused"),
    answers("summary-of-a-run", "whole batches", SUMMARIZE, batches_counted, "total_samples_seen"),
    answers("summary-of-a-run", "one rank's share", SUMMARIZE, shares_counted, "total_samples_seen"),
    answers("summary-of-a-run", "an early epoch", SUMMARIZE, epoch_before_the_last_call, "final_epoch"),
    answers("summary-of-a-run", "eval shuffled", SUMMARIZE, every_stage_shuffled, "eval is shuffled"),
]
