"""Philox4x32-10: the counter-based generator of the data helpers, and how an epoch seed keys it.

A counter is four 32-bit words, a key two. The seed's first half is the key, its second half the first two words of
the counter, all little-endian (ruling NA02).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

Words2 = tuple[int, int]
Words4 = tuple[int, int, int, int]

MULTIPLIER_0 = 0xD2511F53
MULTIPLIER_1 = 0xCD9E8D57
WEYL_0 = 0x9E3779B9
WEYL_1 = 0xBB67AE85
ROUNDS = 10
MASK_32 = 0xFFFFFFFF
MASK_128 = 2**128 - 1


def philox(counter: Words4, key: Words2) -> Words4:
    """Return the four 32-bit words that Philox4x32-10 makes of a counter and a key."""
    c0, c1, c2, c3 = counter
    for k0, k1 in round_keys(key):
        product_0 = MULTIPLIER_0 * c0
        product_1 = MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (
            (product_1 >> 32) ^ c1 ^ k0,
            product_1 & MASK_32,
            (product_0 >> 32) ^ c3 ^ k1,
            product_0 & MASK_32,
        )
    return c0, c1, c2, c3


@lru_cache(maxsize=1)
def round_keys(key: Words2) -> tuple[Words2, ...]:
    """Return the key of each round: the first is the given one, and the Weyl constants are added for every next."""
    keys = []
    k0, k1 = key
    for _ in range(ROUNDS):
        keys.append((k0, k1))
        k0 = (k0 + WEYL_0) & MASK_32
        k1 = (k1 + WEYL_1) & MASK_32
    return tuple(keys)


@dataclass(frozen=True, slots=True)
class PhiloxSeed:
    """Hold the key and the two counter words of a 16-byte epoch seed."""

    key: Words2
    base: Words2


def read_seed(epoch_seed: bytes) -> PhiloxSeed:
    """Return the four little-endian words of an epoch seed as key and counter base (ruling NA02)."""
    key_0 = int.from_bytes(epoch_seed[0:4], "little")
    key_1 = int.from_bytes(epoch_seed[4:8], "little")
    base_0 = int.from_bytes(epoch_seed[8:12], "little")
    base_1 = int.from_bytes(epoch_seed[12:16], "little")
    return PhiloxSeed(key=(key_0, key_1), base=(base_0, base_1))


def draws(epoch_seed: bytes) -> Iterator[int]:
    """Yield 64-bit draws, one Philox block each (rulings NA03, NA04).

    The counter is one 128-bit number, its least significant word first; it is incremented before it is encrypted, so
    draw i uses the base plus i + 1.
    """
    seed = read_seed(epoch_seed)
    counter = seed.base[0] | seed.base[1] << 32
    while True:
        counter = (counter + 1) & MASK_128
        words = _words_of_counter(counter)
        w0, w1, _, _ = philox(words, seed.key)
        yield w0 | w1 << 32


def _words_of_counter(counter: int) -> Words4:
    return counter & MASK_32, counter >> 32 & MASK_32, counter >> 64 & MASK_32, counter >> 96


def block_draws(epoch_seed: bytes, block_id: int) -> tuple[int, int]:
    """Return the two 64-bit numbers k0 and k1 of a block (ruling NA05).

    The block id is in the upper two counter words. The lower two are the base's own, as in no counter of draws():
    no counter is ever used twice.
    """
    seed = read_seed(epoch_seed)
    block_low = block_id & MASK_32
    block_high = block_id >> 32
    w0, w1, w2, w3 = philox((*seed.base, block_low, block_high), seed.key)
    return w0 | w1 << 32, w2 | w3 << 32
