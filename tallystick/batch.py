"""Relational batches: databases in memory, builders of training batches, and embedders of texts."""

from impl.library.batch import BatchBuilder, Database, Embedder, HashEmbedder, TrainingBatch, open_database
from impl.vectorized.batch.adjacency import masks
from impl.vectorized.batch.front.columns import EmbeddingTables, write_tables

__all__ = [
    "BatchBuilder",
    "Database",
    "Embedder",
    "EmbeddingTables",
    "HashEmbedder",
    "TrainingBatch",
    "masks",
    "open_database",
    "write_tables",
]
