"""The values that the data requirements pin, asked of the vectorized backend."""

import hashlib
import struct
from typing import Any

import numpy as np
import pytest

from impl.failure import ContractFailure
from impl.vectorized import Cursor, Sampler, preimages
from impl.vectorized.affine import Rows
from impl.vectorized.block_order import Placement
from impl.vectorized.helpers import Helpers
from impl.vectorized.next_batch import NextBatch
from impl.vectorized.philox import block_draw, block_draws, stream_draws
from impl.vectorized.records import DataSection, Dataset, Manifest

SEED = bytes(range(16))
CARRY = bytes.fromhex("0011223344556677ffffffffffffffff")
TOKEN = bytes(range(32))
MANIFEST_HASH = bytes(range(32, 64))
MAX = (1 << 64) - 1


def helpers() -> Helpers:
    return Helpers(Placement(Rows()))


def order(seed: bytes, n: int) -> list[int]:
    return [int(x) for x in helpers().seeded_block_permute(num_blocks=n, epoch_seed=seed).block_order]


def mapped(seed: bytes, block: int, size: int, cardinality: int, positions: range) -> list[int]:
    operator = helpers().seeded_intra_block_map
    return [
        operator(block_id=block, local_pos=p, block_size=size, epoch_seed=seed, cardinality=cardinality).original_index
        for p in positions
    ]


def sampler(cardinality: int, batch: int, block: int, **fields: Any) -> Sampler:
    return Sampler(
        cardinality=cardinality,
        global_batch_size=batch,
        block_size=block,
        seed_token=TOKEN,
        manifest_hash=MANIFEST_HASH,
        dataset_key="d",
        **fields,
    )


def refused(**changes: Any) -> str:
    base: dict[str, Any] = {
        "key": "d", "n": 10, "b": 4, "w": 1, "r": 0, "block": 3, "drop": False, "stage": "train",
        "epoch": 0, "index": 0,
    } | changes  # fmt: skip
    with pytest.raises(ContractFailure) as caught:
        NextBatch(Placement(Rows())).next_batch(
            manifest=Manifest(
                {"d": Dataset("", "", bytes(32), base["n"])}, base["b"], DataSection(base["block"], base["drop"])
            ),
            dataset_key=base["key"],
            world_size=base["w"],
            rank=base["r"],
            stage_type=base["stage"],
            cursor_in=Cursor(base["epoch"], base["index"]),
            kernel_replay_token=TOKEN,
            manifest_hash=MANIFEST_HASH,
            t=0,
        )
    assert caught.value.data["failure_code"] == caught.value.code
    return caught.value.code


def test_stream_draws_are_the_pinned_ones_also_across_the_carry() -> None:
    assert [f"{int(x):016x}" for x in stream_draws(SEED, 4)] == [
        "7bdd3fa0b6dfb348", "bd52d5b20eb5c9e0", "a63477fbe4f68558", "049dc46e00a9fbf3",
    ]  # fmt: skip
    assert [f"{int(x):016x}" for x in stream_draws(CARRY, 3)] == [
        "dab8d620e3b93bde", "ceccb48a9c3dc00b", "0700a3bad364bee2",
    ]  # fmt: skip


def test_block_draws_are_the_pinned_ones_one_by_one_and_together() -> None:
    pinned = {
        0: (9530610922363714702, 14103799498879523190),
        1: (18109598409006749738, 9464994738034133679),
        1 << 32: (17805457110644266457, 401082381171509110),
    }
    assert {block: block_draw(SEED, block) for block in pinned} == pinned
    low, high = block_draws(SEED, np.array(list(pinned), np.uint64))
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == list(pinned.values())


@pytest.mark.parametrize(
    ("seed", "n", "expected"),
    [
        (SEED, 1, [0]),
        (SEED, 8, [0, 7, 4, 3, 6, 2, 1, 5]),
        (SEED, 13, [5, 0, 1, 8, 9, 12, 6, 7, 10, 3, 4, 2, 11]),
        (CARRY, 8, [6, 2, 1, 3, 4, 5, 7, 0]),
        (bytes.fromhex("ced208f8890a2534fc42ceee62c7ac6e"), 15, [8, 9, 12, 10, 11, 13, 3, 5, 0, 4, 2, 7, 1, 14, 6]),
    ],
)
def test_block_orders_are_the_pinned_ones(seed: bytes, n: int, expected: list[int]) -> None:
    assert order(seed, n) == expected


