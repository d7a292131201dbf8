"""The order of the full blocks in an epoch."""

from dataclasses import dataclass
from itertools import islice
from typing import Final

from impl.failure import default_failure
from impl.reference.philox import draws
from impl.types import bytes16, uint64

OPERATOR: Final = "UML_OS.Data.SeededBlockPermute_v1"


@dataclass(frozen=True, slots=True)
class BlockOrder:
    """Hold a permutation of the block ids 0 to num_blocks - 1."""

    block_order: list[uint64]


def seeded_block_permute(*, num_blocks: uint64, epoch_seed: bytes16) -> BlockOrder:
    """Shuffle the block ids 0 to num_blocks - 1 by Fisher-Yates over Philox4x32-10.

    Forward, one draw per step, the draw reduced by plain modulo. num_blocks = 0, or a seed that is not 16 bytes, is
    CONTRACT_VIOLATION (seed 000 §5; rulings NA03, NA04, completion N14/N16).
    """
    if num_blocks == 0:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    if len(epoch_seed) != 16:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    order = list(range(num_blocks))
    for i, draw in enumerate(islice(draws(epoch_seed), num_blocks - 1)):
        j = i + draw % (num_blocks - i)
        order[i], order[j] = order[j], order[i]
    return BlockOrder(block_order=order)
