"""What NextBatch refuses, in the order that decides between several faults (ruling NA13)."""

from collections.abc import Mapping
from typing import Final

from impl.vectorized.affine import MAX_BLOCK_LENGTH
from impl.vectorized.records import Cursor, Dataset

UINT64_MAX: Final = (1 << 64) - 1
STAGES: Final = frozenset(("train", "eval", "infer"))


def refusal(
    *,
    dataset: Dataset | None,
    registry: Mapping[str, int] | None,
    world_size: int,
    rank: int,
    global_batch_size: int,
    block_size: int,
    drop_last: bool,
    stage_type: str,
    declared_mode: str | None,
    emitted_mode: str,
    cursor: Cursor,
) -> str | None:
    """Return the failure code of the first guard that refuses, or None (requirements N01 to N09, N31, N40)."""
    if dataset is None:
        return "INVALID_DATASET_KEY"
    cardinality = dataset.cardinality
    if cardinality == 0 or (registry is not None and registry.get(dataset.hash.hex()) != cardinality):
        return "CARDINALITY_MISMATCH"
    if rank >= world_size:
        return "CONTRACT_VIOLATION"
    if global_batch_size == 0 or global_batch_size % world_size or block_size == 0:
        return "BATCH_SIZE_INCONSISTENT"
    if block_size > MAX_BLOCK_LENGTH < cardinality:
        return "CONTRACT_VIOLATION"
    if stage_type not in STAGES:
        return "INVALID_STAGE_TYPE"
    if declared_mode is not None and declared_mode != emitted_mode:
        return "CONTRACT_VIOLATION"
    if drop_last and stage_type == "train" and global_batch_size > cardinality:
        return "BATCH_SIZE_INCONSISTENT"
    if cursor.global_index >= cardinality:
        return "GLOBAL_POSITION_EXCEEDS_CARDINALITY"
    if cursor.global_index + global_batch_size > UINT64_MAX or cursor.epoch == UINT64_MAX:
        return "COUNTER_OVERFLOW"
    return None
