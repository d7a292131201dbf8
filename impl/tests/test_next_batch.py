"""NextBatch: every pinned batch, and the relations between calls."""

import copy
import struct
from hashlib import sha256
from typing import Any

import pytest

from impl.reference import backend
from impl.tests.batch_calls import ABSENT, NEXT_BATCH, batch_params, call_batch, global_batch, whole_epoch

Ranks = list[list[int]]
EPOCH_1 = [0, 2, 1, 8, 7, 6, 4, 3, 5, 9]


def split(indices: list[int], *lengths: int) -> Ranks:
    ranks, start = [], 0
    for length in lengths:
        ranks.append(indices[start : start + length])
        start += length
    return ranks


TRAIN_KEEP: list[tuple[int, int, list[int], dict[int, tuple[int, ...]], tuple[int, int], int]] = [
    (0, 0, [7, 8, 6, 5], {1: (4,), 2: (2, 2), 4: (1, 1, 1, 1)}, (0, 4), 4),
    (0, 4, [3, 4, 0, 1], {1: (4,), 2: (2, 2), 4: (1, 1, 1, 1)}, (0, 8), 4),
    (0, 8, [2, 9], {1: (2,), 2: (2, 0), 4: (1, 1, 0, 0)}, (1, 0), 2),
    (1, 0, [0, 2, 1, 8], {1: (4,), 2: (2, 2), 4: (1, 1, 1, 1)}, (1, 4), 4),
    (0, 5, [4, 0, 1, 2], {1: (4,)}, (0, 9), 4),
    (0, 9, [9], {1: (1,)}, (1, 0), 1),
]


@pytest.mark.parametrize(("epoch", "index", "indices", "shares", "after", "produced"), TRAIN_KEEP)
def test_train_keeps_the_short_last_batch(
    epoch: int,
    index: int,
    indices: list[int],
    shares: dict[int, tuple[int, ...]],
    after: tuple[int, int],
    produced: int,
) -> None:
    for world_size, lengths in shares.items():
        expected = split(indices, *lengths), {"epoch": after[0], "global_index": after[1]}, produced
        assert global_batch(epoch=epoch, index=index, world_size=world_size) == expected


def test_epoch_1_of_train() -> None:
    assert whole_epoch(epoch=1) == EPOCH_1


@pytest.mark.parametrize(
    ("index", "indices", "after", "produced"),
    [
        (0, [7, 8, 6, 5], (0, 4), 4),
        (4, [3, 4, 0, 1], (1, 0), 4),
        (5, [4, 0, 1], (1, 0), 3),
        (8, [], (1, 0), 0),
        (9, [], (1, 0), 0),
    ],
)
def test_train_drops_the_short_last_batch(
    index: int, indices: list[int], after: tuple[int, int], produced: int
) -> None:
    cursor = {"epoch": after[0], "global_index": after[1]}
    assert global_batch(index=index, drop_last=True) == ([indices], cursor, produced)


@pytest.mark.parametrize("stage", ["eval", "infer"])
@pytest.mark.parametrize("drop_last", [ABSENT, False, True])
@pytest.mark.parametrize(
    ("epoch", "index", "world_size", "ranks", "after", "produced"),
    [
        (0, 0, 1, [[0, 1, 2, 3]], (0, 4), 4),
        (0, 4, 1, [[4, 5, 6, 7]], (0, 8), 4),
        (0, 8, 1, [[8, 9]], (1, 0), 2),
        (0, 8, 2, [[8, 9], []], (1, 0), 2),
        (0, 8, 4, [[8], [9], [], []], (1, 0), 2),
        (1, 0, 1, [[0, 1, 2, 3]], (1, 4), 4),
    ],
)
def test_eval_and_infer_are_sequential_and_never_wrap(
    stage: str,
    drop_last: bool,
    epoch: int,
    index: int,
    world_size: int,
    ranks: Ranks,
    after: tuple[int, int],
    produced: int,
) -> None:
    cursor = {"epoch": after[0], "global_index": after[1]}
    answer = global_batch(stage=stage, drop_last=drop_last, epoch=epoch, index=index, world_size=world_size)
    assert answer == (ranks, cursor, produced)


def test_a_dataset_of_one_sample() -> None:
    assert global_batch(n=1, batch_size=1) == ([[0]], {"epoch": 1, "global_index": 0}, 1)


def test_a_batch_larger_than_the_dataset_is_kept_whole() -> None:
    answer = global_batch(n=3, batch_size=8, world_size=2, block=2)
    assert answer == ([[1, 0, 2], []], {"epoch": 1, "global_index": 0}, 3)
    assert call_batch(n=3, batch_size=8, block=2)["sampling_metadata"]["effective_q"] == 8 / 3


def test_a_thousand_samples_start_in_block_8() -> None:
    start = [522, 535, 548, 561, 574, 523, 536, 549, 562, 575, 524, 537, 550, 563, 512, 525]
    answer = call_batch(n=1000, batch_size=48, block=64)
    assert answer["batch_sample_indices"][:16] == start
    assert answer["sampling_metadata"]["blocks_materialized"] == 15


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize(
    ("n", "batch_size", "block", "expected"),
    [
        (10, 4, 3, "324b355664c27c99b24da7339adb71e85785bd442e6c0b32da51736d46c2e26b"),
        (1000, 48, 64, "f51c6d709c773bcc1746e437258a72660943c018c0c3f0d85cdf8db516df2fcc"),
    ],
)
def test_epoch_digests_for_every_world_size(
    n: int, batch_size: int, block: int, expected: str, world_size: int
) -> None:
    epoch = whole_epoch(n=n, batch_size=batch_size, block=block, world_size=world_size)
    assert sorted(epoch) == list(range(n))
    assert sha256(b"".join(struct.pack("<Q", index) for index in epoch)).hexdigest() == expected


