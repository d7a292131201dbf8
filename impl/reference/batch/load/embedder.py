"""Embeddings of texts: the seam, and the default that needs no model."""

import struct
from collections.abc import Sequence
from hashlib import shake_256
from typing import Final, Protocol

DOMAIN: Final = b"tallystick.text_embedding_v1\0"
DIMENSION: Final = 256


class Embedder(Protocol):
    """Turn texts into vectors; the same text must always give the same bytes."""

    dimension: int

    def embed(self, texts: Sequence[str]) -> bytes:
        """Return the float16 numbers of each text, one after the other, little-endian."""


class HashEmbedder:
    """Embed a text by its hash: deterministic and without meaning, for tests and first use.

    Number k is (u >> 5) / 1024 - 1, u being the k-th little-endian 16-bit word of SHAKE-256 over the domain and the
    text's UTF-8 bytes: eleven bits, exact in float16, in [-1, 1).
    """

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> bytes:
        """Return the float16 numbers of each text, one after the other, little-endian."""
        return b"".join(self._vector(text) for text in texts)

    def _vector(self, text: str) -> bytes:
        digest = shake_256(DOMAIN + text.encode("utf-8")).digest(2 * self.dimension)
        words = struct.unpack(f"<{self.dimension}H", digest)
        return struct.pack(f"<{self.dimension}e", *((word >> 5) / 1024 - 1 for word in words))
