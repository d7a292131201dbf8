"""The affine bijection of a block: multiplier and offset, for one block or for many of one size."""

from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np

from impl.vectorized.arrays import Words
from impl.vectorized.philox import block_draw, block_draws

# Up to this size multiplier * position + offset stays below 2^64 (ruling NA18).
MAX_BLOCK_LENGTH: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class AffineBlock:
    """Map position p of a block to start + (multiplier * p + offset) mod length."""

    start: int
    length: int
    multiplier: int
    offset: int


def affine_block(block_id: int, block_size: int, seed: bytes, cardinality: int) -> AffineBlock:
    """Return the map of one block, whose start is below the cardinality (seed 000 §5).

    A block of one element keeps it: multiplier 1, offset 0.
    """
    start = block_id * block_size
    length = min(block_size, cardinality - start)
    if length == 1:
        return AffineBlock(start, 1, 1, 0)
    k0, k1 = block_draw(seed, block_id)
    multiplier = 1 + k0 % (length - 1)
    while gcd(multiplier, length) != 1:
        multiplier = 1 + multiplier % (length - 1)
    return AffineBlock(start, length, multiplier, k1 % length)


def affine_blocks(block_ids: Words, length: int, seed: bytes) -> tuple[Words, Words]:
    """Return multipliers and offsets of full blocks, each of shape (len(block_ids),) (seed 000 §5)."""
    if length == 1:
        return np.ones_like(block_ids), np.zeros_like(block_ids)
    k0, k1 = block_draws(seed, block_ids)
    size, cycle = np.uint64(length), np.uint64(length - 1)
    multipliers = k0 % cycle + np.uint64(1)
    shared = np.flatnonzero(np.gcd(multipliers, size) != 1)
    while shared.size:
        candidates = multipliers[shared] % cycle + np.uint64(1)
        multipliers[shared] = candidates
        shared = shared[np.gcd(candidates, size) != 1]
    return multipliers, k1 % size
