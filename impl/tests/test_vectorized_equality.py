"""The vectorized backend equals the reference, and its own refactors equal each other, to the bit."""

import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import pytest

from impl.backend import Backend, Calls
from impl.failure import NUMBERS, ContractFailure
from impl.reference import backend as reference
from impl.reference.data.seeded_block_permute import seeded_block_permute
from impl.reference.data.seeded_intra_block_map import seeded_intra_block_map
from impl.tests.random_calls import (
    EMIT,
    ENCODE,
    MAX,
    NEXT_BATCH,
    PERMUTE,
    Params,
    cursors_params,
    next_batch_params,
    random_calls,
)
from impl.vectorized import Cursor, Sampler, prefetched
from impl.vectorized import backend as vectorized
from impl.vectorized.affine import ROW, AffineBlock, Evaluation, RotatedTable, Rows, affine_block, affine_blocks
from impl.vectorized.block_order import MANY_BLOCKS, Epoch, Placement, shuffled_blocks
from impl.vectorized.operators import operators
from impl.wire.messages import wire_of

SUMMARIZE = "UML_OS.Data.SummarizeRun_v1"
DECODE = "UML_OS.Data.DecodeCursors_v1"
SEED = bytes(range(16))


def plain(item: object) -> object:
    """Return the same value with arrays as lists of int."""
    if isinstance(item, np.ndarray):
        assert item.dtype == np.uint64
        return item.tolist()
    if isinstance(item, Mapping):
        return {key: plain(value) for key, value in item.items()}
    return item


def outcome(backend: Backend, method: str, params: Params) -> object:
    try:
        return plain(backend.call(method, params))
    except ContractFailure as failure:
        return failure.code, failure.number, failure.data


def test_ten_thousand_random_calls_equal_the_reference() -> None:
    succeeded = refused = 0
    codes = set()
    for method, params in islice(random_calls(2026), 10_000):
        expected = outcome(reference, method, params)
        assert outcome(vectorized, method, params) == expected, (method, params)
        if isinstance(expected, tuple):
            refused += 1
            codes.add(expected[0])
        else:
            succeeded += 1
    assert succeeded > 6_000
    assert refused > 1_000
    assert codes == {
        "BATCH_SIZE_INCONSISTENT",
        "INVALID_DATASET_KEY",
        "CARDINALITY_MISMATCH",
        "GLOBAL_POSITION_EXCEEDS_CARDINALITY",
        "CONTRACT_VIOLATION",
        "INVALID_STAGE_TYPE",
        "COUNTER_OVERFLOW",
    }


def test_every_error_code_is_emitted_as_the_reference_emits_it() -> None:
    context = {"t": 1, "rank": 2, "failure_operator": EMIT, "replay_token": bytes(32), "diagnostics": {}}
    for code in NUMBERS:
        params = {"code_id": code, "context": context}
        assert outcome(vectorized, EMIT, params) == outcome(reference, EMIT, params)


def test_damaged_cursor_bytes_are_judged_as_the_reference_judges_them() -> None:
    rng = random.Random(7)
    accepted = 0
    for _ in range(2_000):
        data = bytearray(reference.call(ENCODE, cursors_params(rng))["cursors_cbor"])
        match rng.randrange(4):
            case 0:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 1:
                del data[rng.randrange(len(data)) :]
            case 2:
                data.insert(rng.randrange(len(data) + 1), rng.randrange(256))
        params = {"cursors_cbor": bytes(data)}
        expected = outcome(reference, DECODE, params)
        assert outcome(vectorized, DECODE, params) == expected, bytes(data).hex()
        accepted += isinstance(expected, dict)
    assert accepted > 200


