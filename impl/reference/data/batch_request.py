"""What NextBatch is asked, and the guards that judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from impl.reference.data.cursors import Cursor
from impl.types import bytes32, uint64

DEFAULT_BLOCK_SIZE: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class Dataset:
    """Describe one dataset (seed 000 §0.F)."""

    id: str
    version: str
    hash: bytes32
    cardinality: uint64


@dataclass(frozen=True, slots=True)
class DataSection:
    """Hold the sampler's settings; both may be absent (ruling NA27)."""

    sampler_block_size: uint64 | None = None
    drop_last: bool | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Hold the datasets, the global batch size in samples, and the sampler's settings."""

    datasets: dict[str, Dataset]
    global_batch_size: uint64
    data: DataSection | None = None


def resolve_block_size(manifest: Manifest) -> int:
    """Return the sampler's block size in samples: only an absent one is the default (rulings NA09, NA27)."""
    section = manifest.data or DataSection()
    if section.sampler_block_size is None:
        return DEFAULT_BLOCK_SIZE
    return section.sampler_block_size


def resolve_drop_last(manifest: Manifest) -> bool:
    """Return whether a train epoch drops its short last batch: false where absent (ruling NA27)."""
    section = manifest.data or DataSection()
    if section.drop_last is None:
        return False
    return section.drop_last


TRAIN: Final = "train"
EVAL: Final = "eval"
INFER: Final = "infer"
STAGES: Final = (TRAIN, EVAL, INFER)


def is_shuffled(stage_type: str) -> bool:
    """Return whether a stage shuffles: only train does (seed 000 §6.8)."""
    return stage_type == TRAIN


def subsampling_mode(stage_type: str) -> str:
    """Return the mode that a privacy accountant must assume (seed 000 §0.I)."""
    return "SHUFFLE_WITHOUT_REPLACEMENT" if is_shuffled(stage_type) else "NONE"


def sampling_mode(stage_type: str) -> str:
    """Return the versioned name of the sampling rule (seed 000 §0.I)."""
    return "SHUFFLE_WITHOUT_REPLACEMENT_BLOCK_AFFINE_V1" if is_shuffled(stage_type) else "SEQUENTIAL_V1"


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

    The guards are in the order of seed 000 §6, and their numbers are those of the completion of ruling NA13.
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
