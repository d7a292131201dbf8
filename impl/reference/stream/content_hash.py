"""The hash by which a restored stream knows its source again."""

from collections.abc import Sequence
from typing import Final

OFFSET_BASIS: Final = 0xCBF29CE484222325
PRIME: Final = 0x100000001B3
WORD: Final = 4  # bytes of a token


def content_hash(tokens: Sequence[int]) -> int:
    """Return FNV-1a-64 over the tokens as little-endian u32, 0 for none (requirement S31; rulings SA10, SA11)."""
    if not tokens:
        return 0
    digest = OFFSET_BASIS
    for token in tokens:
        for byte in token.to_bytes(WORD, "little"):
            digest = (digest ^ byte) * PRIME % 2**64
    return digest
