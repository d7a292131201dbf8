"""Random calls of the pure data operators: legal more often than not, near an edge as often as not."""

import random
from collections.abc import Iterator
from typing import Any

from impl.failure import NUMBERS

NEXT_BATCH = "UML_OS.Data.NextBatch_v2"
PERMUTE = "UML_OS.Data.SeededBlockPermute_v1"
MAP = "UML_OS.Data.SeededIntraBlockMap_v1"
ENCODE = "UML_OS.Data.EncodeCursors_v1"
EMIT = "UML_OS.Error.Emit_v1"
MAX = (1 << 64) - 1
KEYS = ("d", "", "train", "\u00e9\u0000\U0001f600", "k" * 300)

Params = dict[str, Any]


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
