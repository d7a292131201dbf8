"""What NextBatch refuses, in the order that decides between several faults (ruling NA13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from impl.types import bytes32, float64, uint64
from impl.vectorized.affine import MAX_BLOCK_LENGTH
from impl.vectorized.arrays import Uint64Array


@dataclass(frozen=True, slots=True)
class Cursor:
    """Name the epoch and the next global virtual position in it (seed 000 §I.A)."""

    epoch: uint64
    global_index: uint64


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


@dataclass(frozen=True, slots=True)
class SamplingMetadata:
    """Hold the declared metrics and accounting fields of one call (seed 000 §0.I; rulings NA15, NA16, NA30)."""

    epoch: uint64
    global_position: uint64
    is_shuffled: bool
    effective_batch_size: uint64
    produced_count: uint64
    blocks_materialized: uint64
    subsampling_mode: str
    sampling_mode: str
    effective_q: float64
    sampler_block_size: uint64
    sampler_config_hash: bytes32


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """Hold the trace of one call (seed 000 §7; ruling NA26)."""

    t: uint64
    epoch: uint64
    global_position: uint64
    is_shuffled: bool
    micro_batch_size: uint64
    global_batch_size: uint64
    subsampling_mode: str
    sampling_mode: str
    sampler_config_hash: bytes32
    effective_q: float64
    epoch_seed_hash: bytes32
    data_replay_t: bytes32
    cursor_before: Cursor
    cursor_after: Cursor
    produced_count: uint64


@dataclass(frozen=True, slots=True)
class Batch:
    """Hold the result of NextBatch: the rank's indices, the next cursor, the metadata and the trace record."""

    batch_sample_indices: Uint64Array
    cursor_next: Cursor
    sampling_metadata: SamplingMetadata
    trace_record: TraceRecord


@dataclass(frozen=True, slots=True)
class BlockOrder:
    """Hold a permutation of the block ids 0 to num_blocks - 1."""

    block_order: Uint64Array


@dataclass(frozen=True, slots=True)
class OriginalIndex:
    """Hold the sample index that a position of a block maps to."""

    original_index: uint64


@dataclass(frozen=True, slots=True)
class RunHeader:
    """Hold what a run's trace begins with (seed 000 §7)."""

    dataset_key: str
    cardinality: uint64
    sampler_block_size: uint64
    is_shuffled_per_stage: dict[str, bool]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """Hold what a run's trace ends with (seed 000 §7)."""

    final_epoch: uint64
    total_samples_seen: uint64


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Hold the two ends of a run's trace."""

    run_header: RunHeader
    run_end: RunEnd


@dataclass(frozen=True, slots=True)
class EncodedCursors:
    """Hold the canonical bytes of a cursor map."""

    cursors_cbor: bytes


@dataclass(frozen=True, slots=True)
class DecodedCursors:
    """Hold a cursor for each dataset key."""

    cursors: dict[str, Cursor]


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
