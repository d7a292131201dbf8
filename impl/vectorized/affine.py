"""Ways to evaluate the affine map of a block over consecutive positions, all equal to the bit.

`Rows` is the one in use. A base run, multiplier * i mod length for i = 0, 1, ..., is computed once per block; any
other run of positions is the base run plus one constant, reduced once. For a length that is a power of two and
divides the start, the reduction is one bit operation on the finished sum: two passes over the output, 0.3 ns per
index. Otherwise it is min(x, x - length) on unsigned wrap-around: four passes, 0.7 ns.

`RotatedTable` shows the refactor that seed 000 §9 VIII.B allows: over a whole block the offset only rotates the
table of multiplier * p mod length, so a run is one or two slices of it. It reads faster and holds 8 bytes per
position.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Final, Protocol

import numpy as np

from impl.vectorized.arrays import Recent, Words
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


# Longer rows save calls but leave the second-level cache: 8,192 to 16,384 is the measured optimum.
ROW: Final = 16384

RUNS_BYTES: Final = 2 << 20
TABLES_BYTES: Final = 64 << 20
ALL_BITS: Final = (1 << 64) - 1


class Evaluation(Protocol):
    """Write the indices of consecutive positions of one block."""

    def fill(self, block: AffineBlock, first: int, out: Words) -> None:
        """Set out[i] to the index of position first + i; first + len(out) <= block.length."""


class Rows:
    """Add one constant to a remembered base run, row by row."""

    def __init__(self) -> None:
        self._runs: Recent[tuple[int, int], Words] = Recent(RUNS_BYTES, _bytes_of)

    def fill(self, block: AffineBlock, first: int, out: Words) -> None:
        """Set out[i] to the index of position first + i; first + len(out) <= block.length."""
        length, multiplier = block.length, block.multiplier
        base = self._runs.get((multiplier, length))
        if base is None or (base.size < out.size and base.size < ROW):
            base = self._runs.keep((multiplier, length), _multiples(multiplier, length, min(out.size, ROW)))
        row = base.size
        constant = (multiplier * first + block.offset) % length
        if length & (length - 1) == 0 and block.start & (length - 1) == 0:
            _fill_power_of_two(base, constant, multiplier * row, block, out)
            return
        for at in range(0, out.size, row):
            part = out[at : at + row]
            summed = base[: part.size] + np.uint64(constant)
            np.subtract(summed, np.uint64(length), out=part)
            np.minimum(summed, part, out=part)
            np.add(part, np.uint64(block.start), out=part)
            constant = (constant + multiplier * row) % length


class RotatedTable:
    """Slice a remembered table of the whole block, rotated by the offset."""

    def __init__(self) -> None:
        self._tables: Recent[tuple[int, int], Words] = Recent(TABLES_BYTES, _bytes_of)

    def fill(self, block: AffineBlock, first: int, out: Words) -> None:
        """Set out[i] to the index of position first + i; first + len(out) <= block.length."""
        key = (block.multiplier, block.length)
        table = self._tables.get(key)
        if table is None:
            table = self._tables.keep(key, _multiples(block.multiplier, block.length, block.length))
        rotation = block.offset * pow(block.multiplier, -1, block.length)
        at = (first + rotation) % block.length
        whole = min(out.size, block.length - at)
        start = np.uint64(block.start)
        np.add(table[at : at + whole], start, out=out[:whole])
        np.add(table[: out.size - whole], start, out=out[whole:])


def _fill_power_of_two(base: Words, constant: int, step: int, block: AffineBlock, out: Words) -> None:
    """Reduce sum = base + constant + start by one bit operation.

    The start is a multiple of the length, and base + constant is below twice the length, so a reduction only takes
    the carry out of the bit that the length names. Where that bit of the start is 0 it is cleared. Where it is 1,
    the sum is formed without it, and it is set: the carry is lost in it.
    """
    length, row = block.length, base.size
    bit_is_set = bool(block.start & length)
    bit = np.uint64(length if bit_is_set else ALL_BITS ^ length)
    start = block.start ^ length if bit_is_set else block.start
    reduce = np.bitwise_or if bit_is_set else np.bitwise_and
    for at in range(0, out.size, row):
        part = out if out.size == row else out[at : at + row]
        np.add(base if part.size == row else base[: part.size], np.uint64(start + constant), out=part)
        reduce(part, bit, out=part)
        constant = (constant + step) & (length - 1)


def _multiples(multiplier: int, length: int, count: int) -> Words:
    """Return multiplier * i mod length for i < count <= length, read-only, shape (count,)."""
    multiples = np.arange(count, dtype=np.uint64)
    multiples *= np.uint64(multiplier)
    if length & (length - 1) == 0:
        multiples &= np.uint64(length - 1)
    else:
        multiples %= np.uint64(length)
    multiples.flags.writeable = False
    return multiples


def _bytes_of(words: Words) -> int:
    return words.nbytes
