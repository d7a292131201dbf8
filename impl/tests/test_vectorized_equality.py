"""The vectorized backend equals the reference, and its own refactors equal each other, to the bit."""

import random
from collections.abc import Iterator, Mapping
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
from impl.vectorized import Cursor, Sampler, prefetched
from impl.vectorized import backend as vectorized
from impl.vectorized.affine import AffineBlock, affine_block, affine_blocks
from impl.vectorized.block_order import shuffled_blocks
from impl.vectorized.evaluation import ROW, Evaluation, RotatedTable, Rows
from impl.vectorized.operators import operators
from impl.vectorized.placement import MANY_BLOCKS, Epoch, Placement
from impl.wire.messages import wire_of

NEXT_BATCH = "UML_OS.Data.NextBatch_v2"
PERMUTE = "UML_OS.Data.SeededBlockPermute_v1"
MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
SUMMARIZE = "UML_OS.Data.SummarizeRun_v1"
ENCODE = "UML_OS.Data.EncodeCursors_v1"
DECODE = "UML_OS.Data.DecodeCursors_v1"
EMIT = "UML_OS.Error.Emit_v1"
MAX = (1 << 64) - 1
KEYS = ("d", "", "train", "\u00e9\u0000\U0001f600", "k" * 300)
SEED = bytes(range(16))

Params = dict[str, Any]


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


def some_uint(rng: random.Random, *likely: int) -> int:
    """Return a number near an edge as often as a random one."""
    edges = [*likely, 0, 1, 2, 23, 24, 255, 256, 65535, 65536, 1 << 32, 1 << 53, 1 << 63, MAX]
    near = rng.choice(edges) + rng.choice((-1, 0, 0, 1))
    return min(MAX, max(0, near if rng.random() < 0.6 else rng.getrandbits(rng.choice((3, 10, 33, 64)))))


