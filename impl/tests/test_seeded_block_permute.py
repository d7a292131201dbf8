"""SeededBlockPermute: pinned orders, the bijection, and what is refused."""

import pytest

from impl.reference import backend
from impl.tests.batch_calls import failure_of

METHOD = "UML_OS.Data.SeededBlockPermute_v1"
SEED = bytes(range(16))


def order(num_blocks: int, epoch_seed: bytes = SEED) -> list[int]:
    answer: list[int] = backend.call(METHOD, {"num_blocks": num_blocks, "epoch_seed": epoch_seed})["block_order"]
    return answer


@pytest.mark.parametrize(
    ("num_blocks", "expected"),
    [
        (1, [0]),
        (8, [0, 7, 4, 3, 6, 2, 1, 5]),
        (13, [5, 0, 1, 8, 9, 12, 6, 7, 10, 3, 4, 2, 11]),
    ],
)
def test_order_of_the_pinned_seed(num_blocks: int, expected: list[int]) -> None:
    assert order(num_blocks) == expected


def test_order_of_a_seed_whose_counter_carries() -> None:
    assert order(8, bytes.fromhex("0011223344556677ffffffffffffffff")) == [6, 2, 1, 3, 4, 5, 7, 0]


@pytest.mark.parametrize("num_blocks", [1, 2, 3, 10, 953])
@pytest.mark.parametrize("seed", [SEED, bytes(16), bytes([255] * 16)])
def test_order_is_a_permutation_of_the_block_ids(num_blocks: int, seed: bytes) -> None:
    assert sorted(order(num_blocks, seed)) == list(range(num_blocks))


@pytest.mark.parametrize("params", [{"num_blocks": 0, "epoch_seed": SEED}, {"num_blocks": 3, "epoch_seed": bytes(15)}])
def test_refuses_no_blocks_and_a_short_seed(params: dict[str, object]) -> None:
    assert failure_of(METHOD, params) == {"failure_code": "CONTRACT_VIOLATION", "failure_operator": METHOD}
