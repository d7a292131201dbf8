"""The batch sampler: Python integers, one epoch per iteration, states that go on, and the page that shows it."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from impl.failure import ContractFailure
from impl.library import torch_sampler
from impl.library.torch_sampler import BatchSampler
from impl.vectorized.records import Cursor
from impl.vectorized.sampler import Sampler

ROOT = Path(__file__).resolve().parents[3]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "pytorch.md").read_text("utf-8"), re.M | re.S)
LIBRARIES = ("torchdata", "lightning", "accelerate", "safetensors", "datasets")
SAMPLER = Sampler(cardinality=40, global_batch_size=6, seed_token=bytes(32))


class Asked:
    """A dataset that refuses every index but Python's own."""

    def __getitem__(self, index: int) -> int:
        assert type(index) is int
        return index

    def __len__(self) -> int:
        return 40


def loader(sampler: BatchSampler, workers: int = 0) -> DataLoader[Any]:
    return DataLoader(Asked(), batch_sampler=sampler, num_workers=workers)  # type: ignore[arg-type]


def taken(given: DataLoader[Any]) -> list[list[int]]:
    return [batch.tolist() for batch in given]


@pytest.mark.parametrize("workers", [0, 2])
def test_each_iteration_of_a_loader_is_one_epoch(workers: int) -> None:
    batches = BatchSampler(SAMPLER)
    epochs = [[list(batch) for batch in SAMPLER.batches(Cursor(epoch, 0))] for epoch in range(2)]
    given = loader(batches, workers)
    assert len(given) == 7
    assert [taken(given), taken(given)] == epochs


def test_an_iteration_that_is_not_finished_begins_again() -> None:
    given = loader(BatchSampler(SAMPLER))
    first = next(iter(given)).tolist()
    assert taken(given)[0] == first


def test_a_state_counts_what_the_loop_took_and_not_what_the_workers_asked_for() -> None:
    batches = BatchSampler(SAMPLER)
    rows = iter(loader(batches, 2))
    next(rows), next(rows)
    other = BatchSampler(SAMPLER)
    other.load_state_dict(batches.state_dict(consumed=2))
    assert taken(loader(other)) == taken(loader(BatchSampler(SAMPLER)))[2:]
    assert batches.state_dict()["global_index"] > batches.state_dict(consumed=2)["global_index"]


@pytest.mark.parametrize(
    "other",
    [{"cardinality": 41}, {"seed_token": bytes(31) + b"x"}, {"global_batch_size": 12}, {"block_size": 8},
     {"dataset_key": "val"}, {"drop_last": True}, {"stage_type": "eval"}, {"manifest_hash": bytes(31) + b"x"}],
)  # fmt: skip
def test_the_state_of_another_order_of_samples_is_refused(other: dict[str, Any]) -> None:
    state = BatchSampler(SAMPLER).state_dict()
    given = BatchSampler(replace(SAMPLER, **other))
    with pytest.raises(ContractFailure, match=r"must be that of the saved run: .* \(REPLAY_DIVERGENCE\)"):
        given.load_state_dict(state)
    assert given.state_dict() != state


@pytest.mark.parametrize("state", [{}, {"epoch": 0, "global_index": 40}, 7])
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(ContractFailure, match="state_dict must"):
        BatchSampler(SAMPLER).load_state_dict(state)


def test_the_example_of_the_docstring_runs() -> None:
    assert doctest.testmod(torch_sampler).failed == 0


def said(program: str, folder: Path) -> str:
    """What a program of the page prints."""
    (folder / "program.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"}
    launched = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"] if "dist." in program else []
    command = [sys.executable, *launched, "program.py"]
    return subprocess.check_output(command, env=environment, cwd=folder, text=True, timeout=300)


def test_no_program_of_the_page_is_longer_than_ten_lines() -> None:
    lengths = [len([line for line in block.splitlines() if line]) for block in BLOCKS]
    assert max(lengths) <= 10


@pytest.mark.parametrize("program", BLOCKS, ids=["loader", "cuda", "ranks", "restart", *LIBRARIES])
def test_every_program_of_the_page_runs(
    program: str, tmp_path: Path, package: Callable[[str], ModuleType], request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    if name in LIBRARIES:
        package(name)
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("not run: no CUDA device")
    printed = said(program, tmp_path)
    # Two processes may write into one line.
    batches = [list(map(int, batch.split(","))) for batch in re.findall(r"\[(\d+(?:, \d+)*)\]", printed)]
    assert printed.startswith("0 4950.0\n1 4950.0\n") or name != "loader"
    assert sorted(sum(batches, [])) == list(range(8)) or name != "ranks"  # noqa: RUF017
    whole = [list(batch) for batch in Sampler(cardinality=24, global_batch_size=6, seed_token=bytes(32))]
    if name == "restart":
        assert batches == [whole[0][:3], whole[1][:3], *whole[2:]]
    if name == "torchdata":
        assert batches == [whole[0][:3], whole[1][:3], whole[2][4:], whole[3][4:]]
