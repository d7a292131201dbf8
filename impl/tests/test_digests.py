"""The sampler's hashes and their preimages, byte for byte."""

import pytest

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.data.batch_request import sampling_mode
from impl.reference.data.cursors import Cursor
from impl.reference.data.summarize_run import (
    derive_data_replay_t,
    derive_epoch_seed,
    hash_epoch_seed,
    hash_sampler_config,
)
from impl.tests.batch_calls import MANIFEST_HASH, TOKEN

EPOCH_SEEDS = [
    "ced208f8890a2534fc42ceee62c7ac6e",
    "6d38deae5c64b0d87caa5f577d801cec",
    "db3a06391a9372e489cd3e6c0f5de850",
]


def test_preimage_of_the_epoch_seed() -> None:
    preimage = encode_canonical(["nextbatch_epoch_seed_v2", TOKEN, MANIFEST_HASH, "d", 0])
    text = "776e65787462617463685f65706f63685f736565645f7632"
    assert preimage.hex() == "85" + text + "5820" + TOKEN.hex() + "5820" + MANIFEST_HASH.hex() + "6164" + "00"


def test_preimage_of_the_replay_token() -> None:
    preimage = encode_canonical(["nextbatch_v2", TOKEN, "d", 0, 4, 2, 1])
    assert preimage.hex() == "876c6e65787462617463685f76325820" + TOKEN.hex() + "6164" + "00040201"


@pytest.mark.parametrize(("epoch", "expected"), list(enumerate(EPOCH_SEEDS)))
def test_epoch_seeds(epoch: int, expected: str) -> None:
    assert derive_epoch_seed(TOKEN, MANIFEST_HASH, "d", epoch).hex() == expected


def test_epoch_seed_hash() -> None:
    expected = "38962a8c208ebffd9618dca626cce67e9304f27a5fdf0dec5d8399d34c284a24"
    assert hash_epoch_seed(bytes.fromhex(EPOCH_SEEDS[0])).hex() == expected


@pytest.mark.parametrize(
    ("stage", "block_size", "drop_last", "expected"),
    [
        ("train", 3, False, "d2ab4d926b340bf935d9fa21fe1a226e7073bdfedf2bf068a0f5c0352fed4654"),
        ("train", 3, True, "c15f651e02d660d61e4f295a69f8945edb3733928cf00dc5cdb0377dda56bc05"),
        ("eval", 3, False, "009ced93d8e0738b5a2ca874a81218990b35adba806e5a2f8d02f67afaffcd31"),
        ("train", 1048576, False, "fd98df5908735429e5bc7ee2e4bffd7a4d91987c51c80697f112512562ecd90b"),
    ],
)
def test_sampler_config_hash(stage: str, block_size: int, drop_last: bool, expected: str) -> None:
    assert hash_sampler_config(sampling_mode(stage), block_size, drop_last).hex() == expected


@pytest.mark.parametrize(
    ("global_index", "world_size", "rank", "expected"),
    [
        (0, 1, 0, "f91d22a417a5cb7e31850e3c4c6ea0590cb22578951552b500493bb57202a8f8"),
        (4, 1, 0, "a55dc1e993b20f03a8eecd05173e0b2acd77eb426c3e2232a72ebc7de4b24246"),
        (0, 2, 1, "08b66f73bcf49d7e7152f9e514ebee5c0d6a86bd5f49e0d6c241b99b12eccccf"),
        (8, 4, 3, "c63e9859f5f862efd3bac1f406a622b3b26406926c4765af2d2588e67003d8b0"),
    ],
)
def test_data_replay_t(global_index: int, world_size: int, rank: int, expected: str) -> None:
    assert derive_data_replay_t(TOKEN, "d", Cursor(0, global_index), world_size, rank).hex() == expected
