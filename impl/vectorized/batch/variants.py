"""What a hash decides of a batch: the order of children, and the part to which a row belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from impl.vectorized.batch.arrays import AnyArray, Indices
from impl.vectorized.batch.flat import Csr, Keys

WORD: Final = 1 << 64


def mixed(numbers: AnyArray) -> AnyArray:
    """Return the output function of SplitMix64 for each of these uint64, after one step of its counter."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def hashes(seed: int, numbers: AnyArray) -> AnyArray:
    """Return a uint64 for each number: mixed(mixed(seed) xor number), modulo 2**64."""
    return mixed(mixed(np.array([seed % WORD], np.uint64)) ^ numbers.astype(np.uint64))


def seeded_children(keys: Keys, seed: int) -> Keys:
    """Return the graph with the children of each parent ordered by the hash of parent * rows + child (ruling BA36).

    So the first `child_width` of them, which ruling BA03 takes, are a random choice that the seed decides.
    """
    rows = len(keys.cells)
    parents = np.repeat(np.arange(rows), np.diff(keys.children.starts))
    children = keys.children.items
    order = np.lexsort((hashes(seed, parents * rows + children), parents))  # no two children of a parent tie
    return replace(keys, children=Csr(keys.children.starts, children[order]))


def split(names: AnyArray, shares: tuple[float, ...], seed: int) -> list[Indices]:
    """Return the places of each share: a name lies at hash / 2**64, and the shares follow each other from 0 to 1."""
    at = hashes(seed, names).astype(np.float64) / WORD
    ends = np.cumsum(shares) / sum(shares)
    part = np.minimum(np.searchsorted(ends, at, side="right"), len(shares) - 1)
    return [np.flatnonzero(part == number) for number in range(len(shares))]
