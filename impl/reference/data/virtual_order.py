"""The order in which an epoch visits the samples: virtual position in, sample index out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import NamedTuple

from impl.reference.data.cursors import Cursor
from impl.reference.data.seeded_block_permute import seeded_block_permute
from impl.reference.data.seeded_intra_block_map import derive_coefficients, map_position
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


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """Hold an epoch's blocks: `block_order` lists the full ones, a short tail stays last (requirement N12)."""

    cardinality: int
    block_size: int
    epoch_seed: bytes
    num_full_blocks: int
    has_tail: bool
    block_order: list[int]


class Place(NamedTuple):
    """Hold where a virtual position falls: its block in order, the block there, the place inside."""

    ordinal: int
    block_id: int
    local_pos: int


@lru_cache(maxsize=1)
def plan_blocks(cardinality: int, block_size: int, epoch_seed: bytes) -> BlockPlan:
    """Return the blocks of a train epoch, the full ones permuted (seed 000 §6.8); an epoch has many calls."""
    num_full_blocks = cardinality // block_size
    has_tail = cardinality % block_size != 0
    block_order: list[int] = []
    if num_full_blocks > 0:
        block_order = seeded_block_permute(num_blocks=num_full_blocks, epoch_seed=epoch_seed).block_order
    return BlockPlan(cardinality, block_size, epoch_seed, num_full_blocks, has_tail, block_order)


def locate(plan: BlockPlan, position: int) -> Place:
    """Return the place of a virtual position below the cardinality."""
    ordinal = position // plan.block_size
    local_pos = position % plan.block_size
    if plan.has_tail and ordinal == plan.num_full_blocks:
        return Place(ordinal, plan.num_full_blocks, local_pos)
    return Place(ordinal, plan.block_order[ordinal], local_pos)


def shuffled_indices(plan: BlockPlan, positions: range) -> list[int]:
    """Return the sample indices of virtual positions; a block's coefficients are derived once per call."""
    coefficients = cache(partial(derive_coefficients, plan.epoch_seed))
    places = (locate(plan, position) for position in positions)
    return [
        map_position(place.block_id, place.local_pos, plan.block_size, plan.cardinality, coefficients)
        for place in places
    ]
