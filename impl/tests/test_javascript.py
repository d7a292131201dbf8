"""The operators of the JavaScript backend, over both wires, against the values pinned by the requirement page."""

# ruff: noqa: N803, N806 - N, B and W are the seed's names.

import hashlib
import itertools
import math
import struct
from collections.abc import Iterator
from pathlib import Path

import cbor2
import pytest
import yaml

from impl.tests.javascript_process import (
    CARRY_SEED,
    DATASET_HASH,
    DECODE,
    EMIT,
    ENCODE,
    MAP,
    MAX,
    NEXT_BATCH,
    PERMUTE,
    SEED,
    SUMMARIZE,
    TOKEN,
    Backend,
    Json,
    Native,
    Small,
    Value,
    batch_inputs,
    cbor_form,
    evaluate,
    map_inputs,
)

ERRORS = Path(__file__).parents[2] / "spec" / "errors.yaml"


@pytest.fixture(scope="module", params=["json", "cbor"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    started = Backend(request.param)
    yield started
    assert started.finish() == 0


# The primitives


def test_philox_gives_the_known_answers_of_random123() -> None:
    cases = [
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ]
    for counter, key, words in cases:
        script = f"""import {{ philox4x32 }} from "./philox.js";
            const block = new Uint32Array(4); philox4x32(...{counter}, ...{key}, block);
            console.log(JSON.stringify([...block]));"""
        assert " ".join(f"{word:08x}" for word in evaluate(script)) == words


@pytest.mark.parametrize(
    ("seed", "counters", "draws"),
    [
        (SEED, None, "7bdd3fa0b6dfb348 bd52d5b20eb5c9e0 a63477fbe4f68558 049dc46e00a9fbf3"),
        (CARRY_SEED, [[0, 0, 1, 0], [1, 0, 1, 0]], "dab8d620e3b93bde ceccb48a9c3dc00b 0700a3bad364bee2"),
    ],
)
def test_draws_increment_a_128_bit_counter_and_then_encrypt(seed: bytes, counters: Native, draws: str) -> None:
    script = f"""import {{ DrawStream }} from "./philox.js";
        const stream = new DrawStream(Buffer.from("{seed.hex()}", "hex"));
        const made = Array.from({{ length: {len(draws.split())} }}, () => [[...stream.next()], [...stream.counter]]);
        console.log(JSON.stringify(made));"""
    made = evaluate(script)
    assert [f"{words[1]:08x}{words[0]:08x}" for words, _ in made] == draws.split()
    assert counters is None or [counter for _, counter in made][: len(counters)] == counters


@pytest.mark.parametrize(
    ("block", "k0", "k1"),
    [
        (0, 9530610922363714702, 14103799498879523190),
        (1, 18109598409006749738, 9464994738034133679),
        (2**32, 17805457110644266457, 401082381171509110),
    ],
)
def test_a_block_map_uses_the_block_number_as_the_upper_counter(backend: Backend, block: int, k0: int, k1: int) -> None:
    size = 1000
    a = 1 + k0 % (size - 1)
    while math.gcd(a, size) != 1:
        a = a % (size - 1) + 1
    for position in (0, 1, 999):
        asked = map_inputs(block, position, size, (block + 1) * size)
        expected = {"original_index": block * size + (a * position + k1 % size) % size}
        assert backend.call(MAP, asked) == backend.form(expected)


def test_the_remainder_of_a_64_bit_draw_is_exact() -> None:
    values = [0, 1, 2**32, 2**53 + 1, MAX, 0x7BDD3FA0B6DFB348, 0xFFFF0000FFFF0001]
    divisors = [1, 2, 3, 65537, 2**31 - 1, 2**32 - 5, 2**32]
    pairs = [(value, divisor) for value in values for divisor in divisors]
    words = [[value & 0xFFFFFFFF, value >> 32, divisor] for value, divisor in pairs]
    script = f"""import {{ remainder64 }} from "./philox.js";
        console.log(JSON.stringify({words}.map((words) => remainder64(...words))));"""
    assert evaluate(script) == [value % divisor for value, divisor in pairs]


# SeededBlockPermute and SeededIntraBlockMap


@pytest.mark.parametrize(
    ("seed", "count", "order"),
    [
        (SEED, 1, [0]),
        (SEED, 8, [0, 7, 4, 3, 6, 2, 1, 5]),
        (SEED, 13, [5, 0, 1, 8, 9, 12, 6, 7, 10, 3, 4, 2, 11]),
        (CARRY_SEED, 8, [6, 2, 1, 3, 4, 5, 7, 0]),
    ],
)
def test_block_order_is_pinned(backend: Backend, seed: bytes, count: int, order: list[int]) -> None:
    assert backend.call(PERMUTE, {"num_blocks": count, "epoch_seed": seed}) == backend.form({"block_order": order})


def test_block_order_is_a_bijection(backend: Backend) -> None:
    order = backend.call(PERMUTE, {"num_blocks": 95_367, "epoch_seed": SEED})["block_order"]
    assert sorted(map(int, order)) == list(range(95_367))


@pytest.mark.parametrize(("count", "seed"), [(0, SEED), (8, SEED[:15]), (8, SEED + b"\0"), (8, b"")])
def test_block_order_refuses_no_blocks_and_other_seed_lengths(backend: Backend, count: int, seed: bytes) -> None:
    assert_default_failure(backend, PERMUTE, {"num_blocks": count, "epoch_seed": seed})


def assert_default_failure(
    backend: Backend, method: str, params: Native, code: str = "CONTRACT_VIOLATION", number: int = 1801
) -> None:
    data = {"failure_code": code, "failure_operator": method}
    assert backend.refuse(method, params) == {"code": number, "message": code, "data": data}


@pytest.mark.parametrize(
    ("block", "size", "cardinality", "seed", "indices"),
    [
        (0, 7, 7, SEED, [2, 0, 5, 3, 1, 6, 4]),
        (0, 8, 8, SEED, [6, 1, 4, 7, 2, 5, 0, 3]),
        (0, 100, 100, SEED, [90, 71, 52, 33, 14, 95, 76, 57, 38, 19]),
        (1, 3, 5, SEED, [4, 3]),
        (1, 3, 6, SEED, [3, 4, 5]),
        (0, 2, 2, SEED, [0, 1]),
        (0, 8, 8, CARRY_SEED, [1, 4, 7, 2, 5, 0, 3, 6]),
        (7, 1, 9, SEED, [7]),
        (3, 64, 193, SEED, [192]),
    ],
)
def test_block_map_is_pinned(
    backend: Backend, block: int, size: int, cardinality: int, seed: bytes, indices: list[int]
) -> None:
    for position, index in enumerate(indices):
        answer = backend.call(MAP, map_inputs(block, position, size, cardinality, seed))
        assert answer == backend.form({"original_index": index})


def test_the_largest_block_is_pinned(backend: Backend) -> None:
    pinned = {0: 1242290550, 1: 1178721833, 2: 1115153116, 2**32 - 1: 1305859267}
    for position, index in pinned.items():
        answer = backend.call(MAP, map_inputs(0, position, 2**32, 2**32))
        assert answer == backend.form({"original_index": index})


@pytest.mark.parametrize(("block", "size", "cardinality"), [(2, 7, 40), (5, 64, 350), (MAX // 64, 64, MAX)])
def test_block_map_is_a_bijection_of_its_block(backend: Backend, block: int, size: int, cardinality: int) -> None:
    start = block * size
    length = min(size, cardinality - start)
    answers = [backend.call(MAP, map_inputs(block, position, size, cardinality)) for position in range(length)]
    assert sorted(int(answer["original_index"]) for answer in answers) == list(range(start, start + length))


@pytest.mark.parametrize(
    ("block", "position", "size", "cardinality"),
    [
        (0, 0, 0, 10),
        (0, 0, 1, 0),
        (4, 0, 3, 12),
        (2**63, 0, 2**32, MAX),
        (0, 0, 2**32 + 1, 2**33),
        (0, 7, 7, 7),
        (3, 1, 3, 10),
        (0, 1, 1, 5),
    ],
    ids=["no-size", "no-data", "no-block", "wrapping-block", "wide-block", "past-block", "past-tail", "past-single"],
)
def test_block_map_refuses_what_lies_outside(
    backend: Backend, block: int, position: int, size: int, cardinality: int
) -> None:
    assert_default_failure(backend, MAP, map_inputs(block, position, size, cardinality))


# NextBatch


def indices_of(answer: Json) -> list[int]:
    return [int(index) for index in answer["batch_sample_indices"]]


def cursor_of(answer: Json) -> tuple[int, int]:
    return int(answer["cursor_next"]["epoch"]), int(answer["cursor_next"]["global_index"])


PINNED_BATCHES = [
    # stage, drop_last, cursor, ranks, cursor after, produced
    ("train", False, (0, 0), "7 8 6 5", (0, 4), 4),
    ("train", False, (0, 0), "7 8|6 5", (0, 4), 4),
    ("train", False, (0, 0), "7|8|6|5", (0, 4), 4),
    ("train", False, (0, 4), "3 4 0 1", (0, 8), 4),
    ("train", False, (0, 4), "3 4|0 1", (0, 8), 4),
    ("train", False, (0, 4), "3|4|0|1", (0, 8), 4),
    ("train", False, (0, 8), "2 9", (1, 0), 2),
    ("train", False, (0, 8), "2 9|", (1, 0), 2),
    ("train", False, (0, 8), "2|9||", (1, 0), 2),
    ("train", False, (1, 0), "0 2 1 8", (1, 4), 4),
    ("train", False, (1, 0), "0 2|1 8", (1, 4), 4),
    ("train", False, (1, 4), "7 6 4 3", (1, 8), 4),
    ("train", False, (1, 8), "5 9", (2, 0), 2),
    ("train", False, (0, 5), "4 0 1 2", (0, 9), 4),
    ("train", False, (0, 9), "9", (1, 0), 1),
    ("train", True, (0, 0), "7 8 6 5", (0, 4), 4),
    ("train", True, (0, 4), "3 4 0 1", (1, 0), 4),
    ("train", True, (0, 8), "", (1, 0), 0),
    ("train", True, (0, 9), "", (1, 0), 0),
    ("train", True, (0, 5), "4 0 1", (1, 0), 3),
    ("eval", False, (0, 0), "0 1 2 3", (0, 4), 4),
    ("eval", True, (0, 4), "4 5|6 7", (0, 8), 4),
    ("eval", True, (0, 8), "8 9", (1, 0), 2),
    ("eval", False, (0, 8), "8 9|", (1, 0), 2),
    ("infer", False, (0, 8), "8|9||", (1, 0), 2),
    ("infer", True, (1, 0), "0 1 2 3", (1, 4), 4),
]


@pytest.mark.parametrize(("stage", "drop", "cursor", "ranks", "after", "produced"), PINNED_BATCHES)
def test_batches_of_ten_samples_are_pinned(
    backend: Backend, stage: str, drop: bool, cursor: Native, ranks: str, after: Native, produced: int
) -> None:
    expected = [[int(index) for index in rank.split()] for rank in ranks.split("|")]
    for rank, indices in enumerate(expected):
        asked = batch_inputs(drop=drop, stage=stage, cursor=cursor, W=len(expected), rank=rank)
        answer = backend.call(NEXT_BATCH, asked)
        assert indices_of(answer) == indices
        assert cursor_of(answer) == after
        assert answer["sampling_metadata"]["produced_count"] == backend.form(produced)


@pytest.mark.parametrize(
    ("changes", "indices", "after"),
    [
        ({"N": 1, "B": 1}, [0], (1, 0)),
        ({"N": 3, "B": 8, "W": 2, "block": 2}, [1, 0, 2], (1, 0)),
        ({"N": 3, "B": 8, "W": 2, "block": 2, "rank": 1}, [], (1, 0)),
        ({"N": MAX, "stage": "eval", "cursor": (0, MAX - 4)}, list(range(MAX - 4, MAX)), (1, 0)),
        ({"N": 2**33, "stage": "eval", "cursor": (0, 2**32 - 2)}, list(range(2**32 - 2, 2**32 + 2)), (0, 2**32 + 2)),
    ],
    ids=["one-sample", "batch-beyond-data", "second-rank-empty", "end-of-uint64", "across-32-bits"],
)
def test_batches_at_the_edges(backend: Backend, changes: Native, indices: list[int], after: Native) -> None:
    answer = backend.call(NEXT_BATCH, batch_inputs(**changes))
    assert (indices_of(answer), cursor_of(answer)) == (indices, after)


@pytest.mark.parametrize(("N", "B", "block"), [(10, 4, 3), (1000, 48, 64), (97, 8, 1), (64, 8, 100)])
def test_train_epochs_are_permutations_whatever_the_world_size(backend: Backend, N: int, B: int, block: int) -> None:
    whole = epoch_indices(backend, N, B, block, 1)
    assert sorted(whole) == list(range(N))
    assert all(epoch_indices(backend, N, B, block, W) == whole for W in (2, 4))


def epoch_indices(backend: Backend, N: int, B: int, block: int, W: int) -> list[int]:
    indices: list[int] = []
    cursor = (0, 0)
    while cursor[0] == 0:
        answers = [
            backend.call(NEXT_BATCH, batch_inputs(N, B, block, cursor=cursor, W=W, rank=rank)) for rank in range(W)
        ]
        indices += itertools.chain.from_iterable(map(indices_of, answers))
        (cursor,) = {cursor_of(answer) for answer in answers}
    return indices


@pytest.mark.parametrize(
    ("N", "B", "block", "digest"),
    [
        (10, 4, 3, "324b355664c27c99b24da7339adb71e85785bd442e6c0b32da51736d46c2e26b"),
        (1000, 48, 64, "f51c6d709c773bcc1746e437258a72660943c018c0c3f0d85cdf8db516df2fcc"),
    ],
)
def test_epoch_digests_are_pinned(backend: Backend, N: int, B: int, block: int, digest: str) -> None:
    for W in (1, 2, 4):
        words = b"".join(index.to_bytes(8, "little") for index in epoch_indices(backend, N, B, block, W))
        assert hashlib.sha256(words).hexdigest() == digest


def test_a_thousand_samples_start_as_pinned(backend: Backend) -> None:
    start = [522, 535, 548, 561, 574, 523, 536, 549, 562, 575, 524, 537, 550, 563, 512, 525]
    assert indices_of(backend.call(NEXT_BATCH, batch_inputs(1000, 48, 64)))[:16] == start


def test_a_batch_composes_the_two_helpers_across_32_bits(backend: Backend) -> None:
    N, B, block = 2**34 + 5, 6, 3 * 2**30
    seed = bytes.fromhex("ced208f8890a2534fc42ceee62c7ac6e")
    order = backend.call(PERMUTE, {"num_blocks": N // block, "epoch_seed": seed})["block_order"]
    blocks = [*map(int, order), N // block]
    for position in (0, block - 3, 2 * block - 1, N // block * block - 3, N - B):
        expected = [
            int(backend.call(MAP, map_inputs(blocks[p // block], p % block, block, N, seed))["original_index"])
            for p in range(position, position + B)
        ]
        assert indices_of(backend.call(NEXT_BATCH, batch_inputs(N, B, block, cursor=(0, position)))) == expected
    long_run = indices_of(backend.call(NEXT_BATCH, batch_inputs(N, 4096, block, cursor=(0, block))))
    assert len({index // 2**32 for index in long_run}) > 1


def test_metadata_and_trace_record_are_whole(backend: Backend) -> None:
    answer = backend.call(NEXT_BATCH, batch_inputs(cursor=(0, 8), W=4, rank=3, t=7))
    sampler_config_hash = bytes.fromhex("d2ab4d926b340bf935d9fa21fe1a226e7073bdfedf2bf068a0f5c0352fed4654")
    common = {
        "epoch": 0,
        "global_position": 8,
        "is_shuffled": True,
        "produced_count": 2,
        "subsampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT",
        "sampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT_BLOCK_AFFINE_V1",
        "effective_q": 0.4,
        "sampler_config_hash": sampler_config_hash,
    }
    expected = {
        "batch_sample_indices": [],
        "cursor_next": {"epoch": 1, "global_index": 0},
        "sampling_metadata": common | {"effective_batch_size": 4, "blocks_materialized": 3, "sampler_block_size": 3},
        "trace_record": common
        | {
            "t": 7,
            "micro_batch_size": 1,
            "global_batch_size": 4,
            "epoch_seed_hash": bytes.fromhex("38962a8c208ebffd9618dca626cce67e9304f27a5fdf0dec5d8399d34c284a24"),
            "data_replay_t": bytes.fromhex("c63e9859f5f862efd3bac1f406a622b3b26406926c4765af2d2588e67003d8b0"),
            "cursor_before": {"epoch": 0, "global_index": 8},
            "cursor_after": {"epoch": 1, "global_index": 0},
        },
    }
    assert answer == backend.form(expected)


@pytest.mark.parametrize(
    ("stage", "block", "drop", "digest"),
    [
        ("train", 3, False, "d2ab4d926b340bf935d9fa21fe1a226e7073bdfedf2bf068a0f5c0352fed4654"),
        ("train", 3, True, "c15f651e02d660d61e4f295a69f8945edb3733928cf00dc5cdb0377dda56bc05"),
        ("eval", 3, False, "009ced93d8e0738b5a2ca874a81218990b35adba806e5a2f8d02f67afaffcd31"),
        ("train", None, None, "fd98df5908735429e5bc7ee2e4bffd7a4d91987c51c80697f112512562ecd90b"),
        ("train", None, False, "fd98df5908735429e5bc7ee2e4bffd7a4d91987c51c80697f112512562ecd90b"),
    ],
)
def test_sampler_config_hash_is_pinned(
    backend: Backend, stage: str, block: int | None, drop: bool | None, digest: str
) -> None:
    answer = backend.call(NEXT_BATCH, batch_inputs(block=block, drop=drop, stage=stage))
    expected = backend.form(bytes.fromhex(digest))
    assert answer["sampling_metadata"]["sampler_config_hash"] == expected
    assert answer["trace_record"]["sampler_config_hash"] == expected
    assert answer["sampling_metadata"]["sampler_block_size"] == backend.form(block or 1_048_576)


@pytest.mark.parametrize(
    ("cursor", "W", "rank", "digest"),
    [
        ((0, 0), 1, 0, "f91d22a417a5cb7e31850e3c4c6ea0590cb22578951552b500493bb57202a8f8"),
        ((0, 4), 1, 0, "a55dc1e993b20f03a8eecd05173e0b2acd77eb426c3e2232a72ebc7de4b24246"),
        ((0, 0), 2, 1, "08b66f73bcf49d7e7152f9e514ebee5c0d6a86bd5f49e0d6c241b99b12eccccf"),
        ((0, 8), 4, 3, "c63e9859f5f862efd3bac1f406a622b3b26406926c4765af2d2588e67003d8b0"),
    ],
)
def test_data_replay_token_is_pinned(backend: Backend, cursor: Native, W: int, rank: int, digest: str) -> None:
    answer = backend.call(NEXT_BATCH, batch_inputs(cursor=cursor, W=W, rank=rank))
    assert answer["trace_record"]["data_replay_t"] == backend.form(bytes.fromhex(digest))


@pytest.mark.parametrize(
    ("epoch", "seed"),
    [
        (0, "ced208f8890a2534fc42ceee62c7ac6e"),
        (1, "6d38deae5c64b0d87caa5f577d801cec"),
        (2, "db3a06391a9372e489cd3e6c0f5de850"),
    ],
)
@pytest.mark.parametrize("stage", ["train", "eval", "infer"])
def test_epoch_seed_comes_from_the_cursor_in_every_stage(backend: Backend, stage: str, epoch: int, seed: str) -> None:
    answer = backend.call(NEXT_BATCH, batch_inputs(stage=stage, cursor=(epoch, 5)))
    expected = hashlib.sha256(b"\x50" + bytes.fromhex(seed)).digest()
    assert answer["trace_record"]["epoch_seed_hash"] == backend.form(expected)


@pytest.mark.parametrize(
    ("changes", "bits"),
    [
        ({}, "3fd999999999999a"),
        ({"N": 3, "B": 8}, "4005555555555555"),
        ({"N": 2**53 + 1, "B": 3, "stage": "eval"}, "3cb8000000000000"),
    ],
)
def test_effective_q_rounds_both_counts_first(backend: Backend, changes: Native, bits: str) -> None:
    answer = backend.call(NEXT_BATCH, batch_inputs(**changes))
    (expected,) = struct.unpack(">d", bytes.fromhex(bits))
    assert answer["sampling_metadata"]["effective_q"] == backend.form(expected)


def test_eval_reports_sequential_modes_and_no_blocks(backend: Backend) -> None:
    metadata = backend.call(NEXT_BATCH, batch_inputs(stage="eval"))["sampling_metadata"]
    assert metadata["blocks_materialized"] == backend.form(0)
    assert metadata["is_shuffled"] is False
    assert (metadata["subsampling_mode"], metadata["sampling_mode"]) == ("NONE", "SEQUENTIAL_V1")


@pytest.mark.parametrize("wire", ["json", "cbor"])
def test_a_fresh_process_continues_in_the_middle_of_an_epoch(wire: str) -> None:
    fresh = Backend(wire)
    assert indices_of(fresh.call(NEXT_BATCH, batch_inputs(cursor=(0, 5)))) == [4, 0, 1, 2]
    assert fresh.finish() == 0


def test_a_batch_of_a_hundred_billion_samples_costs_the_order_of_its_blocks(backend: Backend) -> None:
    answer = backend.call(NEXT_BATCH, batch_inputs(10**11, 1024, None))
    indices = indices_of(answer)
    assert answer["sampling_metadata"]["blocks_materialized"] == backend.form(95_367)
    assert len(set(indices)) == 1024
    assert len({index // 2**20 for index in indices}) == 1


NUMBERS = {
    "BATCH_SIZE_INCONSISTENT": 1101,
    "INVALID_DATASET_KEY": 1102,
    "CARDINALITY_MISMATCH": 1103,
    "GLOBAL_POSITION_EXCEEDS_CARDINALITY": 1104,
    "CONTRACT_VIOLATION": 1801,
    "INVALID_STAGE_TYPE": 1802,
    "COUNTER_OVERFLOW": 1804,
}
BATCH, KEY, CARDINALITY, POSITION, CONTRACT, STAGE, OVERFLOW = NUMBERS
HASH = DATASET_HASH.hex()

REFUSALS: list[tuple[str, dict[str, Native]]] = [
    # one fault
    (KEY, {"dataset_key": "q"}),
    (KEY, {"dataset_key": "__proto__"}),
    (CARDINALITY, {"N": 0}),
    (CARDINALITY, {"dataset_registry": {}}),
    (CARDINALITY, {"dataset_registry": {HASH: 11}}),
    (CONTRACT, {"W": 0}),
    (CONTRACT, {"W": 2, "rank": 2}),
    (BATCH, {"B": 0}),
    (BATCH, {"B": 0, "W": 2}),
    (BATCH, {"B": 3, "W": 2}),
    (BATCH, {"block": 0}),
    (CONTRACT, {"N": 2**33, "block": 2**32 + 1}),
    (CONTRACT, {"N": 2**33, "block": 2**32 + 1, "stage": "eval"}),
    (STAGE, {"stage": "Train"}),
    (STAGE, {"stage": ""}),
    (CONTRACT, {"accountant_subsampling_mode": "NONE"}),
    (CONTRACT, {"accountant_subsampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT", "stage": "infer"}),
    (BATCH, {"drop": True, "B": 11}),
    (POSITION, {"cursor": (0, 10)}),
    (POSITION, {"cursor": (0, MAX), "stage": "eval"}),
    (OVERFLOW, {"cursor": (MAX, 0)}),
    (OVERFLOW, {"N": MAX, "cursor": (0, MAX - 1), "stage": "eval"}),
    (OVERFLOW, {"N": MAX, "cursor": (0, MAX - 1), "stage": "eval", "W": 4, "rank": 3}),
    # two neighbouring faults: the first of section 6 decides
    (KEY, {"dataset_key": "q", "W": 0}),
    (CARDINALITY, {"N": 0, "W": 0}),
    (CONTRACT, {"W": 0, "B": 0}),
    (CONTRACT, {"rank": 2, "W": 2, "B": 3}),
    (BATCH, {"B": 0, "N": 2**33, "block": 2**32 + 1}),
    (CONTRACT, {"N": 2**33, "block": 2**32 + 1, "stage": "x"}),
    (BATCH, {"block": 0, "stage": "x"}),
    (STAGE, {"stage": "x", "drop": True, "B": 11}),
    (STAGE, {"stage": "x", "accountant_subsampling_mode": "x"}),
    (CONTRACT, {"accountant_subsampling_mode": "NONE", "drop": True, "B": 11}),
    (BATCH, {"drop": True, "B": 11, "cursor": (0, 10)}),
    (POSITION, {"cursor": (MAX, 10)}),
]


@pytest.mark.parametrize(("code", "changes"), REFUSALS)
def test_refusals_come_in_the_order_of_the_procedure(backend: Backend, code: str, changes: dict[str, Native]) -> None:
    inputs = batch_inputs(**changes, t=9)
    cursor = inputs["cursor_in"]
    preimage = [
        "nextbatch_v2", TOKEN, inputs["dataset_key"], cursor["epoch"], cursor["global_index"],
        int(inputs["world_size"]), int(inputs["rank"]),
    ]  # fmt: skip
    record = {
        "t": 9,
        "failure_code": code,
        "failure_operator": NEXT_BATCH,
        "dataset_key": inputs["dataset_key"],
        "data_replay_t": hashlib.sha256(cbor2.dumps(preimage)).digest(),
    }
    expected = {"code": NUMBERS[code], "message": code, "data": backend.form(record)}
    assert backend.refuse(NEXT_BATCH, inputs) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset_registry": {HASH: 10, "00": 1}},
        {"accountant_subsampling_mode": "SHUFFLE_WITHOUT_REPLACEMENT"},
        {"accountant_subsampling_mode": "NONE", "stage": "eval"},
        {"drop": True, "B": 10},
        {"drop": True, "B": 11, "stage": "eval"},
        {"cursor": (MAX - 1, 9)},
        {"N": 2**33, "block": 2**32},
        {"block": 2**33},
        {"N": MAX, "cursor": (0, MAX - 4), "stage": "eval"},
    ],
)
def test_what_stands_just_inside_the_guards_is_answered(backend: Backend, changes: Native) -> None:
    assert len(indices_of(backend.call(NEXT_BATCH, batch_inputs(**changes)))) > 0


# SummarizeRun, EncodeCursors, DecodeCursors


def summary_inputs(records: list[Native]) -> dict[str, Native]:
    return {"dataset_key": "d", "cardinality": 10, "sampler_block_size": 3, "trace_records": records}


def trace_record(produced: int, epoch_after: int) -> dict[str, Native]:
    return {
        "t": 0, "epoch": 0, "global_position": 0, "is_shuffled": True, "micro_batch_size": 4, "global_batch_size": 4,
        "subsampling_mode": "a", "sampling_mode": "b", "sampler_config_hash": bytes(32), "effective_q": 0.4,
        "epoch_seed_hash": bytes(32), "data_replay_t": bytes(32), "cursor_before": {"epoch": 0, "global_index": 0},
        "cursor_after": {"epoch": epoch_after, "global_index": 0}, "produced_count": produced,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("records", "final_epoch", "total"),
    [([], 0, 0), ([(4, 0), (4, 0), (2, 1)], 1, 10), ([(2**63, 5), (2**63 - 1, 3)], 3, MAX)],
)
def test_a_run_is_summed_up(backend: Backend, records: list[tuple[int, int]], final_epoch: int, total: int) -> None:
    stages = {"train": True, "eval": False, "infer": False}
    header = {"dataset_key": "d", "cardinality": 10, "sampler_block_size": 3, "is_shuffled_per_stage": stages}
    expected = {
        "run_header": header,
        "run_end": {"final_epoch": final_epoch, "total_samples_seen": total},
    }
    answer = backend.call(SUMMARIZE, summary_inputs([trace_record(*record) for record in records]))
    assert answer == backend.form(expected)


def test_a_sum_above_64_bits_is_refused(backend: Backend) -> None:
    records = [trace_record(2**63, 0), trace_record(2**63, 0)]
    assert_default_failure(backend, SUMMARIZE, summary_inputs(records), "COUNTER_OVERFLOW", 1804)


def test_a_run_of_three_epochs_is_summed_up_from_its_own_records(backend: Backend) -> None:
    cursor, totals = (0, 0), 0
    while cursor[0] < 3:
        answer = backend.call(NEXT_BATCH, batch_inputs(cursor=cursor))
        cursor, totals = cursor_of(answer), totals + int(answer["trace_record"]["produced_count"])
    assert (cursor, totals) == ((3, 0), 30)


CURSOR = bytes.fromhex("a2 65 65706f6368 00 6c 676c6f62616c5f696e646578 04")


@pytest.mark.parametrize(
    ("cursors", "encoded"),
    [
        ({}, b"\xa0"),
        ({"d": (0, 4)}, b"\xa1\x61d" + CURSOR),
        ({"bb": (0, 4), "z": (0, 4), "": (0, 4)}, b"\xa3\x60" + CURSOR + b"\x61z" + CURSOR + b"\x62bb" + CURSOR),
        ({"\ufeffa": (0, 4)}, b"\xa1\x64\xef\xbb\xbfa" + CURSOR),
        ({"__proto__": (0, 4)}, b"\xa1\x69__proto__" + CURSOR),
        (
            {"d": (MAX, 2**32)},
            b"\xa1\x61d\xa2\x65epoch\x1b" + b"\xff" * 8 + b"\x6cglobal_index\x1b\0\0\0\x01\0\0\0\0",
        ),
    ],
)
def test_cursors_have_one_encoding(backend: Backend, cursors: dict[str, Native], encoded: bytes) -> None:
    structs = {key: {"epoch": epoch, "global_index": index} for key, (epoch, index) in cursors.items()}
    assert backend.call(ENCODE, {"cursors": structs}) == backend.form({"cursors_cbor": encoded})
    assert backend.call(DECODE, {"cursors_cbor": encoded}) == backend.form({"cursors": structs})


HALF = b"\xa2\x65epoch\x00\x6cglobal_index"
NOT_CANONICAL = {
    "nothing": b"",
    "trailing byte": b"\xa0\x00",
    "an array": b"\x80",
    "cut off": b"\xa1\x61d" + CURSOR[:-1],
    "long head": b"\xb8\x01\x61d" + CURSOR,
    "long integer": b"\xa1\x61d" + HALF + b"\x18\x04",
    "long text head": b"\xa1\x78\x01d" + CURSOR,
    "indefinite map": b"\xbf\x61d" + CURSOR + b"\xff",
    "indefinite text": b"\xa1\x7f\x61d\xff" + CURSOR,
    "unsorted keys": b"\xa2\x62bb" + CURSOR + b"\x61z" + CURSOR,
    "repeated key": b"\xa2\x61d" + CURSOR + b"\x61d" + CURSOR,
    "key of bytes": b"\xa1\x41d" + CURSOR,
    "unsorted fields": b"\xa1\x61d\xa2\x6cglobal_index\x04\x65epoch\x00",
    "one field": b"\xa1\x61d\xa1\x65epoch\x00",
    "another field": b"\xa1\x61d\xa3\x61a\x00" + CURSOR[1:],
    "negative index": b"\xa1\x61d" + HALF + b"\x20",
    "float index": b"\xa1\x61d" + HALF + b"\xfb" + bytes(8),
    "null index": b"\xa1\x61d" + HALF + b"\xf6",
    "tagged": b"\xd9\xd9\xf7\xa0",
    "bad UTF-8": b"\xa1\x61\xff" + CURSOR,
    "surrogate": b"\xa1\x63\xed\xa0\x80" + CURSOR,
    "bare break": b"\xff",
    "reserved head": b"\xbc",
    "deep nesting": b"\x81" * 200_000,
    "promised length": b"\xbb" + b"\xff" * 8,
    "promised text": b"\xa1\x7b" + b"\xff" * 8,
}


@pytest.mark.parametrize("encoded", NOT_CANONICAL.values(), ids=NOT_CANONICAL)
def test_other_bytes_than_the_canonical_ones_are_refused(backend: Backend, encoded: bytes) -> None:
    assert_default_failure(backend, DECODE, {"cursors_cbor": encoded})


# Error.Emit


def emit_inputs(code: str, diagnostics: Native) -> dict[str, Native]:
    context = {
        "t": 2**40, "rank": Small(3), "failure_operator": NEXT_BATCH, "replay_token": TOKEN,
        "diagnostics": Value(diagnostics),
    }  # fmt: skip
    return {"code_id": code, "context": context}


EXAMPLES = {"string": "value", "uint64": MAX}


def registry_rows() -> list[dict[str, Native]]:
    rows: list[dict[str, Native]] = yaml.safe_load(ERRORS.read_text(encoding="utf-8"))["errors"]
    return rows


def test_every_code_of_the_registry_is_emitted_whole(backend: Backend) -> None:
    rows = registry_rows()
    assert len(rows) >= 33
    for row in rows:
        declared = row.get("diagnostics", {})
        diagnostics = {name: EXAMPLES[kind] for name, kind in declared.items()}
        record = {
            "code_id": row["code"],
            "numeric_code": Small(row["number"]),
            "severity": row["severity"],
            "subsystem": row["subsystem"],
            "t": 2**40,
            "rank": Small(3),
            "failure_operator": NEXT_BATCH,
            "replay_token": TOKEN,
            "message": row["message"],
            "retryable": False,
            "privacy_class": "PUBLIC",
            "diagnostics": Value(diagnostics),
        }
        canonical = cbor2.dumps(cbor_form(record), canonical=True)
        answer = backend.call(EMIT, emit_inputs(row["code"], diagnostics))
        assert answer == backend.form({"record": record, "record_cbor": canonical})


def test_the_backend_knows_no_other_codes() -> None:
    script = """import { REGISTRY } from "./error/registry.js"; console.log(JSON.stringify([...REGISTRY.keys()]));"""
    assert sorted(evaluate(script)) == sorted(row["code"] for row in registry_rows())


@pytest.mark.parametrize(
    ("code", "diagnostics"),
    [
        ("NO_SUCH_CODE", {}),
        ("constructor", {}),
        ("QUEUE_TIMEOUT", {"extra": 1}),
        ("QUEUE_TIMEOUT", None),
        ("QUEUE_TIMEOUT", []),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": 1, "rank": 1}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "World_size": 1}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": "1"}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": 1.0}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": True}),
        ("BATCH_SIZE_INCONSISTENT", {"global_batch_size": 1, "world_size": -1}),
        ("INVALID_DATASET_KEY", {"dataset_key": b"d"}),
        ("INVALID_DATASET_KEY", {"dataset_key": None}),
    ],
)
def test_unknown_codes_and_other_diagnostics_are_refused(backend: Backend, code: str, diagnostics: Native) -> None:
    assert_default_failure(backend, EMIT, emit_inputs(code, diagnostics))


def test_diagnostics_that_only_json_can_carry_are_refused() -> None:
    backend = Backend("json")
    repeated = (("dataset_key", "d"), ("dataset_key", "d"))
    assert_default_failure(backend, EMIT, emit_inputs("INVALID_DATASET_KEY", repeated))
    too_large = {"global_batch_size": MAX + 1, "world_size": 1}
    assert_default_failure(backend, EMIT, emit_inputs("BATCH_SIZE_INCONSISTENT", too_large))
    assert backend.finish() == 0
