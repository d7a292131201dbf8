"""Calls of NextBatch on the dataset that the requirement page pins."""

from typing import Any

NEXT_BATCH = "UML_OS.Data.NextBatch_v2"
TOKEN = bytes(range(32))
MANIFEST_HASH = bytes(range(32, 64))
DATASET_HASH = bytes([7] * 32)


def batch_params(
    *,
    n: int = 10,
    batch_size: int = 4,
    world_size: int = 1,
    rank: int = 0,
    epoch: int = 0,
    index: int = 0,
    block: int = 3,
    stage: str = "train",
    t: int = 0,
    **optional: Any,
) -> dict[str, Any]:
    """Return the params of one call."""
    dataset = {"id": "numbers", "version": "1", "hash": DATASET_HASH, "cardinality": n}
    return {
        "manifest": {
            "datasets": {"d": dataset},
            "global_batch_size": batch_size,
            "data": {"sampler_block_size": block},
        },
        "dataset_key": "d",
        "world_size": world_size,
        "rank": rank,
        "stage_type": stage,
        "cursor_in": {"epoch": epoch, "global_index": index},
        "kernel_replay_token": TOKEN,
        "manifest_hash": MANIFEST_HASH,
        "t": t,
        **optional,
    }