def next_batch_params(rng: random.Random) -> Params:
    """Return a call that is legal more often than not; blocks stay few enough for the plain loop."""
    cardinality = rng.choice((1, 2, 10, 97, 1000, 4096, 5000, 1 << 16, 10**6, 10**9, 1 << 40, MAX))
    smallest = max(1, cardinality >> 9)
    block = rng.choice((1, 2, 3, 7, 8, 64, 100, 1 << 12, 1 << 20, 12345677, 1 << 32))
    if block < smallest:
        block = min(1 << 32, smallest + rng.randrange(5))
    stage = rng.choice(("train", "train", "train", "eval", "infer"))
    if stage == "train" and cardinality // block > 1 << 10:
        stage = rng.choice(("eval", "infer"))
    world_size = rng.choice((1, 1, 2, 3, 4, 8))
    batch = world_size * rng.choice((1, 2, 5, 16, 100))
    if rng.random() < 0.15:
        batch = rng.choice((0, 1, 3, MAX, cardinality + world_size))
    if min(batch // world_size, cardinality) > 1 << 12:
        batch = world_size
    index = rng.choice((0, rng.randrange(cardinality), max(0, cardinality - rng.randrange(1, 40))))
    if rng.random() < 0.05:
        index = some_uint(rng, cardinality)
    key = rng.choice(KEYS)
    hash_ = rng.randbytes(32)
    dataset = {"id": "i", "version": "1", "hash": hash_, "cardinality": 0 if rng.random() < 0.02 else cardinality}
    manifest: Params = {"datasets": {key: dataset}, "global_batch_size": batch}
    data: Params = {"sampler_block_size": 0 if rng.random() < 0.03 else block}
    if rng.random() < 0.5:
        data["drop_last"] = rng.random() < 0.5
    if rng.random() < 0.02:
        data["sampler_block_size"] = (1 << 32) + 1
    if rng.random() < 0.1 and cardinality >> 20 < 1 << 10:
        del data["sampler_block_size"]
    if data or rng.random() < 0.5:
        manifest["data"] = data
    params: Params = {
        "manifest": manifest,
        "dataset_key": "absent" if rng.random() < 0.02 else key,
        "world_size": 0 if rng.random() < 0.02 else world_size,
        "rank": world_size if rng.random() < 0.02 else rng.randrange(world_size),
        "stage_type": rng.choice(("", "Train", "test")) if rng.random() < 0.03 else stage,
        "cursor_in": {"epoch": some_uint(rng), "global_index": index},
        "kernel_replay_token": rng.randbytes(32),
        "manifest_hash": rng.randbytes(32),
        "t": some_uint(rng),
    }
    if rng.random() < 0.1:
        params["dataset_registry"] = {
            rng.choice((hash_.hex(), "00" * 32)): rng.choice((cardinality, cardinality, cardinality - 1))
        }
    if rng.random() < 0.1:
        params["accountant_subsampling_mode"] = rng.choice(("NONE", "SHUFFLE_WITHOUT_REPLACEMENT", ""))
    return params


def block_map_params(rng: random.Random) -> Params:
    size = some_uint(rng, 3, 7, 1 << 20)
    cardinality = some_uint(rng, size, 1 << 40)
    block = rng.randrange(max(1, cardinality // max(size, 1)) + 2)
    position = rng.randrange(max(1, min(size, 1 << 32))) if rng.random() < 0.9 else some_uint(rng, size)
    return {
        "block_id": min(MAX, block),
        "local_pos": position,
        "block_size": size,
        "epoch_seed": rng.randbytes(16),
        "cardinality": cardinality,
    }


def cursors_params(rng: random.Random) -> Params:
    keys = {"".join(rng.choices("ab\u00e9z", k=rng.choice((0, 1, 2, 23, 24, 25)))) for _ in range(rng.randrange(30))}
    return {"cursors": {key: {"epoch": some_uint(rng), "global_index": some_uint(rng)} for key in keys}}


def emit_params(rng: random.Random) -> Params:
    diagnostics: Params = {}
    for name in rng.sample(("global_batch_size", "world_size", "dataset_key", "cardinality", "counter"), 2):
        diagnostics[name] = rng.choice((some_uint(rng), "text"))
    exact: dict[str, Params] = {
        "BATCH_SIZE_INCONSISTENT": {"world_size": some_uint(rng), "global_batch_size": some_uint(rng)},
        "INVALID_DATASET_KEY": {"dataset_key": rng.choice(KEYS)},
        "CARDINALITY_MISMATCH": {"dataset_key": "d", "cardinality": some_uint(rng)},
        "GLOBAL_POSITION_EXCEEDS_CARDINALITY": {"global_position": some_uint(rng), "cardinality": 3},
        "INVALID_STAGE_TYPE": {"stage_type": "x"},
        "COUNTER_OVERFLOW": {"counter": "epoch"},
    }
    code = rng.choice((*NUMBERS, "UNHEARD_OF"))
    ill_fitting: list[object] = [diagnostics, None, [], {"counter": -1}, ()]
    given = exact.get(code, {}) if rng.random() < 0.8 else rng.choice(ill_fitting)
    return {
        "code_id": code,
        "context": {
            "t": some_uint(rng),
            "rank": rng.getrandbits(32),
            "failure_operator": NEXT_BATCH,
            "replay_token": rng.randbytes(32),
            "diagnostics": given,
        },
    }


def random_calls(seed: int) -> Iterator[tuple[str, Params]]:
    rng = random.Random(seed)
    while True:
        kind = rng.random()
        if kind < 0.5:
            yield NEXT_BATCH, next_batch_params(rng)
        elif kind < 0.7:
            yield MAP, block_map_params(rng)
        elif kind < 0.8:
            seed_bytes = rng.randbytes(8) + rng.choice((rng.randbytes(8), b"\xff" * 8))
            yield PERMUTE, {"num_blocks": rng.choice((0, 1, 2, rng.randrange(300))), "epoch_seed": seed_bytes}
        elif kind < 0.9:
            yield ENCODE, cursors_params(rng)
        else:
            yield EMIT, emit_params(rng)


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