@pytest.mark.parametrize(
    ("seed", "block", "size", "cardinality", "expected"),
    [
        (SEED, 0, 7, 7, [2, 0, 5, 3, 1, 6, 4]),
        (SEED, 0, 8, 8, [6, 1, 4, 7, 2, 5, 0, 3]),
        (SEED, 0, 100, 100, [90, 71, 52, 33, 14, 95, 76, 57, 38, 19]),
        (SEED, 1, 3, 5, [4, 3]),
        (SEED, 1, 3, 6, [3, 4, 5]),
        (SEED, 0, 2, 2, [0, 1]),
        (CARRY, 0, 8, 8, [1, 4, 7, 2, 5, 0, 3, 6]),
    ],
)
def test_block_maps_are_the_pinned_ones(
    seed: bytes, block: int, size: int, cardinality: int, expected: list[int]
) -> None:
    assert mapped(seed, block, size, cardinality, range(len(expected))) == expected


def test_the_longest_block_is_mapped_and_a_longer_one_refused() -> None:
    size = 1 << 32
    assert mapped(SEED, 0, size, size, range(3)) == [1242290550, 1178721833, 1115153116]
    assert mapped(SEED, 0, size, size, range(size - 1, size)) == [1305859267]
    with pytest.raises(ContractFailure) as caught:
        mapped(SEED, 0, size + 1, size + 1, range(1))
    assert caught.value.data == {
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": "UML_OS.Data.SeededIntraBlockMap_v1",
    }


@pytest.mark.parametrize("bad", [{"num_blocks": 0, "epoch_seed": SEED}, {"num_blocks": 3, "epoch_seed": SEED[:15]}])
def test_a_block_order_needs_blocks_and_a_whole_seed(bad: dict[str, Any]) -> None:
    with pytest.raises(ContractFailure, match="CONTRACT_VIOLATION"):
        helpers().seeded_block_permute(**bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"block_size": 0},
        {"block_id": 4},
        {"block_id": MAX, "block_size": MAX},
        {"local_pos": 3},
        {"block_id": 3, "local_pos": 1},
        {"epoch_seed": b""},
    ],
)
def test_a_block_map_refuses_what_lies_outside(bad: dict[str, Any]) -> None:
    good: dict[str, Any] = {"block_id": 0, "local_pos": 0, "block_size": 3, "epoch_seed": SEED, "cardinality": 10}
    helpers().seeded_intra_block_map(**good)
    with pytest.raises(ContractFailure, match="CONTRACT_VIOLATION"):
        helpers().seeded_intra_block_map(**good | bad)


def test_preimages_hash_to_the_pinned_values() -> None:
    seeds = [preimages.epoch_seed(TOKEN, MANIFEST_HASH, "d", epoch) for epoch in range(3)]
    assert [seed.hex() for seed in seeds] == [
        "ced208f8890a2534fc42ceee62c7ac6e", "6d38deae5c64b0d87caa5f577d801cec", "db3a06391a9372e489cd3e6c0f5de850",
    ]  # fmt: skip
    assert preimages.epoch_seed_hash(seeds[0]).hex() == (
        "38962a8c208ebffd9618dca626cce67e9304f27a5fdf0dec5d8399d34c284a24"
    )
    train, evaluation = "SHUFFLE_WITHOUT_REPLACEMENT_BLOCK_AFFINE_V1", "SEQUENTIAL_V1"
    configs = [(train, 3, False), (train, 3, True), (evaluation, 3, False), (train, 1 << 20, False)]
    assert [preimages.sampler_config_hash(*config).hex() for config in configs] == [
        "d2ab4d926b340bf935d9fa21fe1a226e7073bdfedf2bf068a0f5c0352fed4654",
        "c15f651e02d660d61e4f295a69f8945edb3733928cf00dc5cdb0377dda56bc05",
        "009ced93d8e0738b5a2ca874a81218990b35adba806e5a2f8d02f67afaffcd31",
        "fd98df5908735429e5bc7ee2e4bffd7a4d91987c51c80697f112512562ecd90b",
    ]
    calls = [(0, 0, 1, 0), (0, 4, 1, 0), (0, 0, 2, 1), (0, 8, 4, 3)]
    assert [preimages.data_replay_t(TOKEN, "d", *call).hex() for call in calls] == [
        "f91d22a417a5cb7e31850e3c4c6ea0590cb22578951552b500493bb57202a8f8",
        "a55dc1e993b20f03a8eecd05173e0b2acd77eb426c3e2232a72ebc7de4b24246",
        "08b66f73bcf49d7e7152f9e514ebee5c0d6a86bd5f49e0d6c241b99b12eccccf",
        "c63e9859f5f862efd3bac1f406a622b3b26406926c4765af2d2588e67003d8b0",
    ]


