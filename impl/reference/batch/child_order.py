"""The hash that puts the children of a parent in an order that a seed decides (ruling BA36)."""

from typing import Final

WORD: Final = 2**64
GOLDEN: Final = 0x9E3779B97F4A7C15


def by_hash(children: list[int], parent: int, rows: int, seed: int) -> list[int]:
    """Return the children of a parent by the hash of parent * rows + child, for a graph of so many rows."""
    return sorted(children, key=lambda child: child_hash(seed, parent * rows + child))


def child_hash(seed: int, number: int) -> int:
    """Return mixed(mixed(seed) xor number), a uint64; numbers below 2**64 never share a hash."""
    return mixed(mixed(seed) ^ number % WORD)


def mixed(state: int) -> int:
    """Return the first output of SplitMix64 from this state, a uint64."""
    z = (state + GOLDEN) % WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    return z ^ z >> 31
