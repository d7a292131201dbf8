"""What `tally run` does not reach in the vectorized backend: the other evaluation, the library, and its memory."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from impl.backend import Backend
from impl.tests.batch.batch_calls import NEXT_BATCH, batch_params
from impl.vectorized import Cursor, Sampler, prefetched
from impl.vectorized import backend as vectorized
from impl.vectorized.affine import AffineBlock, RotatedTable, Rows
from impl.vectorized.operators import operators

PERMUTE = "UML_OS.Data.SeededBlockPermute_v1"
SEED = bytes(range(16))
MAX = (1 << 64) - 1
Params = dict[str, Any]


def test_a_power_of_two_block_at_the_very_top_of_uint64_does_not_wrap() -> None:
    for length in (8, 1 << 31, 1 << 32):
        block = AffineBlock((1 << 64) - length, length, length - 1, length - 1)
        out = np.empty(5, np.uint64)
        Rows().fill(block, 0, out)
        assert out.tolist() == [MAX - p for p in range(5)]


@pytest.mark.parametrize("stage", ["train", "eval"])
@pytest.mark.parametrize(("n", "block"), [(1, 1), (97, 7), (1000, 64), (5000, 1), (1 << 16, 1 << 12), (10**6, 12_345)])
def test_both_evaluations_serve_the_same_epoch(n: int, block: int, stage: str) -> None:
    rotated = Backend("rotated", operators(RotatedTable()), arrays="numpy")
    rng = random.Random(n)
    for position in (0, n - 1, *(rng.randrange(n) for _ in range(10))):
        params = batch_params(n=n, batch_size=200, world_size=2, rank=1, index=position, block=block, stage=stage)
        answers = [backend.call(NEXT_BATCH, params) for backend in (rotated, vectorized)]
        indices = [answer.pop("batch_sample_indices").tolist() for answer in answers]
        assert indices[0] == indices[1]
        assert answers[0] == answers[1]


def sampler(**fields: Any) -> Sampler:
    given: Params = {"cardinality": 1003, "global_batch_size": 48, "block_size": 64, "seed_token": bytes(32)}
    return Sampler(**given | fields)


@pytest.mark.parametrize("fields", [{}, {"drop_last": True}, {"stage_type": "eval"}, {"cardinality": 48}])
def test_prefetched_batches_are_the_same_batches(fields: Params) -> None:
    plain_batches = [plain_batch(b) for b in sampler(**fields).batches(epochs=3)]
    with ThreadPoolExecutor(3) as executor:
        ahead = [plain_batch(b) for b in prefetched(sampler(**fields), executor, epochs=3, ahead=4)]
    assert ahead == plain_batches
    assert plain_batches[-1][1] == Cursor(3, 0)


def plain_batch(batch: Any) -> tuple[object, ...]:
    return batch.batch_sample_indices.tolist(), batch.cursor_next, batch.sampling_metadata, batch.trace_record


def test_a_reader_may_change_its_batch_without_changing_later_answers() -> None:
    one = sampler()
    first = one.batch_at().batch_sample_indices
    kept = first.tolist()
    first[:] = 0
    assert one.batch_at().batch_sample_indices.tolist() == kept
    order = vectorized.call(PERMUTE, {"num_blocks": 9, "epoch_seed": SEED})["block_order"]
    kept = order.tolist()
    order[:] = 0
    assert vectorized.call(PERMUTE, {"num_blocks": 9, "epoch_seed": SEED})["block_order"].tolist() == kept


def test_what_was_forgotten_is_computed_again_alike() -> None:
    small = sampler(cardinality=10**6, block_size=100)
    cursors = [Cursor(epoch, 999_000 - 48 * epoch) for epoch in range(80)]
    answers = [small.batch_at(cursor).batch_sample_indices.tolist() for cursor in cursors]
    assert [small.batch_at(cursor).batch_sample_indices.tolist() for cursor in cursors] == answers
