"""What NextBatch refuses, in the order that decides between several faults (ruling NA13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, SupportsIndex

from impl.arguments import MAX_UINT64, Judge, shown
from impl.types import bytes32, float64, uint64
from impl.vectorized.affine import MAX_BLOCK_LENGTH
from impl.vectorized.arrays import Uint64Array

OPERATOR: Final = "UML_OS.Data.NextBatch_v2"
ARGUMENTS: Final = Judge(OPERATOR, record={"t": 0, "dataset_key": "", "data_replay_t": bytes(32)})


@dataclass(frozen=True, slots=True)
class Cursor:
    """Name an epoch and a place in it: the number of samples that the epoch has given to all ranks together.

    Both are integers from 0 to 2^64 - 1 (Python's or NumPy's; they are kept as `int`). The place counts in the order
    of the epoch, not in that of the dataset. Save the `cursor_next` of a batch to go on behind it.

    Raises ContractFailure with CONTRACT_VIOLATION for anything else. Source: seed 000 §I.A.

    >>> import tallystick
    >>> tallystick.Cursor(epoch=2, global_index=96)
    Cursor(epoch=2, global_index=96)
    """

    epoch: uint64
    global_index: uint64

    if TYPE_CHECKING:

        def __init__(self, epoch: SupportsIndex, global_index: SupportsIndex) -> None: ...

    def __post_init__(self) -> None:
        """Keep plain integers."""
        for name in ("epoch", "global_index"):
            number = getattr(self, name)
            if type(number) is not int or not 0 <= number <= MAX_UINT64:
                object.__setattr__(self, name, ARGUMENTS.integer(name, number))


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
    """Hold the result of NextBatch: the rank's indices, the next cursor, the metadata and the trace record.

    `batch_sample_indices` is a uint64 array of shape (samples of this rank,). Iterating gives the same indices as
    Python integers, which `__getitem__` of a dataset and JSON take.
    """

    batch_sample_indices: Uint64Array
    cursor_next: Cursor
    sampling_metadata: SamplingMetadata
    trace_record: TraceRecord

    def __iter__(self) -> Iterator[int]:
        return iter(self.batch_sample_indices.tolist())

    def __len__(self) -> int:
        return len(self.batch_sample_indices)


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


STAGES: Final = ("train", "eval", "infer")
_ANOTHER: Final = "choose another global_batch_size or world_size"


def refusal(
    *,
    dataset_key: str,
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
) -> tuple[str, str] | None:
    """Return the code of the first guard that refuses, and a sentence, or None (requirements N01-N09, N31, N40)."""
    if dataset is None:
        return "INVALID_DATASET_KEY", f"dataset_key must name a dataset of the manifest: got {shown(dataset_key)}"
    cardinality = dataset.cardinality
    if cardinality == 0:
        return "CARDINALITY_MISMATCH", "cardinality must be 1 or more: got 0; a dataset without samples has no batches"
    if registry is not None and (found := registry.get(dataset.hash.hex())) != cardinality:
        return "CARDINALITY_MISMATCH", f"cardinality must be that of the registry, {found}: got {cardinality}"
    if rank >= world_size:
        return "CONTRACT_VIOLATION", f"rank must be below world_size: got {rank} of {world_size}"
    if global_batch_size == 0:
        return "BATCH_SIZE_INCONSISTENT", "global_batch_size must be 1 or more: got 0"
    if global_batch_size % world_size:
        said = f"global_batch_size must be a multiple of world_size {world_size}: got {global_batch_size}; {_ANOTHER}"
        return "BATCH_SIZE_INCONSISTENT", said
    if block_size == 0:
        return "BATCH_SIZE_INCONSISTENT", "block_size must be 1 or more: got 0"
    if block_size > MAX_BLOCK_LENGTH < cardinality:
        said = f"block_size must be at most {MAX_BLOCK_LENGTH} for a dataset with more samples: got {block_size}"
        return "CONTRACT_VIOLATION", said
    if stage_type not in STAGES:
        return "INVALID_STAGE_TYPE", f"stage_type must be 'train', 'eval' or 'infer': got {shown(stage_type)}"
    if declared_mode is not None and declared_mode != emitted_mode:
        said = f"accountant_subsampling_mode must be that of the stage, {emitted_mode!r}: got {shown(declared_mode)}"
        return "CONTRACT_VIOLATION", said
    if drop_last and stage_type == "train" and global_batch_size > cardinality:
        said = f"global_batch_size must be at most the cardinality {cardinality} with drop_last"
        return "BATCH_SIZE_INCONSISTENT", f"{said}: got {global_batch_size}; no batch would be left"
    if cursor.global_index >= cardinality:
        said = f"the cursor's global_index must be below the cardinality {cardinality}: got {cursor.global_index}"
        return "GLOBAL_POSITION_EXCEEDS_CARDINALITY", f"{said}; is it a cursor of another dataset?"
    if cursor.global_index + global_batch_size > MAX_UINT64 or cursor.epoch == MAX_UINT64:
        said = f"the cursor's next place must have 64 bits: got {cursor} and global_batch_size {global_batch_size}"
        return "COUNTER_OVERFLOW", f"{said}; begin a new run at Cursor(0, 0)"
    return None
