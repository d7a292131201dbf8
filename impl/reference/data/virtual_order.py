"""The order in which an epoch visits the samples: virtual position in, sample index out."""

from dataclasses import dataclass
from functools import cache, partial

from impl.reference.data.seeded_block_permute import seeded_block_permute
from impl.reference.data.seeded_intra_block_map import derive_coefficients, map_position


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """Hold an epoch's blocks: `block_order` lists the full ones, a short tail stays last (requirement N12)."""

    cardinality: int
    block_size: int
    epoch_seed: bytes
    num_full_blocks: int
    has_tail: bool
    block_order: list[int]


@dataclass(frozen=True, slots=True)
class Place:
    """Hold where a virtual position falls: its block in order, the block that stands there, the place inside."""

    ordinal: int
    block_id: int
    local_pos: int


def plan_blocks(cardinality: int, block_size: int, epoch_seed: bytes) -> BlockPlan:
    """Return the blocks of a train epoch, the full ones permuted (seed 000 §6.8)."""
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
    indices = []
    for position in positions:
        place = locate(plan, position)
        index = map_position(place.block_id, place.local_pos, plan.block_size, plan.cardinality, coefficients)
        indices.append(index)
    return indices
