"""Opening database files: one pass over the rows of each table, in the order of their numbers."""

from impl.vectorized.batch.front.columns import Embedder, HashEmbedder
from impl.vectorized.batch.front.open import open_database

__all__ = ["Embedder", "HashEmbedder", "open_database"]