KEEP = {"stage_type": "train"}
DROP = {"stage_type": "train", "drop_last": True}
EVAL = {"stage_type": "eval", "drop_last": True}


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize(
    ("fields", "cursor", "expected", "cursor_next", "produced"),
    [
        (KEEP, (0, 0), [7, 8, 6, 5], (0, 4), 4),
        (KEEP, (0, 4), [3, 4, 0, 1], (0, 8), 4),
        (KEEP, (0, 8), [2, 9], (1, 0), 2),
        (KEEP, (1, 0), [0, 2, 1, 8], (1, 4), 4),
        (KEEP, (1, 4), [7, 6, 4, 3], (1, 8), 4),
        (KEEP, (0, 5), [4, 0, 1, 2], (0, 9), 4),
        (KEEP, (0, 9), [9], (1, 0), 1),
        (DROP, (0, 0), [7, 8, 6, 5], (0, 4), 4),
        (DROP, (0, 4), [3, 4, 0, 1], (1, 0), 4),
        (DROP, (0, 8), [], (1, 0), 0),
        (DROP, (0, 9), [], (1, 0), 0),
        (DROP, (0, 5), [4, 0, 1], (1, 0), 3),
        (EVAL, (0, 0), [0, 1, 2, 3], (0, 4), 4),
        (EVAL, (0, 4), [4, 5, 6, 7], (0, 8), 4),
        (EVAL, (0, 8), [8, 9], (1, 0), 2),
        (EVAL, (1, 0), [0, 1, 2, 3], (1, 4), 4),
    ],
)
def test_batches_of_ten_samples_are_the_pinned_ones_for_every_world_size(
    fields: dict[str, Any],
    cursor: tuple[int, int],
    expected: list[int],
    cursor_next: tuple[int, int],
    produced: int,
    world_size: int,
) -> None:
    parts = []
    for rank in range(world_size):
        batch = sampler(10, 4, 3, world_size=world_size, rank=rank, **fields).batch_at(Cursor(*cursor))
        assert batch.cursor_next == Cursor(*cursor_next)
        assert batch.sampling_metadata.produced_count == batch.trace_record.produced_count == produced
        parts.append(batch.batch_sample_indices.tolist())
    micro = 4 // world_size
    assert parts == [expected[rank * micro : (rank + 1) * micro] for rank in range(world_size)]


def test_a_batch_larger_than_the_dataset_leaves_late_ranks_empty() -> None:
    batches = [sampler(3, 8, 2, world_size=2, rank=rank).batch_at() for rank in range(2)]
    assert [batch.batch_sample_indices.tolist() for batch in batches] == [[1, 0, 2], []]
    assert [batch.cursor_next for batch in batches] == [Cursor(1, 0)] * 2
    only = sampler(1, 1, 1 << 20).batch_at()
    assert (only.batch_sample_indices.tolist(), only.cursor_next) == ([0], Cursor(1, 0))


