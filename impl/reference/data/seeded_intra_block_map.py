"""The affine bijection inside a block."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Final

from impl.failure import ContractFailure, default_failure
from impl.reference.philox import block_draws
from impl.types import bytes16, uint64

OPERATOR: Final = "UML_OS.Data.SeededIntraBlockMap_v1"
MAX_MODULUS: Final = 2**32

Coefficients = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class MappedIndex:
    """Hold the sample index of one position."""

    original_index: uint64


def seeded_intra_block_map(
    *, block_id: uint64, local_pos: uint64, block_size: uint64, epoch_seed: bytes16, cardinality: uint64
) -> MappedIndex:
    """Map a position inside a block to a sample index by j = (a * local_pos + c) mod m.

    m is the block's length in samples. An empty block size, a block or a position that does not exist, and a block of
    more than 2^32 samples are CONTRACT_VIOLATION (seed 000 §5; rulings NA05, NA18, completion N14/N16).
    """
    coefficients = partial(derive_coefficients, epoch_seed)
    return MappedIndex(original_index=map_position(block_id, local_pos, block_size, cardinality, coefficients))


def map_position(block_id: int, local_pos: int, block_size: int, cardinality: int, coefficients: Coefficients) -> int:
    """Return the sample index of a position; `coefficients` gives a and c of a block id and its length m."""
    if block_size == 0:
        raise _violation()
    block_start = block_id * block_size
    if block_start >= cardinality:
        raise _violation()
    m = min(block_size, cardinality - block_start)
    if m > MAX_MODULUS:
        raise _violation()
    if local_pos >= m:
        raise _violation()
    if m == 1:
        return block_start
    a, c = coefficients(block_id, m)
    j = (a * local_pos + c) % m
    return block_start + j


def derive_coefficients(epoch_seed: bytes, block_id: int, m: int) -> tuple[int, int]:
    """Return the multiplier a and the offset c of a block of m > 1 samples."""
    k0, k1 = block_draws(epoch_seed, block_id)
    a = choose_multiplier(k0, m)
    c = k1 % m
    return a, c


def choose_multiplier(k0: int, m: int) -> int:
    """Return the first candidate from 1 + (k0 mod (m - 1)) on that is coprime to m > 1; the search wraps at m - 1.

    An exhausted search is CONTRACT_VIOLATION, which cannot happen: 1 is coprime to every m (requirement N16).
    """
    a = 1 + k0 % (m - 1)
    for i in range(m - 1):
        candidate = 1 + (a - 1 + i) % (m - 1)
        if gcd(candidate, m) == 1:
            return candidate
    raise _violation()


def _violation() -> ContractFailure:
    return default_failure("CONTRACT_VIOLATION", OPERATOR)
