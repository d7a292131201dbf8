"""The embedding tables as files."""

from pathlib import Path

import numpy as np
import pytest

from impl.vectorized.batch.front import HashEmbedder
from impl.vectorized.batch.front.columns import open_tables, write_tables
from impl.vectorized.batch.model import Column, Database, Table


def held(texts: int = 2) -> Database:
    none = np.zeros(1, np.bool_)
    zero = np.zeros(1, np.uint32)
    return Database(
        (
            Table("b", 1, (Column("x", "identifier", np.zeros(1, np.int64), none),
                           Column("y", "categorical", zero, none, cat_emb_start=0, categories=("p", "q"))), ()),
            Table("a", 1, (Column("z", "categorical", zero, none, cat_emb_start=2, categories=("r",)),), ()),
        ),
        np.arange(4 * texts, dtype=np.float16).reshape(texts, 4),
    )  # fmt: skip


def test_the_tables_come_back_memory_mapped_under_their_global_indices(tmp_path: Path) -> None:
    embedder = HashEmbedder(4)
    tables = write_tables(tmp_path, held(), embedder)
    assert isinstance(tables.texts, np.memmap)
    assert np.array_equal(tables.columns, embedder.embed(["a z", "b x", "b y"]))
    assert np.array_equal(tables.categories, embedder.embed(["p", "q", "r"]))
    assert np.array_equal(tables.texts, held().text_embeddings)
    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert sizes == {"column_embeddings.bin": 24, "categorical_embeddings.bin": 24, "text_embeddings.bin": 16}


def test_a_database_without_texts_has_an_empty_table(tmp_path: Path) -> None:
    assert write_tables(tmp_path, held(0), HashEmbedder(4)).texts.shape == (0, 4)


def test_a_file_of_another_width_is_refused(tmp_path: Path) -> None:
    write_tables(tmp_path, held(), HashEmbedder(4))
    with pytest.raises(ValueError, match=r"column_embeddings\.bin"):
        open_tables(tmp_path, 5)
