"""Embeddings of texts, and their tables as memory-mapped files."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import shake_256
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from impl.vectorized.batch.arrays import AnyArray
from impl.vectorized.batch.model import Database

PREFIX: Final = b"tallystick.text_embedding_v1\0"
HALF: Final = np.dtype("<f2")
COLUMNS: Final = "column_embeddings.bin"
CATEGORIES: Final = "categorical_embeddings.bin"
TEXTS: Final = "text_embeddings.bin"


class Embedder(Protocol):
    """Turn texts into vectors; the same text must always give the same vector."""

    @property
    def dimension(self) -> int:
        """Return the width of a vector."""

    def embed(self, texts: Sequence[str]) -> AnyArray:
        """Return float16 of shape (texts, dimension)."""


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """Embed a text by SHAKE-256: eleven bits for each number in [-1, 1), which float16 holds exactly."""

    dimension: int = 256

    def embed(self, texts: Sequence[str]) -> AnyArray:
        """Return float16 of shape (texts, dimension)."""
        size = 2 * self.dimension
        digests = b"".join(shake_256(PREFIX + text.encode()).digest(size) for text in texts)
        words = np.frombuffer(digests, "<u2").reshape(len(texts), self.dimension) >> 5
        return ((words.astype(np.float32) - 1024) / 1024).astype(np.float16)


@dataclass(frozen=True, slots=True)
class EmbeddingTables:
    """Hold the three tables, float16 of shape (columns, D), (categories, D) and (texts, D)."""

    columns: AnyArray
    categories: AnyArray
    texts: AnyArray


def write_tables(folder: Path, database: Database, embedder: Embedder) -> EmbeddingTables:
    """Write the embeddings of all columns, categories and texts, and return them memory-mapped.

    A file is the table's float16 numbers, little-endian, row by row, without a header (seed 004 §5a, §5b, §6). A
    column is embedded as "table column", a category as its name; the rows stand under their global indices.
    """
    tables = sorted(database.tables, key=lambda table: table.name.encode())
    columns = [(table, column) for table in tables for column in table.columns]
    named = [f"{table.name} {column.name}" for table, column in columns]
    blocks = sorted((column.cat_emb_start, column.categories) for _, column in columns
                    if column.cat_emb_start is not None and column.categories is not None)  # fmt: skip
    categories = [name for _, names in blocks for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (
        (COLUMNS, embedder.embed(named)),
        (CATEGORIES, embedder.embed(categories)),
        (TEXTS, database.text_embeddings),
    ):
        with (folder / name).open("wb") as stream:
            stream.write(np.ascontiguousarray(rows, HALF).data)
    return open_tables(folder, embedder.dimension)


def open_tables(folder: Path, dimension: int) -> EmbeddingTables:
    """Return the tables of a folder, memory-mapped read-only; ValueError where a size does not fit the dimension."""
    return EmbeddingTables(*(_mapped(folder / name, dimension) for name in (COLUMNS, CATEGORIES, TEXTS)))


def _mapped(file: Path, dimension: int) -> AnyArray:
    rows, rest = divmod(file.stat().st_size, HALF.itemsize * dimension)
    if rest:
        raise ValueError(f"{file}: not a whole number of vectors of {dimension}")
    if rows == 0:  # an empty file cannot be mapped
        return np.zeros((0, dimension), np.float16)
    return np.memmap(file, HALF, "r", shape=(rows, dimension))