@pytest.mark.parametrize(
    "bad",
    [
        "a16161a26565706f6368180067676c6f62616c00",
        "a2616101",
        "bf",
        "",
        "a1",
        "bbffffffffffffffff",
        "a26162a26565706f6368006c676c6f62616c5f696e646578006161a26565706f6368006c676c6f62616c5f696e64657800",
        "a26161a26565706f6368006c676c6f62616c5f696e646578006161a26565706f6368006c676c6f62616c5f696e64657800",
        "a16161a26565706f636818006c676c6f62616c5f696e64657800",
        "a161ffa26565706f6368006c676c6f62616c5f696e64657800",
        "a16161a26c676c6f62616c5f696e646578006565706f636800",
        "a000",
    ],
)
def test_bytes_that_are_not_canonical_are_refused(bad: str) -> None:
    assert outcome(vectorized, DECODE, {"cursors_cbor": bytes.fromhex(bad)}) == (
        "CONTRACT_VIOLATION",
        1801,
        {"failure_code": "CONTRACT_VIOLATION", "failure_operator": DECODE},
    )


def test_a_run_is_summarized_as_the_reference_does_it() -> None:
    rng = random.Random(3)
    records: list[Params] = []
    for method, params in random_calls(11):
        if method == NEXT_BATCH:
            result = outcome(vectorized, method, params)
            if isinstance(result, dict):
                records.append(result["trace_record"])
        if len(records) == 20:
            break
    base = {"dataset_key": "d", "cardinality": 9, "sampler_block_size": 3}
    for count in (0, 1, 20):
        params = base | {"trace_records": rng.sample(records, count)}
        assert outcome(vectorized, SUMMARIZE, params) == outcome(reference, SUMMARIZE, params)
    heavy = {**records[0], "produced_count": MAX}
    for tail in ([], [{**heavy, "produced_count": 1}]):
        params = base | {"trace_records": [heavy, *tail]}
        assert outcome(vectorized, SUMMARIZE, params) == outcome(reference, SUMMARIZE, params)


@pytest.mark.parametrize("num_blocks", [2, 3, 31, 32_769, 95_367])
def test_a_long_block_order_equals_the_plain_loop(num_blocks: int) -> None:
    expected = seeded_block_permute(num_blocks=num_blocks, epoch_seed=SEED).block_order
    assert shuffled_blocks(num_blocks, SEED).tolist() == expected


@pytest.mark.parametrize("length", [1, 2, 3, 30_030, 65_536, 9_699_690, (1 << 32) - 1, 1 << 32])
def test_many_block_maps_at_once_equal_each_by_itself(length: int) -> None:
    block_ids = np.arange(500, dtype=np.uint64) * np.uint64(7919)
    multipliers, offsets = affine_blocks(block_ids, length, SEED)
    for block_id, a, c in zip(block_ids.tolist(), multipliers.tolist(), offsets.tolist(), strict=True):
        block = affine_block(block_id, length, SEED, MAX)
        assert (block.multiplier, block.offset) == (a, c)


