"""The data operators in JavaScript: equal to the reference on random calls, and beyond what it can compute."""

# ruff: noqa: N806 - N and B are the seed's names.

import random
from itertools import islice
from typing import Any

import pytest

from impl.tests.javascript_equality import Pair
from impl.tests.javascript_process import DECODE, ENCODE, MAP, NEXT_BATCH, PERMUTE, Backend, batch_inputs, map_inputs
from impl.tests.random_calls import cursors_params, random_calls


def test_random_calls_equal_the_reference(pair: Pair) -> None:
    methods, refused = set(), 0
    for method, params in islice(random_calls(20), 700):
        answer = pair.agree(method, params)
        methods.add(method)
        refused += "error" in answer
    assert len(methods) == 5
    assert 70 < refused < 350


def test_damaged_cursor_bytes_are_judged_as_the_reference_judges_them(pair: Pair) -> None:
    rng = random.Random(7)
    accepted = 0
    for _ in range(300):
        data = bytearray.fromhex(pair.agree(ENCODE, cursors_params(rng))["result"]["cursors_cbor"])
        match rng.randrange(4):
            case 0:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 1:
                del data[rng.randrange(len(data)) :]
            case 2:
                data.insert(rng.randrange(len(data) + 1), rng.randrange(256))
        accepted += "result" in pair.agree(DECODE, {"cursors_cbor": bytes(data)})
    assert accepted > 30


@pytest.mark.parametrize(
    "encoded", [b"\x81" * 200_000, b"\xbb" + b"\xff" * 8, b"\xa1\x7b" + b"\xff" * 8], ids=["deep", "long", "long-text"]
)
def test_what_promises_more_than_it_holds_is_refused(pair: Pair, encoded: bytes) -> None:
    assert pair.agree(DECODE, {"cursors_cbor": encoded})["error"]["message"] == "CONTRACT_VIOLATION"


def indices_of(answer: Any) -> list[int]:
    return [int(index) for index in answer["batch_sample_indices"]]


def test_a_batch_composes_the_two_helpers_across_32_bits(javascript: Backend) -> None:
    N, B, block = 2**34 + 5, 6, 3 * 2**30
    seed = bytes.fromhex("ced208f8890a2534fc42ceee62c7ac6e")
    order = javascript.call(PERMUTE, {"num_blocks": N // block, "epoch_seed": seed})["block_order"]
    blocks = [*map(int, order), N // block]
    for position in (0, block - 3, 2 * block - 1, N // block * block - 3, N - B):
        expected = [
            int(javascript.call(MAP, map_inputs(blocks[p // block], p % block, block, N, seed))["original_index"])
            for p in range(position, position + B)
        ]
        assert indices_of(javascript.call(NEXT_BATCH, batch_inputs(N, B, block, cursor=(0, position)))) == expected
    long_run = indices_of(javascript.call(NEXT_BATCH, batch_inputs(N, 4096, block, cursor=(0, block))))
    assert len({index // 2**32 for index in long_run}) > 1


def test_a_batch_of_a_hundred_billion_samples_costs_the_order_of_its_blocks(javascript: Backend) -> None:
    answer = javascript.call(NEXT_BATCH, batch_inputs(10**11, 1024, None))
    indices = indices_of(answer)
    assert answer["sampling_metadata"]["blocks_materialized"] == "95367"
    assert len(set(indices)) == 1024
    assert len({index // 2**20 for index in indices}) == 1