def test_block_order_stands_behind_the_batches() -> None:
    blocks = [index // 64 for index in whole_epoch(n=1000, batch_size=64, block=64)[::64]]
    assert blocks == [8, 9, 12, 10, 11, 13, 3, 5, 0, 4, 2, 7, 1, 14, 6, 15]


def test_metadata_holds_the_state_before_the_call() -> None:
    metadata = call_batch(index=4, world_size=2, rank=1)["sampling_metadata"]
    assert metadata == {
        "epoch": 0,
        "global_position": 4,
        "is_shuffled": True,
        "effective_batch_size": 4,
        "produced_count": 4,
        "blocks_materialized": 3,
        "subsampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT",
        "sampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT_BLOCK_AFFINE_V1",
        "effective_q": 0.4,
        "sampler_block_size": 3,
        "sampler_config_hash": bytes.fromhex("d2ab4d926b340bf935d9fa21fe1a226e7073bdfedf2bf068a0f5c0352fed4654"),
    }


def test_eval_metadata_materializes_no_blocks() -> None:
    metadata = call_batch(stage="eval", index=8)["sampling_metadata"]
    assert metadata["blocks_materialized"] == 0
    assert metadata["is_shuffled"] is False
    assert metadata["subsampling_mode"] == "NONE"
    assert metadata["sampling_mode"] == "SEQUENTIAL_V1"
    assert metadata["effective_batch_size"] == 4
    assert metadata["produced_count"] == 2


def test_the_trace_record_holds_both_cursors_and_the_replay_token() -> None:
    trace = call_batch(index=8, world_size=4, rank=3, t=17)["trace_record"]
    assert trace == {
        "t": 17,
        "epoch": 0,
        "global_position": 8,
        "is_shuffled": True,
        "micro_batch_size": 1,
        "global_batch_size": 4,
        "subsampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT",
        "sampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT_BLOCK_AFFINE_V1",
        "sampler_config_hash": bytes.fromhex("d2ab4d926b340bf935d9fa21fe1a226e7073bdfedf2bf068a0f5c0352fed4654"),
        "effective_q": 0.4,
        "epoch_seed_hash": bytes.fromhex("38962a8c208ebffd9618dca626cce67e9304f27a5fdf0dec5d8399d34c284a24"),
        "data_replay_t": bytes.fromhex("c63e9859f5f862efd3bac1f406a622b3b26406926c4765af2d2588e67003d8b0"),
        "cursor_before": {"epoch": 0, "global_index": 8},
        "cursor_after": {"epoch": 1, "global_index": 0},
        "produced_count": 2,
    }


@pytest.mark.parametrize(
    ("changes", "bits"),
    [
        ({}, "3fd999999999999a"),
        ({"n": 3, "batch_size": 8}, "4005555555555555"),
        ({"stage": "eval", "n": 2**53 + 1, "batch_size": 3}, "3cb8000000000000"),
    ],
)
def test_effective_q_rounds_both_numbers_before_it_divides(changes: dict[str, Any], bits: str) -> None:
    assert struct.pack(">d", call_batch(**changes)["sampling_metadata"]["effective_q"]).hex() == bits


def test_an_absent_block_size_is_the_default() -> None:
    metadata = call_batch(block=ABSENT)["sampling_metadata"]
    assert metadata["sampler_block_size"] == 1048576
    expected = "fd98df5908735429e5bc7ee2e4bffd7a4d91987c51c80697f112512562ecd90b"
    assert metadata["sampler_config_hash"].hex() == expected


def test_an_absent_data_section_is_the_defaults() -> None:
    params = batch_params()
    del params["manifest"]["data"]
    assert backend.call(NEXT_BATCH, params) == call_batch(block=ABSENT)


def test_the_inputs_are_left_as_they_were() -> None:
    params = batch_params(index=4, dataset_registry={bytes([7] * 32).hex(): 10})
    before = copy.deepcopy(params)
    backend.call(NEXT_BATCH, params)
    assert params == before


def test_a_registry_and_an_accountant_that_agree_change_nothing() -> None:
    agreeing = call_batch(
        dataset_registry={bytes([7] * 32).hex(): 10}, accountant_subsampling_mode="SHUFFLE_WITHOUT_REPLACEMENT"
    )
    assert agreeing == call_batch()


@pytest.mark.parametrize("stage", ["train", "eval"])
def test_the_sequence_is_the_same_when_the_world_size_changes_between_calls(stage: str) -> None:
    whole = whole_epoch(n=1000, batch_size=48, block=64, stage=stage)
    mixed: list[int] = []
    for step, world_size in zip(range(0, 1000, 48), [1, 2, 3, 4, 8, 16, 48] * 3, strict=True):
        ranks, _, _ = global_batch(n=1000, batch_size=48, block=64, stage=stage, index=step, world_size=world_size)
        mixed += [index for rank in ranks for index in rank]
    assert mixed == whole


def test_indices_above_2_to_the_53_stay_exact() -> None:
    n = 2**60
    indices = call_batch(n=n, block=2**32, stage="eval", index=n - 3)["batch_sample_indices"]
    assert indices == [n - 3, n - 2, n - 1]
