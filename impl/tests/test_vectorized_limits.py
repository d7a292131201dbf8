"""What the vectorized backend may hold and leave behind."""

import tracemalloc

import impl.vectorized
from impl.vectorized import Cursor, Sampler
from impl.vectorized.arrays import Recent


def peak_bytes(cardinality: int, cursors: list[Cursor]) -> int:
    """Return the most memory that fifty batches from each cursor hold at once."""
    tracemalloc.start()
    sampler = Sampler(cardinality=cardinality, global_batch_size=65_536, seed_token=bytes(32))
    for start in cursors:
        cursor = start
        for _ in range(50):
            cursor = sampler.batch_at(cursor).cursor_next
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_hundred_billion_samples_cost_less_than_16_megabytes() -> None:
    middle = 5 * 10**10
    assert peak_bytes(10**11, [Cursor(0, 0), Cursor(0, middle), Cursor(1, 0), Cursor(2, middle)]) < 16_000_000


def test_a_billion_samples_keep_a_block_order_of_eight_bytes_per_full_block() -> None:
    batch = Sampler(cardinality=10**9, global_batch_size=8, seed_token=bytes(32)).batch_at()
    assert batch.sampling_metadata.blocks_materialized == 953
    params = {"num_blocks": 953, "epoch_seed": bytes(16)}
    order = impl.vectorized.backend.call("UML_OS.Data.SeededBlockPermute_v1", params)["block_order"]
    assert order.nbytes == 7_624


def test_a_small_dataset_costs_little_however_many_epochs_are_read() -> None:
    assert peak_bytes(10**6, [Cursor(epoch, 0) for epoch in range(40)]) < 6_000_000


def test_the_memory_of_results_forgets_the_oldest_first_and_never_the_newest() -> None:
    recent: Recent[str, bytes] = Recent(10, len)
    recent.keep("a", bytes(4))
    recent.keep("b", bytes(4))
    recent.keep("c", bytes(4))
    assert [recent.get(key) for key in "abc"] == [None, bytes(4), bytes(4)]
    recent.keep("b", bytes(6))
    assert [recent.get(key) for key in "abc"] == [None, bytes(6), bytes(4)]
    recent.keep("d", bytes(100))
    assert [recent.get(key) for key in "bcd"] == [None, None, bytes(100)]
    recent.keep("e", bytes(1))
    assert [recent.get(key) for key in "de"] == [None, bytes(1)]
