"""What NextBatch is asked, and the guards that judge it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from impl.reference.data.cursor import Cursor
from impl.reference.data.manifest import Manifest, resolve_block_size, resolve_drop_last
from impl.reference.data.stage import STAGES, TRAIN, subsampling_mode

MAX_UINT64: Final = 2**64 - 1
MAX_BLOCK: Final = 2**32


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Hold the inputs of NextBatch that its guards judge."""

    manifest: Manifest
    dataset_key: str
    world_size: int
    rank: int
    stage_type: str
    cursor: Cursor
    dataset_registry: Mapping[str, int] | None
    accountant_subsampling_mode: str | None


def first_fault(request: BatchRequest) -> str | None:
    """Return the code of the first guard that refuses the request, None where all accept it.

    The guards stand in the order of seed 000 §6, and their numbers are those of the completion of ruling NA13.
    """
    manifest = request.manifest
    cursor = request.cursor

    # (1) requirement N04
    if request.dataset_key not in manifest.datasets:
        return "INVALID_DATASET_KEY"

    # (2) requirement N08, rulings NA12 and NA29
    dataset = manifest.datasets[request.dataset_key]
    n = dataset.cardinality
    if n == 0:
        return "CARDINALITY_MISMATCH"
    registry = request.dataset_registry
    if registry is not None and registry.get(dataset.hash.hex()) != n:
        return "CARDINALITY_MISMATCH"

    # (3) ruling NA07
    if request.world_size == 0:
        return "CONTRACT_VIOLATION"
    if request.rank >= request.world_size:
        return "CONTRACT_VIOLATION"

    # (4) requirements N01 and N02, ruling NA08
    batch_size = manifest.global_batch_size
    if batch_size == 0:
        return "BATCH_SIZE_INCONSISTENT"
    if batch_size % request.world_size != 0:
        return "BATCH_SIZE_INCONSISTENT"
    if batch_size < request.world_size:
        return "BATCH_SIZE_INCONSISTENT"

    # (5) requirement N03, ruling NA09
    block_size = resolve_block_size(manifest)
    if block_size == 0:
        return "BATCH_SIZE_INCONSISTENT"

    # (6) ruling NA18, in every stage
    if min(block_size, n) > MAX_BLOCK:
        return "CONTRACT_VIOLATION"

    # (7) requirement N05
    if request.stage_type not in STAGES:
        return "INVALID_STAGE_TYPE"

    # (7b) requirement N40
    declared_mode = request.accountant_subsampling_mode
    if declared_mode is not None and declared_mode != subsampling_mode(request.stage_type):
        return "CONTRACT_VIOLATION"

    # (8) requirement N06, ruling NA10
    drop_last = resolve_drop_last(manifest)
    if request.stage_type == TRAIN and drop_last and batch_size > n:
        return "BATCH_SIZE_INCONSISTENT"

    # (9) requirement N09, ruling NA11
    if cursor.global_index >= n:
        return "GLOBAL_POSITION_EXCEEDS_CARDINALITY"

    # (10) requirement N31, ruling NA18
    if cursor.global_index + batch_size > MAX_UINT64:
        return "COUNTER_OVERFLOW"
    if cursor.epoch == MAX_UINT64:
        return "COUNTER_OVERFLOW"

    return None