def test_metadata_and_trace_tell_the_pinned_numbers() -> None:
    batch = sampler(10, 4, 3, world_size=2, rank=1).batch_at(Cursor(0, 4), t=7)
    metadata, trace = batch.sampling_metadata, batch.trace_record
    assert struct.pack(">d", metadata.effective_q).hex() == "3fd999999999999a"
    assert (metadata.epoch, metadata.global_position, metadata.effective_batch_size) == (0, 4, 4)
    assert (metadata.blocks_materialized, metadata.sampler_block_size, metadata.is_shuffled) == (3, 3, True)
    assert metadata.subsampling_mode == "SHUFFLE_WITHOUT_REPLACEMENT"
    assert (trace.t, trace.micro_batch_size, trace.global_batch_size) == (7, 2, 4)
    assert (trace.cursor_before, trace.cursor_after) == (Cursor(0, 4), Cursor(0, 8))
    sequential = sampler(10, 4, 3, stage_type="infer").batch_at().sampling_metadata
    assert (sequential.subsampling_mode, sequential.sampling_mode) == ("NONE", "SEQUENTIAL_V1")
    assert sequential.blocks_materialized == 0


@pytest.mark.parametrize(
    ("cardinality", "batch", "bits"),
    [(10, 4, "3fd999999999999a"), (3, 8, "4005555555555555"), (2**53 + 1, 3, "3cb8000000000000")],
)
def test_effective_q_rounds_both_numbers_before_it_divides(cardinality: int, batch: int, bits: str) -> None:
    metadata = sampler(cardinality, batch, 1 << 20, stage_type="eval").batch_at().sampling_metadata
    assert struct.pack(">d", metadata.effective_q).hex() == bits


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize(
    ("cardinality", "batch", "block", "digest"),
    [
        (10, 4, 3, "324b355664c27c99b24da7339adb71e85785bd442e6c0b32da51736d46c2e26b"),
        (1000, 48, 64, "f51c6d709c773bcc1746e437258a72660943c018c0c3f0d85cdf8db516df2fcc"),
    ],
)
def test_epoch_digests_are_the_pinned_ones(
    cardinality: int, batch: int, block: int, digest: str, world_size: int
) -> None:
    ranks = [sampler(cardinality, batch, block, world_size=world_size, rank=r).batches() for r in range(world_size)]
    running = hashlib.sha256()
    for step in zip(*ranks, strict=True):
        for part in step:
            running.update(part.batch_sample_indices.astype("<u8").tobytes())
    assert running.hexdigest() == digest


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"key": "q", "w": 0}, "INVALID_DATASET_KEY"),
        ({"n": 0, "w": 0}, "CARDINALITY_MISMATCH"),
        ({"w": 0, "b": 0}, "CONTRACT_VIOLATION"),
        ({"r": 2, "w": 2, "b": 3}, "CONTRACT_VIOLATION"),
        ({"b": 0, "n": 1 << 33, "block": (1 << 32) + 1}, "BATCH_SIZE_INCONSISTENT"),
        ({"n": 1 << 33, "block": (1 << 32) + 1, "stage": "x"}, "CONTRACT_VIOLATION"),
        ({"block": 0, "stage": "x"}, "BATCH_SIZE_INCONSISTENT"),
        ({"stage": "x", "drop": True, "b": 11}, "INVALID_STAGE_TYPE"),
        ({"drop": True, "b": 11, "index": 10}, "BATCH_SIZE_INCONSISTENT"),
        ({"index": 10, "epoch": MAX}, "GLOBAL_POSITION_EXCEEDS_CARDINALITY"),
        ({"stage": "eval", "n": MAX, "index": MAX - 1, "b": 4}, "COUNTER_OVERFLOW"),
        ({"epoch": MAX}, "COUNTER_OVERFLOW"),
        ({"w": 3}, "BATCH_SIZE_INCONSISTENT"),
    ],
)
def test_of_two_faults_the_first_guard_decides(changes: dict[str, Any], code: str) -> None:
    assert refused(**changes) == code


def test_eval_positions_near_the_top_of_uint64_are_exact() -> None:
    batch = sampler(MAX, 8, 1 << 20, stage_type="eval").batch_at(Cursor(0, MAX - 9))
    assert batch.batch_sample_indices.tolist() == list(range(MAX - 9, MAX - 1))
    assert batch.cursor_next == Cursor(0, MAX - 1)
