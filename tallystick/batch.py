"""Relational batches: databases in memory, builders of training batches, and embedders of texts."""

from impl.library.batch import BatchBuilder, Database, Embedder, HashEmbedder, TrainingBatch, open_database
from impl.vectorized.batch.adjacency import masks
from impl.vectorized.batch.front.columns import EmbeddingTables, write_tables
from impl.vectorized.batch.model import Column, Table

__all__ = [
    "BatchBuilder",
    "Column",
    "Database",
    "Embedder",
    "EmbeddingTables",
    "HashEmbedder",
    "Table",
    "TrainingBatch",
    "masks",
    "open_database",
    "write_tables",
]
