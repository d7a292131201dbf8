"""What a call of NextBatch says about itself: its metadata and its trace record."""

from dataclasses import dataclass

from impl.reference.data.cursor import Cursor
from impl.types import bytes32, float64, uint64


@dataclass(frozen=True, slots=True)
class SamplingMetadata:
    """Hold the declared metrics and accounting fields of one call (seed 000 §0.I; rulings NA15, NA16, NA17, NA30)."""

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
