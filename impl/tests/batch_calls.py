"""Calls of NextBatch on the dataset that the requirement page pins."""

from collections.abc import Mapping
from typing import Any

import pytest

from impl.failure import ContractFailure
from impl.reference import backend

NEXT_BATCH = "UML_OS.Data.NextBatch_v2"
TOKEN = bytes(range(32))
MANIFEST_HASH = bytes(range(32, 64))
DATASET_HASH = bytes([7] * 32)
ABSENT: Any = object()


def batch_params(
    *,
    n: int = 10,
    batch_size: int = 4,
    world_size: int = 1,
    rank: int = 0,
    epoch: int = 0,
    index: int = 0,
    block: int = 3,
    drop_last: bool = ABSENT,
    stage: str = "train",
    key: str = "d",
    t: int = 0,
    **optional: Any,
) -> dict[str, Any]:
    """Return the params of one call; `block` and `drop_last` may be ABSENT."""
    section = {"sampler_block_size": block, "drop_last": drop_last}
    dataset = {"id": "numbers", "version": "1", "hash": DATASET_HASH, "cardinality": n}
    return {
        "manifest": {
            "datasets": {"d": dataset},
            "global_batch_size": batch_size,
            "data": {name: item for name, item in section.items() if item is not ABSENT},
        },
        "dataset_key": key,
        "world_size": world_size,
        "rank": rank,
        "stage_type": stage,
        "cursor_in": {"epoch": epoch, "global_index": index},
        "kernel_replay_token": TOKEN,
        "manifest_hash": MANIFEST_HASH,
        "t": t,
        **optional,
    }


def call_batch(**changes: Any) -> dict[str, Any]:
    """Return the result of one call."""
    return backend.call(NEXT_BATCH, batch_params(**changes))


def failure_of(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the failure record of a call that must fail."""
    with pytest.raises(ContractFailure) as refusal:
        backend.call(method, params)
    assert refusal.value.data["failure_code"] == refusal.value.code
    return refusal.value.data


def global_batch(**changes: Any) -> tuple[list[list[int]], dict[str, int], int]:
    """Return the rank lists, the next cursor and the produced count; all ranks must agree on the last two."""
    results = [call_batch(**{**changes, "rank": rank}) for rank in range(changes.get("world_size", 1))]
    cursors = [result["cursor_next"] for result in results]
    counts = [result["sampling_metadata"]["produced_count"] for result in results]
    assert cursors == [cursors[0]] * len(results)
    assert counts == [counts[0]] * len(results)
    return [result["batch_sample_indices"] for result in results], cursors[0], counts[0]


def whole_epoch(**changes: Any) -> list[int]:
    """Return the sample indices of one epoch, from its start to the roll-over."""
    epoch = changes.get("epoch", 0)
    indices: list[int] = []
    position = 0
    while True:
        ranks, cursor, _ = global_batch(**{**changes, "index": position})
        for rank in ranks:
            indices += rank
        if cursor["epoch"] != epoch:
            return indices
        position = cursor["global_index"]
