"""The training example: killed from outside at any moment, it goes on with another number of ranks, bit for bit."""

import hashlib
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import modules_of
from tallystick import read_container
from tallystick.checkpoint import encode_canonical

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "training"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
STEPS = 34


def command(folder: Path, *options: object) -> list[str]:
    return [sys.executable, str(EXAMPLE / "train.py"), str(folder), "--steps", str(STEPS), *map(str, options)]


def run(folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *options), env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on one rank that was never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    ran = run(folder)
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.fixture
def example() -> Iterator[Any]:
    """Its modules, in this process."""
    with modules_of(EXAMPLE):
        yield {name: importlib.import_module(name) for name in ("model", "ranks", "checkpoints", "train")}


def killed(folder: Path) -> None:
    """Two ranks, killed together from outside as soon as there is a checkpoint, wherever they are then."""
    with subprocess.Popen(
        command(folder, "--ranks", 2), env=ENVIRONMENT, stdout=subprocess.DEVNULL, start_new_session=True
    ) as running:
        while not (folder / "checkpoints" / "10").exists():
            assert running.poll() is None
        os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL


def test_a_run_that_is_killed_goes_on_bit_for_bit_with_three_ranks(whole: Path, tmp_path: Path) -> None:
    killed(tmp_path)
    ran = run(tmp_path, "--ranks", 3)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("3 ranks, ")
    assert not ran.stdout.startswith("3 ranks, 0 ")
    assert (tmp_path / "losses.jsonl").read_bytes() == (whole / "losses.jsonl").read_bytes()
    last = Path("checkpoints") / str(STEPS)
    for file in ("tensors/rank=0/shard=0.bin", "optimizer/rank=0/state.bin", "data/cursors.cbor"):
        assert (tmp_path / last / file).read_bytes() == (whole / last / file).read_bytes()


def test_the_losses_are_those_of_a_loop_without_ranks_and_checkpoints(whole: Path, example: Any) -> None:
    lines = [json.loads(line) for line in (whole / "losses.jsonl").read_text("utf-8").splitlines()]
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted(sum((line["samples"] for line in lines[:17]), [])) == list(range(200))  # one epoch  # noqa: RUF017
    model = example["model"]
    weights, velocity = model.first_weights(), 0.0
    for line in lines:
        parts = [model.loss_and_gradient(weights, sample) for sample in line["samples"]]
        assert line["loss"] == pytest.approx(np.mean([loss for loss, _ in parts]), rel=1e-9)
        velocity = model.MOMENTUM * velocity - model.RATE * np.mean([gradient for _, gradient in parts], axis=0)
        weights = weights + velocity


def test_the_gradient_is_that_of_the_loss(example: Any) -> None:
    model = example["model"]
    weights = model.first_weights()
    for sample in (0, 7):
        _, gradient = model.loss_and_gradient(weights, sample)
        for place, slope in enumerate(gradient):
            step = np.zeros_like(weights)
            step[place] = 1e-6
            above, below = (model.loss_and_gradient(weights + move, sample)[0] for move in (step, -step))
            assert slope == pytest.approx((above - below) / 2e-6, abs=1e-6)


def test_no_order_and_no_division_of_the_samples_changes_their_sum(example: Any) -> None:
    model = example["model"]
    weights = model.first_weights()
    whole = model.sums_of(weights, range(12))
    assert (whole == model.sums_of(weights, reversed(range(12)))).all()
    for ranks in (2, 3, 4):
        parts = [model.sums_of(weights, range(rank, 12, ranks)) for rank in range(ranks)]
        assert (whole == sum(parts)).all()


def test_what_belongs_to_another_run_or_was_changed_is_refused(whole: Path, tmp_path: Path) -> None:
    for name in ("checkpoints", "losses.jsonl"):
        subprocess.run(["cp", "-r", whole / name, tmp_path / name], check=True)
    (tmp_path / "losses.jsonl").write_bytes((whole / "losses.jsonl").read_bytes().replace(b"0.", b"1.", 1))
    changed = run(tmp_path)
    assert changed.returncode == 1
    assert "is not the trace of the checkpoint of step 34" in changed.stderr
    shard = tmp_path / "checkpoints" / str(STEPS) / "tensors" / "rank=0" / "shard=0.bin"
    shard.write_bytes(bytes(len(shard.read_bytes())))
    damaged = run(tmp_path)
    assert damaged.returncode == 1
    assert "the file is damaged; restore a copy (CONTRACT_VIOLATION)" in damaged.stderr


def test_the_chain_of_checkpoints_names_each_one_before(whole: Path, example: Any) -> None:
    headers: list[Any] = [read_container(whole / "checkpoints", str(step)).header for step in (10, 20, 30, STEPS)]
    hashes = [hashlib.sha256(encode_canonical(header)).digest() for header in headers]
    assert [header.get("checkpoint_hash_prev") for header in headers] == [None, *hashes[:-1]]
