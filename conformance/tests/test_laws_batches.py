"""The laws of NextBatch go red for a backend that shards, cuts or seeds its batches wrongly, or remembers."""

from __future__ import annotations

from typing import Any

from conformance.tests.spoilt_backend import Memory, Native, Sin, Wrong, breaks, changed, each_of


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
    ("epoch-bijection", "padding by wrapping", Wrong(answer=padded_by_wrapping), "second time"),
    ("epoch-bijection", "replacement", Wrong(answer=drawn_with_replacement), "second time"),
    ("epoch-bijection", "the tail block first", Wrong(answer=backwards), "mix several blocks"),
    ("epoch-bijection", "no roll-over", Wrong(answer=never_rolls_over), "the cursor moved"),
    ("shard-reassembly", "rank-strided", Wrong(as_one_rank, rank_strided), "concatenated"),
    ("shard-reassembly", "an even split", Wrong(as_one_rank, partial_batch_split_evenly), "rank 0 got"),
    ("shard-reassembly", "a cursor per rank", Wrong(answer=cursor_moved_by_rank), "cursor_next"),
    ("shard-reassembly", "the share as batch size", Wrong(answer=metadata_of_the_share), "effective_batch_size"),
    ("world-size-independence", "a seed per world size", Wrong(seeded_by_world_size), "the batch at"),
    ("world-size-independence", "a cursor of shares", Wrong(answer=advanced_by_the_share), "the cursor before a step"),
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
    (
        "restore-continuity",
        "seeded at index 0 only",
        Wrong(seeded_at_index_0_only, cursor_of_the_question),
        "restored at",
    ),
    ("restore-continuity", "its own count of calls", Wrong(answer=counts_calls), "restored at"),
    ("cursor-purity", "its own count of calls", Wrong(answer=counts_calls), "asked again, repeated"),
    ("cursor-purity", "answers kept by cursor only", Wrong(answer=remembers_by_cursor_only), "asked again, reversed"),
    ("eval-sequence", "eval shuffled", Wrong(always_train), "eval"),
    ("eval-sequence", "padding by wrapping", Wrong(answer=padded_by_wrapping), "eval with drop_last false"),
    ("eval-sequence", "drop_last in eval", Wrong(answer=drops_in_every_stage), "eval with drop_last true"),
    ("eval-sequence", "infer unlike eval", Wrong(answer=names_the_stage), "infer with drop_last false"),
    ("drop-last-epoch", "nothing dropped", Wrong(never_drops), "the cursor moved"),
    ("drop-last-epoch", "a shorter order", Wrong(order_of_the_shortened_epoch), "held to the kept epoch"),
    ("drop-last-epoch", "samples behind the limit", Wrong(goes_on_behind_the_limit), "behind the epoch's limit"),
    ("epoch-reseeding", "no epoch", Wrong(seeded_without_epoch, epoch_put_back), "epoch 0 and epoch 1 begin"),
    ("epoch-reseeding", "no token", Wrong(lambda i, m: changed(i, kernel_replay_token=bytes(32))), "replay token"),
    ("epoch-reseeding", "no manifest hash", Wrong(lambda i, m: changed(i, manifest_hash=bytes(32))), "manifest hash"),
    ("epoch-reseeding", "no dataset key", Wrong(lambda i, m: changed(i, dataset_key="d")), "dataset key"),
    ("epoch-reseeding", "roll-overs counted", Wrong(seeded_by_roll_overs, cursor_of_the_question), "asked for again"),
]

BATCHES = [*SHARDS, *EPOCHS]


@each_of(BATCHES)
def test_a_wrong_backend_breaks_the_law(law: str, wrong: Wrong, said: str) -> None:
    assert breaks(law, wrong, said)
