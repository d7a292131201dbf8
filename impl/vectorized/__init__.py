"""The fast implementation, in NumPy: an independent derivation that equals the reference to the bit.

For a training loop: `Sampler` gives the batches of one rank from any cursor on; `prefetched` computes them ahead.
"""

from typing import Final

from impl.backend import Backend
from impl.vectorized.operators import operators
from impl.vectorized.records import Batch, Cursor
from impl.vectorized.sampler import Sampler, prefetched

backend: Final = Backend("vectorized", operators(), arrays="numpy")

__all__ = ["Batch", "Cursor", "Sampler", "backend", "prefetched"]
