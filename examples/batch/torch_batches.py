"""Batches as a PyTorch IterableDataset, and the loss that knows NULL: `python examples/batch/torch_batches.py`.

Needs the torch extra. Every worker of a DataLoader builds its share of the batches; a batch depends on its seeds alone,
so the number of workers changes nothing but the time.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for who imports this file

from shop import DECLARATION, write_shop

from tallystick import BatchBuilder, Sampler, open_database

NUMERICAL, BOOLEAN, CATEGORICAL = 1, 3, 4
Batch = dict[str, Tensor]


class TrainingBatches(IterableDataset[Batch]):
    """Give the batches of a builder over seed rows, in the order of the rows given.

    Tensors have the seed's names; uint16 and uint32, which PyTorch hardly computes with, become int64.
    """

    def __init__(
        self, builder: BatchBuilder, seeds: Sequence[tuple[int, int | None]], batch_size: int
    ) -> None:
        super().__init__()
        self._builder = builder
        self._batches = [seeds[at : at + batch_size] for at in range(0, len(seeds), batch_size)]

    def __iter__(self) -> Iterator[Batch]:
        """Return this worker's batches: each n-th one."""
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for seeds in self._batches[first::step]:
            rows, times = [row for row, _ in seeds], [time for _, time in seeds]
            made = self._builder.batch(rows, times)
            yield {field.name: as_torch(getattr(made, field.name)) for field in fields(made)}


def as_torch(array: np.ndarray) -> Tensor:  # type: ignore[type-arg]
    """Return an array as a tensor, unsigned integers as int64."""
    wide = array.astype(np.int64) if array.dtype.kind == "u" else array
    return torch.from_numpy(np.ascontiguousarray(wide))


def null_aware_loss(null_logit: Tensor, predicted: Tensor, batch: Batch) -> Tensor:
    """Return null_bce + (1 - is_null) * type_loss, the mean over the batch's targets (seed 004 §3, requirement B39).

    `null_logit` has shape (B,); `predicted` (B,) for numbers and booleans, (B, categories) with the ids of the whole
    table for categories. A target that is NULL trains the null head alone.
    """
    at = batch["is_target"]
    is_null = batch["is_null"][at].to(predicted.dtype)
    null_loss = functional.binary_cross_entropy_with_logits(null_logit, is_null, reduction="none")
    match int(batch["semantic_types"][at][0]):
        case 1:
            typed = functional.huber_loss(predicted, batch["numeric_values"][at], reduction="none")
        case 3:
            truth = batch["bool_values"][at].to(predicted.dtype)
            typed = functional.binary_cross_entropy_with_logits(predicted, truth, reduction="none")
        case 4:
            typed = functional.cross_entropy(predicted, batch["categorical_embed_ids"][at], reduction="none")
        case other:
            raise ValueError(f"no loss for targets of semantic type {other}")
    return (null_loss + (1 - is_null) * typed).mean()


class MeanOfCells(torch.nn.Module):
    """The smallest model that learns anything: what the visible numbers of a sequence and their columns say."""

    def __init__(self, columns: int, width: int = 32) -> None:
        super().__init__()
        self.column = torch.nn.Embedding(columns, width)
        self.heads = torch.nn.Linear(width, 2)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the null logit and the predicted number of each sequence."""
        hidden = (batch["is_padding"] | batch["is_target"] | batch["is_null"]).logical_not()
        cells = self.column(batch["column_ids"]) * (1 + batch["numeric_values"]).unsqueeze(-1)
        seen = hidden.unsqueeze(-1)
        mean = (cells * seen).sum(1) / seen.sum(1).clamp(min=1)
        null_logit, number = self.heads(mean).unbind(-1)
        return null_logit, number


def main() -> None:
    """Train for one epoch of the small shop, in the order that the deterministic sampler gives."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        write_shop(Path(folder) / "shop.db")
        database = open_database(Path(folder) / "shop.db", DECLARATION)
    builder = BatchBuilder(database, "orders", "total", sequence_length=128, max_hops=2, cutoff="strict")
    orders = next(table for table in database.tables if table.name == "orders")
    times = orders.columns[orders.place("placed")].values
    sampler = Sampler(cardinality=orders.row_count, global_batch_size=16, seed_token=bytes(32))
    rows = [row for batch in sampler for row in batch]
    seeds = [(row, int(times[row])) for row in rows]
    dataset = TrainingBatches(builder, seeds, 16)
    model = MeanOfCells(sum(len(table.columns) for table in database.tables))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step, batch in enumerate(DataLoader(dataset, batch_size=None)):
        loss = null_aware_loss(*model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {len(batch['column_ids'])} sequences, "
              f"{int(batch['is_null'][batch['is_target']].sum())} NULL targets, loss {loss.item():.4f}")  # fmt: skip


if __name__ == "__main__":
    main()
