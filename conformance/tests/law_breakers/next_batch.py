"""The laws of NextBatch go red for a backend that shards, cuts or seeds its batches wrongly, or remembers."""

from __future__ import annotations

from typing import Any

from conformance.tests.law_breakers.spoilt import BATCH, Memory, Native, Sin, answers, asks, changed


def batch_size(inputs: Native) -> int:
    size: int = inputs["manifest"]["global_batch_size"]
    return size


def with_manifest(inputs: Native, cardinality: int | None = None, **data: Any) -> Native:
    manifest = dict(inputs["manifest"])
    manifest["data"] = {**manifest["data"], **data}
    if cardinality is not None:
        manifest["datasets"] = {key: {**set_, "cardinality": cardinality} for key, set_ in manifest["datasets"].items()}
    return {**inputs, "manifest": manifest}


def cardinality(inputs: Native) -> int:
    number: int = inputs["manifest"]["datasets"][inputs["dataset_key"]]["cardinality"]
    return number


def padded_by_wrapping(inputs: Native, result: Native, memory: Memory) -> Native:
    indices = result["batch_sample_indices"]
    share = batch_size(inputs) // inputs["world_size"]
    return changed(result, batch_sample_indices=indices + list(range(share - len(indices))))


def drawn_with_replacement(inputs: Native, result: Native, memory: Memory) -> Native:
    return changed(result, batch_sample_indices=[index // 2 * 2 for index in result["batch_sample_indices"]])


def backwards(inputs: Native, result: Native, memory: Memory) -> Native:
    last = cardinality(inputs) - 1
    return changed(result, batch_sample_indices=[last - index for index in result["batch_sample_indices"]])


def never_rolls_over(inputs: Native, result: Native, memory: Memory) -> Native:
    before = inputs["cursor_in"]
    after = {"epoch": before["epoch"], "global_index": before["global_index"] + batch_size(inputs)}
    return changed(result, cursor_next=after)


def as_one_rank(inputs: Native, memory: Memory) -> Native:
    return changed(inputs, world_size=1, rank=0)


def rank_strided(inputs: Native, result: Native, memory: Memory) -> Native:
    own = result["batch_sample_indices"][inputs["rank"] :: inputs["world_size"]]
    return changed(result, batch_sample_indices=own)


def partial_batch_split_evenly(inputs: Native, result: Native, memory: Memory) -> Native:
    indices, rank, world_size = result["batch_sample_indices"], inputs["rank"], inputs["world_size"]
    start, end = len(indices) * rank // world_size, len(indices) * (rank + 1) // world_size
    return changed(result, batch_sample_indices=indices[start:end])


def cursor_moved_by_rank(inputs: Native, result: Native, memory: Memory) -> Native:
    after = result["cursor_next"]
    return changed(result, cursor_next={**after, "global_index": after["global_index"] + inputs["rank"]})


def metadata_of_the_share(inputs: Native, result: Native, memory: Memory) -> Native:
    share = batch_size(inputs) // inputs["world_size"]
    return changed(result, sampling_metadata={**result["sampling_metadata"], "effective_batch_size": share})


def seeded_by_world_size(inputs: Native, memory: Memory) -> Native:
    return changed(inputs, manifest_hash=bytes([inputs["world_size"]]) + inputs["manifest_hash"][1:])


def advanced_by_the_share(inputs: Native, result: Native, memory: Memory) -> Native:
    before, share = inputs["cursor_in"], batch_size(inputs) // inputs["world_size"]
    if before["global_index"] + share >= cardinality(inputs):
        return result
    return changed(result, cursor_next={**before, "global_index": before["global_index"] + share})


SHARDS: list[Sin] = [
    answers("epoch-bijection", "padding by wrapping", BATCH, padded_by_wrapping, "second time"),
    answers("epoch-bijection", "replacement", BATCH, drawn_with_replacement, "second time"),
    answers("epoch-bijection", "the tail block first", BATCH, backwards, "mix several blocks"),
    answers("epoch-bijection", "no roll-over", BATCH, never_rolls_over, "the cursor moved"),
    asks("shard-reassembly", "rank-strided", BATCH, as_one_rank, "concatenated", rank_strided),
    asks("shard-reassembly", "an even split", BATCH, as_one_rank, "rank 0 got", partial_batch_split_evenly),
    answers("shard-reassembly", "a cursor per rank", BATCH, cursor_moved_by_rank, "cursor_next"),
    answers("shard-reassembly", "the share as batch size", BATCH, metadata_of_the_share, "effective_batch_size"),
    asks("world-size-independence", "a seed per world size", BATCH, seeded_by_world_size, "the batch at"),
    answers("world-size-independence", "a cursor of shares", BATCH, advanced_by_the_share, "the cursor before a step"),
]


def seeded_at_index_0_only(inputs: Native, memory: Memory) -> Native:
    key = inputs["dataset_key"]
    if inputs["cursor_in"]["global_index"] == 0:
        memory[key] = inputs["cursor_in"]["epoch"]
    remembered = {**inputs["cursor_in"], "epoch": memory.get(key, 0) + (key not in memory)}
    return changed(inputs, cursor_in=remembered)


def counts_calls(inputs: Native, result: Native, memory: Memory) -> Native:
    memory["calls"] = memory.get("calls", 0) + 1
    return changed(result, trace_record={**result["trace_record"], "t": memory["calls"]})


def remembers_by_cursor_only(inputs: Native, result: Native, memory: Memory) -> Native:
    place = (*inputs["cursor_in"].values(), inputs["rank"], inputs["world_size"])
    kept: Native = memory.setdefault(place, result)
    return kept


def always_train(inputs: Native, memory: Memory) -> Native:
    return changed(inputs, stage_type="train")


def drops_in_every_stage(inputs: Native, result: Native, memory: Memory) -> Native:
    cut = cardinality(inputs) - inputs["cursor_in"]["global_index"] < batch_size(inputs)
    drop = inputs["manifest"]["data"]["drop_last"] and cut
    return changed(result, batch_sample_indices=[]) if drop else result


def names_the_stage(inputs: Native, result: Native, memory: Memory) -> Native:
    return changed(result, sampling_metadata={**result["sampling_metadata"], "subsampling_mode": inputs["stage_type"]})


def never_drops(inputs: Native, memory: Memory) -> Native:
    return with_manifest(inputs, drop_last=False)


def order_of_the_shortened_epoch(inputs: Native, memory: Memory) -> Native:
    limit = cardinality(inputs) // batch_size(inputs) * batch_size(inputs)
    dropping = inputs["manifest"]["data"]["drop_last"] and inputs["cursor_in"]["global_index"] < limit
    return with_manifest(inputs, limit) if dropping else inputs


def goes_on_behind_the_limit(inputs: Native, memory: Memory) -> Native:
    limit = cardinality(inputs) // batch_size(inputs) * batch_size(inputs)
    return with_manifest(inputs, drop_last=inputs["cursor_in"]["global_index"] < limit)


def seeded_without_epoch(inputs: Native, memory: Memory) -> Native:
    return changed(inputs, cursor_in={**inputs["cursor_in"], "epoch": 0})


def epoch_put_back(inputs: Native, result: Native, memory: Memory) -> Native:
    after, before = result["cursor_next"], inputs["cursor_in"]
    return changed(result, cursor_next={**after, "epoch": before["epoch"] + after["epoch"]})


def seeded_by_roll_overs(inputs: Native, memory: Memory) -> Native:
    memory["starts"] = memory.get("starts", -1) + (inputs["cursor_in"]["global_index"] == 0)
    return changed(inputs, cursor_in={**inputs["cursor_in"], "epoch": memory["starts"]})


def cursor_of_the_question(inputs: Native, result: Native, memory: Memory) -> Native:
    after, before = result["cursor_next"], inputs["cursor_in"]
    return changed(result, cursor_next={**after, "epoch": before["epoch"] + (after["global_index"] == 0)})


EPOCHS: list[Sin] = [
    asks(
        "restore-continuity",
        "seeded at index 0 only",
        BATCH,
        seeded_at_index_0_only,
        "restored at",
        cursor_of_the_question,
    ),
    answers("restore-continuity", "its own count of calls", BATCH, counts_calls, "restored at"),
    answers("cursor-purity", "its own count of calls", BATCH, counts_calls, "asked again, repeated"),
    answers("cursor-purity", "answers kept by cursor only", BATCH, remembers_by_cursor_only, "asked again, reversed"),
    asks("eval-sequence", "eval shuffled", BATCH, always_train, "eval"),
    answers("eval-sequence", "padding by wrapping", BATCH, padded_by_wrapping, "eval with drop_last false"),
    answers("eval-sequence", "drop_last in eval", BATCH, drops_in_every_stage, "eval with drop_last true"),
    answers("eval-sequence", "infer unlike eval", BATCH, names_the_stage, "infer with drop_last false"),
    asks("drop-last-epoch", "nothing dropped", BATCH, never_drops, "the cursor moved"),
    asks("drop-last-epoch", "a shorter order", BATCH, order_of_the_shortened_epoch, "compared with the kept epoch"),
    asks("drop-last-epoch", "samples after the limit", BATCH, goes_on_behind_the_limit, "after the epoch's limit"),
    asks("epoch-reseeding", "no epoch", BATCH, seeded_without_epoch, "epoch 0 and epoch 1 begin", epoch_put_back),
    asks("epoch-reseeding", "no token", BATCH, lambda i, m: changed(i, kernel_replay_token=bytes(32)), "replay token"),
    asks(
        "epoch-reseeding", "no manifest hash", BATCH, lambda i, m: changed(i, manifest_hash=bytes(32)), "manifest hash"
    ),
    asks("epoch-reseeding", "no dataset key", BATCH, lambda i, m: changed(i, dataset_key="d"), "dataset key"),
    asks(
        "epoch-reseeding", "roll-overs counted", BATCH, seeded_by_roll_overs, "asked for again", cursor_of_the_question
    ),
]

SINS = [*SHARDS, *EPOCHS]
