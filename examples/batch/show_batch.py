"""Sample batches of a small shop, show one sequence as a table and its attention masks as a picture.

    python examples/batch/show_batch.py [FOLDER]

The folder (default: batch-example) receives shop.db, the three embedding tables and masks.svg; the picture needs
matplotlib (`pip install "tallystick[plots]"`).
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from shop import DECLARATION, write_shop

from tallystick import BatchBuilder, open_database
from tallystick.batch import Column, HashEmbedder, Table, TrainingBatch, masks, write_tables

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOW = int((datetime(2023, 9, 1, tzinfo=UTC) - EPOCH) / timedelta(microseconds=1))
LENGTH = 96
SEEDS = [60, 61, 62, 63]
SHOWN = 0
NAMES = ("column_mask", "outbound_mask", "inbound_mask")
PERMUTATIONS = ("col_perm", "out_perm", "in_perm")


def main(folder: Path) -> None:
    """Write the shop, build a batch, and show it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_shop(folder / "shop.db")
    database = open_database(folder / "shop.db", DECLARATION, progress=lambda table, rows: print(f"{table}: {rows}"))
    tables = write_tables(folder, database, HashEmbedder())
    print(f"embedding tables: {tables.columns.shape} columns, {tables.categories.shape} categories, "
          f"{tables.texts.shape} texts")  # fmt: skip
    # From here on the texts are read from the mapped file.
    mapped = replace(database, text_embeddings=tables.texts)
    builder = BatchBuilder(
        mapped, "orders", "total", sequence_length=LENGTH, max_hops=3, child_width=6, cutoff="strict"
    )
    batch = builder.batch(SEEDS, [NOW] * len(SEEDS))
    for name in TrainingBatch.__slots__:
        tensor = getattr(batch, name)
        print(f"{name:<24}{tensor.dtype!s:<9}{list(tensor.shape)}")
    print()
    for line in sequence_lines(batch, SHOWN, database.tables, tables.categories.shape[0]):
        print(line)
    picture(batch, SHOWN, folder / "masks.svg")


def sequence_lines(batch: TrainingBatch, b: int, tables: tuple[Table, ...], categories: int) -> Iterator[str]:
    """Return one sequence as the lines of a table."""
    columns: list[tuple[Table, Column]] = [(table, column) for table in tables for column in table.columns]
    names = category_names(columns, categories)
    yield f"{'':>4} {'row':>4} {'column':<22}{'type':<13}value"
    for i in range(batch.is_padding.shape[1]):
        if batch.is_padding[b, i]:
            yield f"{i:>4}  padding from here on"
            return
        table, column = columns[batch.column_ids[b, i]]
        value = "NULL" if batch.is_null[b, i] else shown(batch, b, i, column.semantic_type, names)
        target = "   <- target" if batch.is_target[b, i] else ""
        row, name = batch.seq_row_ids[b, i], f"{table.name}.{column.name}"
        yield f"{i:>4} {row:>4} {name:<22}{column.semantic_type:<13}{value}{target}"


def category_names(columns: list[tuple[Table, Column]], count: int) -> list[str]:
    """Return the name of each category under its global id."""
    names = [""] * count
    for _, column in columns:
        for i, name in enumerate(column.categories or ()):
            names[(column.cat_emb_start or 0) + i] = name
    return names


def shown(batch: TrainingBatch, b: int, i: int, kind: str, names: list[str]) -> str:
    """Return what the slot of a cell's type holds."""
    match kind:
        case "numerical":
            return f"{batch.numeric_values[b, i]:+.3f}"
        case "timestamp":
            pairs = " ".join(f"{number:+.2f}" for number in batch.timestamp_values[b, i])
            return f"[{pairs}]"
        case "boolean":
            return str(bool(batch.bool_values[b, i]))
        case "categorical":
            return f"{batch.categorical_embed_ids[b, i]} ({names[batch.categorical_embed_ids[b, i]]})"
        case "text":
            return f"text {batch.text_embed_ids[b, i]} of the batch"
    return ""


def picture(batch: TrainingBatch, b: int, file: Path) -> None:
    """Draw the three masks of a sequence as it is, and permuted."""
    try:
        matplotlib: Any = import_module("matplotlib")
    except ImportError:
        print("\nno picture: matplotlib is not installed")
        return
    matplotlib.use("svg")
    # The same bytes on every run.
    matplotlib.rcParams["svg.hashsalt"] = "tallystick"
    plots: Any = import_module("matplotlib.pyplot")
    all_masks = masks(batch.column_ids, batch.seq_row_ids, batch.is_padding, batch.fk_adj)
    figure, axes = plots.subplots(2, 3, figsize=(9, 6.4), layout="constrained")
    for place, (name, permutation, mask) in enumerate(zip(NAMES, PERMUTATIONS, all_masks, strict=True)):
        order = getattr(batch, permutation)[b]
        for line, (title, shown_mask) in enumerate(
            ((name, mask[b]), (f"{name} by {permutation}", mask[b][np.ix_(order, order)]))
        ):
            axis = axes[line, place]
            axis.imshow(shown_mask, cmap="Greys", interpolation="nearest", vmin=0, vmax=1)
            axis.set_title(f"{title}\nbandwidth {bandwidth(shown_mask)}, {tiles(shown_mask)} tiles", fontsize=9)
            axis.set_xticks([])
            axis.set_yticks([])
    figure.savefig(file, metadata={"Date": None})
    print(f"\nwrote {file}")


def bandwidth(mask: Any) -> int:
    """Return how far the farthest true place is from the diagonal."""
    rows, columns = np.nonzero(mask)
    return int(np.abs(rows - columns).max(initial=0))


def tiles(mask: Any, side: int = 8) -> int:
    """Return how many tiles of this side hold anything: what a block-sparse kernel must visit."""
    size = -(-mask.shape[0] // side) * side
    padded = np.zeros((size, size), np.bool_)
    padded[: mask.shape[0], : mask.shape[1]] = mask
    return int(padded.reshape(size // side, side, size // side, side).any(axis=(1, 3)).sum())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("batch-example"))
