"""The batch family in NumPy: a database flattened once, then batches of many seeds at a time (seed 004)."""

from impl.vectorized.batch.builder import Builder, Limits
from impl.vectorized.batch.flat import Flat, flatten

__all__ = ["Builder", "Flat", "Limits", "flatten"]
