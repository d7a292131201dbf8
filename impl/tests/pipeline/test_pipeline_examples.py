"""The example datasets through their command line, and what a consumer finds."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import modules_of
from impl.reference.pipeline.consumer import DatasetConsumer
from impl.tests.pipeline.pipeline_queue import names_in
from impl.tests.pipeline.pipeline_sweep import CHECKOUT, ENVIRONMENT

EXAMPLES = CHECKOUT / "examples/pipeline"
SIZES = ["--batch_size", "4", "--batches_per_file", "2", "--files", "2", "--seed", "5", "--codec", "npz"]
BLOCK = ["--block_size", "16"]
FLAGS = {
    "char_lm": [*BLOCK, "--target_size", "16"],
    "char_diffusion": BLOCK,
    "bert_mlm": BLOCK,
    "classification": [],
    "token_classification": BLOCK,
}


class Ended(Exception):
    """The command ended with another status than 0."""


def prepare(*arguments: object) -> None:
    """Run the command in this process: five of them would cost a second each."""
    name = "prepare"
    with modules_of(EXAMPLES):
        try:
            status = importlib.import_module(name).main(list(map(str, arguments)))
        except SystemExit as end:
            raise Ended(end.code) from None
    assert status == 0


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    roots = {}
    for dataset, flags in FLAGS.items():
        roots[dataset] = tmp_path_factory.mktemp(dataset)
        prepare(dataset, roots[dataset], *SIZES, *flags)
        assert [len(names_in(roots[dataset] / "queue" / split)) for split in ("train", "val")] == [1, 1]
    return roots


def first(root: Path, split: str = "train") -> Any:
    # The first row begins again for every consumer: the file of two batches stays.
    return DatasetConsumer(root).get_batch(split, timeout=0)


def test_a_character_model_predicts_the_next_character(prepared: dict[str, Path]) -> None:
    consumer = DatasetConsumer(prepared["char_lm"])
    x, y = consumer.get_batch("train", timeout=0)
    assert x.shape == y.shape == (4, 16)
    np.testing.assert_array_equal(x[:, 1:], y[:, :-1])
    itos = consumer.meta["itos"]
    assert "".join(itos[int(token)] for token in x[0]).isprintable() or "\n" in itos.values()
    assert consumer.meta["training_type"] == "LM"


def test_diffusion_corrupts_by_stages(prepared: dict[str, Path]) -> None:
    consumer = DatasetConsumer(prepared["char_diffusion"])
    x, y = consumer.get_batch("val", timeout=0)
    mask = consumer.meta["mask_token_id"]
    assert (y != mask).all()
    assert (x == mask).any()
    assert len(consumer.meta["stages"]) == 3


def test_bert_labels_what_is_masked_and_nothing_else(prepared: dict[str, Path]) -> None:
    consumer = DatasetConsumer(prepared["bert_mlm"])
    batch = consumer.get_batch("train", timeout=0)
    assert [array.dtype for array in batch.values()] == [np.int64, np.int8, np.int64]
    hidden = batch["labels"] != -100
    changed = batch["input_ids"] == consumer.meta["mask_token_id"]
    assert (changed <= hidden).all()
    assert hidden.any()
    assert not hidden[batch["attention_mask"] == 0].any()
    assert (batch["input_ids"][:, 0] == consumer.meta["cls_token_id"]).all()


def test_classes_stand_in_their_proportions(prepared: dict[str, Path]) -> None:
    batch = first(prepared["classification"])
    assert batch["input_ids"].shape == (4, 64)
    assert sorted(batch["label"]) == [0, 0, 1, 1]


def test_every_word_has_a_label(prepared: dict[str, Path]) -> None:
    batch = first(prepared["token_classification"])
    assert ((batch["labels"] == -100) == (batch["attention_mask"] == 0)).all()
    assert set(np.unique(batch["labels"])) == {-100, 0, 1, 2, 3}


def test_equal_seeds_make_equal_files(prepared: dict[str, Path], tmp_path: Path) -> None:
    prepare("char_diffusion", tmp_path, *SIZES, *BLOCK)
    for split in ("train", "val"):
        for own, other in zip(first(tmp_path, split), first(prepared["char_diffusion"], split), strict=True):
            np.testing.assert_array_equal(own, other)


def test_force_regenerate_makes_the_dataset_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare("classification", tmp_path, *SIZES)
    with pytest.raises(Ended, match="2"):
        prepare("classification", tmp_path, *SIZES, "--block_size", "8")
    assert capsys.readouterr().err.startswith("META_INVALID: ")
    prepare("classification", tmp_path, *SIZES, "--block_size", "8", "--force_regenerate")
    assert [name.split("-")[1] for name in names_in(tmp_path / "queue/train")] == ["000000"]
    assert first(tmp_path)["input_ids"].shape == (4, 8)


@pytest.mark.parametrize(
    "flags",
    [
        ["bert_mlm", "new", "--block_size", "1"],
        ["char_lm", "new"],
        ["char_lm", "new", "--block_size", "100000", "--target_size", "1"],
        ["char_lm", "new", "--block_size", "1", "--target_size", "100000"],
        ["char_diffusion", "new", "--block_size", "100000"],
        ["classification", "/proc/nope"],
    ],
    ids=lambda flags: " ".join(flags[:1] + flags[2:]) or "no folder",
)
def test_what_cannot_be_made_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    dataset, root, *sizes = flags
    with pytest.raises(Ended, match="2"):
        prepare(dataset, tmp_path / root, *SIZES, *sizes)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert not (tmp_path / "new").exists()


def test_the_command_says_one_line_for_a_file(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "prepare.py"), "classification", str(tmp_path), *SIZES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert [line.split("/")[0] for line in done.stderr.splitlines()] == ["produced train", "produced val"]


def run_example(name: str, *arguments: object) -> int:
    with modules_of(EXAMPLES):
        status: int = importlib.import_module(name).main(list(map(str, arguments)))
    return status


LM_SIZES = ["--batch_size", "16", "--block_size", "16", "--target_size", "16", "--batches_per_file", "60"]


def test_a_language_model_learns_from_the_queue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From files of NumPy; the test of docs/pipeline.md does it with .pt files, and both programs at once."""
    prepare("char_lm", tmp_path, *LM_SIZES, "--max_backlog_files", "3", "--files", "6", "--codec", "npz")
    trained = ["--batches", "100", "--every", "50", "--estimate", "5", "--timeout", "0", "--model", "numpy"]
    assert run_example("train", tmp_path, *trained) == 0
    losses = [float(line.rpartition(" ")[2]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 3
    # Nothing is known at first: as much as the logarithm of the number of characters.
    assert losses[0] == pytest.approx(np.log(DatasetConsumer(tmp_path).meta["vocab_size"]), abs=0.1)
    assert losses[2] < losses[1] < losses[0] - 1


def test_a_loss_is_estimated_in_the_mode_of_evaluation() -> None:
    modes: list[object] = []

    class Model:
        def eval(self) -> None:
            modes.append("eval")

        def train(self) -> None:
            modes.append("train")

        def __call__(self, x: Any, y: Any) -> tuple[None, float]:
            modes.append((x, y))
            return None, float(x)

    class Consumer:
        def get_batch(self, split: str, timeout: float) -> tuple[int, str]:
            return (1 if split == "train" else 3), split

    with modules_of(EXAMPLES):
        losses = importlib.import_module("train").estimate_loss(Model(), Consumer(), 2, 0.0)
    assert losses == {"train": 1.0, "val": 3.0}
    assert modes == ["eval", (1, "train"), (1, "train"), (3, "val"), (3, "val"), "train"]


def test_the_model_drops_in_training_only_and_its_gradient_is_the_slope() -> None:
    with modules_of(EXAMPLES), pytest.MonkeyPatch.context() as patch:
        numpy_model = importlib.import_module("numpy_model")
        patch.setattr(numpy_model, "DROPPED", 0.0)
        model = numpy_model.CharModel(7)
        x = np.random.default_rng(1).integers(0, 7, (3, 5))
        y = np.random.default_rng(2).integers(0, 7, (3, 5))
        for name in ("embed", "hidden", "out"):
            moments = {key: np.zeros_like(value) for key, value in model.weights.items()}
            before = {key: value.copy() for key, value in model.weights.items()}
            model._moments = moments
            model(x, y)
            model.step(1.0)
            # The first step divides the gradient by its own size times the root of a tenth.
            sign = np.sign(before[name] - model.weights[name])[1, 2]
            model.weights = {key: value.copy() for key, value in before.items()}
            losses = []
            for change in (1e-5, -1e-5):
                model.weights[name][1, 2] = before[name][1, 2] + change
                losses.append(model(x, y)[1])
            model.weights = before
            assert np.sign(losses[0] - losses[1]) == sign
        model.eval()
        with pytest.raises(RuntimeError):
            model.step(1.0)
        patch.setattr(numpy_model, "DROPPED", 0.5)
        assert model(x, y)[1] == model(x, y)[1]
        model.train()
        assert model(x, y)[1] != model(x, y)[1]


def test_the_training_side_counts_what_it_took(prepared: dict[str, Path]) -> None:
    asked = [str(prepared["bert_mlm"]), "--batches", "1", "--timeout", "0"]
    command = [sys.executable, str(EXAMPLES / "show_batches.py"), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("batch 1: input_ids int64[4, 16], attention_mask int8[4, 16], labels int64[4, 16]")
    assert '"batches": 1' in done.stdout