@pytest.mark.parametrize("evaluation", [Rows(), RotatedTable()], ids=["rows", "rotated table"])
@pytest.mark.parametrize("length", [1, 2, 8, 1000, 4096, 65_536, 100_003])
@pytest.mark.parametrize("block_id", [0, 1, 2, 3, (1 << 40) + 1, (1 << 44) - 2])
def test_a_run_of_positions_equals_the_formula(evaluation: Evaluation, length: int, block_id: int) -> None:
    block = affine_block(block_id, length, SEED, MAX)
    rng = random.Random(length)
    for first in (0, length // 2, length - 1, rng.randrange(length)):
        for count in {1, min(1025, length - first), length - first}:
            if count <= length - first:
                out = np.empty(count, np.uint64)
                evaluation.fill(block, first, out)
                positions = range(first, first + count)
                a, c = block.multiplier, block.offset
                assert out.tolist() == [block.start + (a * p + c) % length for p in positions]


def test_a_power_of_two_block_at_the_very_top_of_uint64_does_not_wrap() -> None:
    for length in (8, 1 << 31, 1 << 32):
        block = AffineBlock((1 << 64) - length, length, length - 1, length - 1)
        out = np.empty(5, np.uint64)
        Rows().fill(block, 0, out)
        assert out.tolist() == [MAX - p for p in range(5)]


@pytest.mark.parametrize("length", [(1 << 32) - 1, 1 << 32, (1 << 31) + 11])
def test_the_longest_blocks_are_exact_above_2_to_the_53(length: int) -> None:
    cardinality = 1 << 62
    block_id = cardinality // length - 1
    block = affine_block(block_id, length, SEED, cardinality)
    for first in (0, length - 70_000):
        out = np.empty(70_000, np.uint64)
        Rows().fill(block, first, out)
        for i in (0, 1, ROW - 1, ROW, ROW + 1, 69_999):
            expected = seeded_intra_block_map(
                block_id=block_id, local_pos=first + i, block_size=length, epoch_seed=SEED, cardinality=cardinality
            )
            assert int(out[i]) == expected.original_index


def test_runs_of_blocks_equal_single_blocks_wherever_they_begin_and_end() -> None:
    rng = random.Random(5)
    for block_size in (1, 2, 3, 64, 100):
        epoch = Epoch(SEED, block_size * 41 + block_size // 2, block_size)
        single = Placement(Rows())
        whole = np.concatenate([single.indices(epoch, p, p + 1) for p in range(epoch.cardinality)])
        assert sorted(whole.tolist()) == list(range(epoch.cardinality))
        for _ in range(60):
            first = rng.randrange(epoch.cardinality)
            stop = rng.randrange(first, epoch.cardinality + 1)
            assert Placement(Rows()).indices(epoch, first, stop).tolist() == whole[first:stop].tolist()
        assert epoch.cardinality // block_size > MANY_BLOCKS


def test_both_evaluations_serve_the_same_epoch() -> None:
    rng = random.Random(13)
    rotated = Backend("rotated", operators(RotatedTable()), arrays="numpy")
    for _ in range(300):
        params = next_batch_params(rng)
        dataset = next(iter(params["manifest"]["datasets"].values()))
        dataset["cardinality"] = min(dataset["cardinality"], 10**6)
        assert outcome(rotated, NEXT_BATCH, params) == outcome(vectorized, NEXT_BATCH, params)


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


def test_a_saved_cursor_continues_with_another_world_size() -> None:
    whole = np.concatenate([b.batch_sample_indices for b in sampler().batches(epochs=2)]).tolist()
    cursor, seen = Cursor(0, 0), []
    for step in range(1000):
        world_size = (1, 2, 3, 4)[step % 4]
        batches = [sampler(world_size=world_size, rank=rank).batch_at(cursor) for rank in range(world_size)]
        seen += [int(i) for batch in batches for i in batch.batch_sample_indices]
        (cursor,) = {batch.cursor_next for batch in batches}
        if cursor.epoch == 2:
            break
    assert seen == whole
    assert sorted(whole[:1003]) == list(range(1003))


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


@pytest.mark.parametrize("first", [b"{", b"\xa0"], ids=["json", "cbor"])
def test_both_wires_carry_the_same_bytes_as_the_reference(first: bytes) -> None:
    wire = wire_of(first)
    ours, theirs = Calls(vectorized, wire.form), Calls(reference, wire.form)
    answered = 0
    for method, params in islice(random_calls(5), 400):
        if method not in (NEXT_BATCH, PERMUTE) or isinstance(outcome(reference, method, params), tuple):
            continue
        sent = on_the_wire(params, as_text=first == b"{")
        assert wire.encode(ours.call(method, sent)) == wire.encode(theirs.call(method, sent))
        answered += 1
    assert answered > 100


def on_the_wire(item: Any, *, as_text: bool) -> Any:
    """Return a parameter in its wire form; of the integers only world_size and rank are short."""
    if isinstance(item, dict):
        short = ("world_size", "rank")
        return {k: v if k in short else on_the_wire(v, as_text=as_text) for k, v in item.items()}
    if as_text and isinstance(item, bytes):
        return item.hex()
    if as_text and type(item) is int:
        return str(item)
    return item
