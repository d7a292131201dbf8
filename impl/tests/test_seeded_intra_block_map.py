"""SeededIntraBlockMap: pinned maps, the bijection, and the order of what is refused."""

from math import gcd

import pytest

from impl.reference import backend
from impl.reference.data.seeded_intra_block_map import choose_multiplier, derive_coefficients
from impl.tests.batch_calls import failure_of

METHOD = "UML_OS.Data.SeededIntraBlockMap_v1"
SEED = bytes(range(16))


def index(block_id: int, local_pos: int, block_size: int, cardinality: int, seed: bytes = SEED) -> int:
    answer: int = backend.call(METHOD, params(block_id, local_pos, block_size, cardinality, seed))["original_index"]
    return answer


def params(block_id: int, local_pos: int, block_size: int, cardinality: int, seed: bytes = SEED) -> dict[str, object]:
    return {
        "block_id": block_id,
        "local_pos": local_pos,
        "block_size": block_size,
        "epoch_seed": seed,
        "cardinality": cardinality,
    }


def block(block_id: int, block_size: int, cardinality: int, count: int, seed: bytes = SEED) -> list[int]:
    return [index(block_id, local_pos, block_size, cardinality, seed) for local_pos in range(count)]


def test_maps_of_block_0_of_the_pinned_seed() -> None:
    assert block(0, 2, 2, 2) == [0, 1]
    assert block(0, 7, 7, 7) == [2, 0, 5, 3, 1, 6, 4]
    assert block(0, 8, 8, 8) == [6, 1, 4, 7, 2, 5, 0, 3]
    assert block(0, 100, 100, 10) == [90, 71, 52, 33, 14, 95, 76, 57, 38, 19]


def test_maps_of_a_short_and_a_full_last_block() -> None:
    assert block(1, 3, 5, 2) == [4, 3]
    assert block(1, 3, 6, 3) == [3, 4, 5]


def test_map_of_the_carrying_seed() -> None:
    seed = bytes.fromhex("0011223344556677ffffffffffffffff")
    assert block(0, 8, 8, 8, seed) == [1, 4, 7, 2, 5, 0, 3, 6]


def test_map_of_the_example_on_the_wire() -> None:
    assert index(3, 5, 64, 1003) == 243


def test_map_of_the_largest_block() -> None:
    assert derive_coefficients(SEED, 0, 2**32) == (4231398579, 1242290550)
    positions = [0, 1, 2, 2**32 - 1]
    expected = [1242290550, 1178721833, 1115153116, 1305859267]
    assert [index(0, position, 2**32, 2**32) for position in positions] == expected


def test_a_block_of_one_sample_maps_to_its_start() -> None:
    assert index(4, 0, 1, 5) == 4
    assert index(1, 0, 9, 10) == 9


@pytest.mark.parametrize("block_size", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("block_id", [0, 1, 2])
def test_every_block_is_a_bijection_onto_itself(block_size: int, block_id: int) -> None:
    cardinality = 2 * block_size + max(1, block_size // 2)
    start = block_id * block_size
    end = min(start + block_size, cardinality)
    assert sorted(block(block_id, block_size, cardinality, end - start)) == list(range(start, end))


def test_arithmetic_is_exact_far_above_2_to_the_53() -> None:
    start = 2**53 + 1
    assert index(start, 0, 1, 2**64 - 1) == start
    last_block = 2**62 - 1
    assert sorted(block(last_block, 4, 2**64 - 1, 3)) == [2**64 - 4, 2**64 - 3, 2**64 - 2]


def test_the_multiplier_search_takes_the_first_coprime_candidate_and_wraps() -> None:
    assert choose_multiplier(0, 6) == 1
    assert choose_multiplier(1, 6) == 5
    assert choose_multiplier(4, 6) == 5
    assert choose_multiplier(7, 9) == 8
    assert all(gcd(choose_multiplier(k0, m), m) == 1 for m in range(2, 40) for k0 in range(m))


@pytest.mark.parametrize(
    "refused",
    [
        params(0, 0, 0, 10),
        params(4, 0, 3, 10),
        params(0, 0, 3, 0),
        params(2**63, 0, 2**63, 10),
        params(0, 0, 2**32 + 1, 2**32 + 1),
        params(0, 3, 3, 10),
        params(3, 1, 3, 10),
        params(0, 1, 1, 10),
    ],
)
def test_refuses_what_does_not_exist(refused: dict[str, object]) -> None:
    assert failure_of(METHOD, refused) == {"failure_code": "CONTRACT_VIOLATION", "failure_operator": METHOD}


def test_a_block_size_above_2_to_the_32_is_fine_where_the_block_is_shorter() -> None:
    assert 0 <= index(0, 5, 2**40, 1000) < 1000
