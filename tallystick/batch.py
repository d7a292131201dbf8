"""Relational batches: databases in memory, builders of training batches, and embedders of texts."""

from impl.library.batch import (
    BatchBuilder,
    Database,
    Description,
    Embedder,
    FileLimits,
    HashEmbedder,
    TargetQuery,
    TrainingBatch,
    describe_database,
    open_database,
    split_rows,
)
from impl.library.declaration import declaration_text
from impl.library.kept_database import keep_database, open_kept_database
from impl.vectorized.batch.adjacency import masks
from impl.vectorized.batch.front.columns import EmbeddingTables, write_tables
from impl.vectorized.batch.model import Column, Table

__all__ = [
    "BatchBuilder",
    "Column",
    "Database",
    "Description",
    "Embedder",
    "EmbeddingTables",
    "FileLimits",
    "HashEmbedder",
    "Table",
    "TargetQuery",
    "TrainingBatch",
    "declaration_text",
    "describe_database",
    "keep_database",
    "masks",
    "open_database",
    "open_kept_database",
    "split_rows",
    "write_tables",
]
