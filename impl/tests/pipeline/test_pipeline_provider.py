"""The provider: backpressure, seq, time, metadata, and what is refused before anything is written."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.reference.pipeline.codecs import NpzCodec
from impl.reference.pipeline.consumer import DatasetConsumer
from impl.reference.pipeline.provider import DataProviderBase, FileRandom
from impl.reference.pipeline.refusal import Refusal
from impl.tests.pipeline.pipeline_queue import ROW, XY, meta_of, names_in, provider_of
from impl.types import Tensor


class Rows(DataProviderBase):
    """A dataset of random rows, which notes what is asked of it."""

    def __init__(self, *arguments: Any, schema: Any = ROW, **config: Any) -> None:
        super().__init__(*arguments, **config)
        self.asked: list[str] = []
        self.schema = schema

    def build_meta(self) -> dict[str, Any]:
        meta = meta_of(self.schema)
        del meta["batch_size"]
        return meta

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        self.asked.append(f"{split}{rng.batch_index}")
        return {"row": np.array([rng.below(1000) for _ in range(self.config.batch_size)], dtype=np.int64)}

    def on_start(self) -> None:
        self.asked.append("start")

    def on_stop(self) -> None:
        self.asked.append("stop")


def rows(path: Path) -> list[int]:
    data = NpzCodec().decode(path.read_bytes()).tensors["row"].data
    return [int(row) for row in np.frombuffer(data, "<i8")]


def test_a_file_holds_its_batches_in_call_order_and_says_what_it_is(tmp_path: Path) -> None:
    provider = Rows(tmp_path, 3, batches_per_file=2, codec="npz")
    provider.open()
    path = provider.turn("val", 1700000000000)
    assert path == tmp_path / "queue/val/1700000000000-000000-2.npz"
    file = NpzCodec().decode(path.read_bytes())
    assert file.metadata is not None
    assert file.metadata.as_map() == {
        "batch_size": 3,
        "num_batches": 2,
        "file_idx": 0,
        "split": "val",
        "produced_at": 1700000000000,
        "schema": ROW,
    }
    rng = FileRandom(3631134094)
    assert rows(path) == [rng.below(1000) for _ in range(6)]
    assert provider.asked == ["val0", "val1"]


def test_no_file_is_written_under_backpressure_and_the_other_split_goes_on(tmp_path: Path) -> None:
    provider = provider_of(tmp_path, max_backlog_files=2)
    provider.open()
    (tmp_path / "queue/train/.tmp-1-000009.npz").touch()
    (tmp_path / "queue/train/notes.txt").touch()
    assert [provider.turn("train", now) is not None for now in range(4)] == [True, True, False, False]
    assert provider.backlog_size("train") == 2
    assert provider.turn("val", 9) is not None
    (tmp_path / "queue/train/0-000000-2.npz").unlink()
    path = provider.turn("train", 9)
    assert path is not None
    assert path.name == "9-000002-2.npz"


def test_a_restarted_provider_goes_on_behind_the_largest_seq(tmp_path: Path) -> None:
    first = provider_of(tmp_path)
    first.open()
    for name in ("3-000041-2.npz", "9-000007-2.npz", "1-000040-2.pt", "1-000099-2.pth", ".tmp-1-000100.npz"):
        (tmp_path / "queue/train" / name).touch()
    again = provider_of(tmp_path)
    again.open()
    assert names_in(tmp_path / "queue/train") == ["1-000040-2.pt", "1-000099-2.pth", "3-000041-2.npz", "9-000007-2.npz"]
    path = again.turn("train", 4)
    assert path is not None
    assert path.name == "9-000042-2.npz"


IMPOSSIBLE: dict[str, list[Any]] = {
    "batch_size": [0, True],
    "batches_per_file": [0, -1, 1.5],
    "max_backlog_files": [0],
    "block_size": [0],
    "target_size": [0],
    "sleep_seconds": [0, -1.0, float("nan"), float("inf"), "2", 10**400],
    "seed": [-1, 2**64, None],
    "codec": ["csv"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in IMPOSSIBLE for value in IMPOSSIBLE[name]])
def test_an_impossible_number_is_refused_before_anything_is_made(tmp_path: Path, name: str, value: Any) -> None:
    with pytest.raises(Refusal) as caught:
        provider_of(tmp_path / "new", **{name: value})
    assert caught.value.code == "CONFIG_INVALID"
    assert not (tmp_path / "new").exists()


def test_metadata_is_completed_and_written_before_the_first_file(tmp_path: Path) -> None:
    provider = Rows(tmp_path, 3, block_size=8)
    provider.open()
    meta = provider.load_meta_if_exists()
    assert (meta["batch_size"], meta["block_size"], "target_size" in meta) == (3, 8, False)
    assert names_in(tmp_path / "queue/train") == []


def test_metadata_that_contradicts_the_constructor_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="batch_size") as caught:
        provider_of(tmp_path / "new", meta=meta_of(batch_size=3)).open()
    assert caught.value.code == "META_INVALID"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "batch",
    [
        {},
        {"row": np.zeros(2, np.int64), "more": np.zeros(2, np.int64)},
        {"row": np.zeros(2, np.int32)},
        {"row": np.zeros(3, np.int64)},
        {"row": np.zeros((2, 1), np.int64)},
        {"row": [1, 2]},
        {"row": Tensor("int64", (2,), b"short")},
    ],
    ids=str,
)
def test_a_batch_that_is_not_what_the_schema_says_is_refused(tmp_path: Path, batch: dict[str, Any]) -> None:
    class Wrong(Rows):
        def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
            return batch

    provider = Wrong(tmp_path, 2)
    provider.open()
    with pytest.raises(Refusal) as caught:
        provider.turn("train", 0)
    assert caught.value.code == "SCHEMA_MISMATCH"
    assert names_in(tmp_path / "queue/train") == []


def test_run_sleeps_only_when_no_split_wants_a_file_and_calls_each_hook_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            provider.stop()
        else:
            (tmp_path / "queue/val" / min(names_in(tmp_path / "queue/val"))).unlink()

    provider = Rows(tmp_path, 2, batches_per_file=2, max_backlog_files=2, sleep_seconds=7.5, sleep=sleep)
    provider.run()
    assert slept == [7.5, 7.5, 7.5]
    assert (provider.asked[0], provider.asked[-1]) == ("start", "stop")
    assert provider.asked.count("start") == provider.asked.count("stop") == 1
    assert provider.asked[1:9] == ["train0", "train1", "val0", "val1"] * 2
    assert [len(names_in(tmp_path / "queue" / split)) for split in ("train", "val")] == [2, 2]
    produced = [record for record in caplog.records if "produced" in record.message]
    assert len(produced) == provider.produced == 6
    # Otherwise only that a backlog became full: train once, val at the start and after each file that was taken.
    full = [record.message.partition(":")[0] for record in caplog.records if "wait" in record.message]
    assert full == ["train", "val", "val", "val"]
    assert len(caplog.records) == 10


def test_run_ends_when_asked_and_stops_the_dataset_also_after_an_error(tmp_path: Path) -> None:
    provider = Rows(tmp_path, 2, batches_per_file=1)
    provider.run(until=lambda: provider.produced == 1)
    assert provider.produced == 1

    class Broken(Rows):
        def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
            raise ArithmeticError

    broken = Broken(tmp_path, 2)
    with pytest.raises(ArithmeticError):
        broken.run()
    assert broken.asked == ["start", "stop"]


def test_purge_makes_the_dataset_anew(tmp_path: Path) -> None:
    provider = provider_of(tmp_path)
    provider.open()
    provider.turn("train", 5)
    (tmp_path / "queue/quarantine/train").mkdir(parents=True)
    (tmp_path / "input.txt").touch()
    provider.purge()
    assert names_in(tmp_path) == ["input.txt"]
    provider.purge()
    provider_of(tmp_path, meta=meta_of(XY, dataset_name="other")).open()


def test_ranks_have_folders_of_their_own(tmp_path: Path) -> None:
    provider = provider_of(tmp_path, max_backlog_files=1)
    provider.open(["train_rank0", "train_rank1"])
    assert provider.turn("train_rank0", 5) is not None
    assert provider.turn("train_rank0", 5) is None
    assert provider.turn("train_rank1", 5) is not None
    first, second = ((tmp_path / f"queue/train_rank{rank}/5-000000-2.npz").read_bytes() for rank in (0, 1))
    assert first != second
    assert names_in(tmp_path / "queue") == ["train_rank0", "train_rank1"]


def test_purge_empties_the_folder_behind_a_link(tmp_path: Path) -> None:
    root, fast, other = (tmp_path / name for name in ("root", "fast", "other"))
    for folder in (root, fast, other):
        folder.mkdir()
    (root / "queue").symlink_to(fast)
    (other / "mine").touch()
    provider = provider_of(root)
    provider.open()
    provider.turn("train", 1)
    (fast / "linked").symlink_to(other)
    provider.purge()
    assert names_in(root) == ["queue"]
    assert names_in(fast) == []
    assert names_in(other) == ["mine"]


def test_a_turn_that_a_folder_refuses_samples_nothing(tmp_path: Path) -> None:
    provider = Rows(tmp_path, 3, batches_per_file=2, codec="npz")
    provider.open()
    in_the_way = tmp_path / "queue/train/5-000000-2.npz"
    in_the_way.mkdir()
    with pytest.raises(Refusal) as caught:
        provider.turn("train", 5)
    assert (caught.value.code, provider.asked) == ("CONFIG_INVALID", [])
    in_the_way.rmdir()
    assert provider.turn("train", 5) == in_the_way


def test_no_sleep_is_longer_than_a_clock_can(tmp_path: Path) -> None:
    slept: list[float] = []
    provider = Rows(tmp_path, 2, batches_per_file=1, max_backlog_files=1, sleep_seconds=1e300, sleep=slept.append)
    provider.run(["train"], until=lambda: len(slept) == 2)
    assert slept == [86400.0, 86400.0]


@pytest.mark.parametrize("root", ["a\0b", "a\ud800b"])
def test_a_root_that_no_folder_can_have_is_refused(root: str) -> None:
    for make in (lambda: provider_of(Path(root)), lambda: DatasetConsumer(root)):
        with pytest.raises(Refusal) as caught:
            make()
        assert caught.value.code == "CONFIG_INVALID"


def test_numbers_that_are_none_are_the_same_at_the_next_start(tmp_path: Path) -> None:
    for _ in range(2):
        provider_of(tmp_path, meta=meta_of(XY, ratio=float("nan"))).open()
