"""The PyTorch wrapper of the batch builder: the seed's tensors, one share per worker, and a loss that knows NULL."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

from examples.batch.shop import DECLARATION, write_shop
from examples.batch.torch_batches import Batch, TrainingBatches, null_aware_loss
from impl.library.batch import BatchBuilder, open_database

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> TrainingBatches:
    file = tmp_path_factory.mktemp("shop") / "shop.db"
    write_shop(file)
    builder = BatchBuilder(open_database(file, DECLARATION), "orders", "total", sequence_length=32, max_hops=2)
    seeds = [(row, None) for row in range(12)]
    return TrainingBatches(builder, seeds, 4)


def batch(value: float, null: bool) -> Batch:
    return {
        "is_target": torch.tensor([[True, False]]),
        "is_null": torch.tensor([[null, False]]),
        "semantic_types": torch.tensor([[1, 0]]),
        "numeric_values": torch.tensor([[value, 0.0]]),
    }


def test_every_batch_holds_tensors_of_one_row_per_seed(dataset: TrainingBatches) -> None:
    made = list(dataset)
    assert len(made) == 3
    for one in made:
        assert one["column_ids"].shape == (4, 32)
        assert one["is_target"].sum() == 4
        assert not any(tensor.dtype in (torch.uint16, torch.uint32) for tensor in one.values())


def test_the_number_of_workers_changes_no_batch(dataset: TrainingBatches) -> None:
    def texts(workers: int) -> list[str]:
        loaded = DataLoader(dataset, batch_size=None, num_workers=workers, multiprocessing_context=None)
        return sorted(repr({name: tensor.tolist() for name, tensor in one.items()}) for one in loaded)

    assert texts(0) == texts(2)


def test_a_null_target_trains_the_null_head_alone() -> None:
    logit, predicted = torch.zeros(1), torch.tensor([5.0], requires_grad=True)
    null_aware_loss(logit, predicted, batch(0.0, null=True)).backward()
    assert predicted.grad is not None
    assert predicted.grad.item() == 0.0


def test_a_present_target_adds_the_huber_loss_to_the_null_loss() -> None:
    loss = null_aware_loss(torch.zeros(1), torch.tensor([3.0]), batch(1.0, null=False))
    assert loss.item() == pytest.approx(torch.log(torch.tensor(2.0)).item() + 1.5)


def test_the_example_trains_for_an_epoch() -> None:
    _, *words = shlex.split("python examples/batch/torch_batches.py")  # as examples/batch/README.md shows it
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    losses = [float(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines()]
    assert len(losses) >= 5
    assert losses[-1] < losses[0]
