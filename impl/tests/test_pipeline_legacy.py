"""The baseline's files: sorted, round and round, never deleted."""

import io
from pathlib import Path

import numpy as np
import pytest

from impl.reference.pipeline.metadata import write_meta
from impl.reference.pipeline.refusal import QueueTimeout, Refusal
from impl.tests.pipeline_queue import ROW, consumer_of, meta_of, names_in, queue_of, take


def legacy_of(root: Path, **files: list[int]) -> None:
    write_meta(root, meta_of(ROW))
    for name, rows in files.items():
        target = io.BytesIO()
        np.savez(target, row=np.array(rows, dtype=np.int64))
        (root / f"{name}.npz").write_bytes(target.getvalue())


def test_files_go_round_in_order_and_stay(tmp_path: Path) -> None:
    legacy_of(tmp_path, train_batches_0001=[4, 5], train_batches_0000=[1, 2, 3], val_batches_0000=[9])
    consumer = consumer_of(tmp_path)
    assert consumer.stats()["mode"] == "legacy"
    assert take(consumer, 5) == [[1, 2], [3, 3], [4, 5], [1, 2], [3, 3]]
    assert take(consumer, 1, "val") == [[9, 9]]
    assert names_in(tmp_path) == [
        "meta.pkl",
        *(f"{n}.npz" for n in ("train_batches_0000", "train_batches_0001", "val_batches_0000")),
    ]


@pytest.mark.parametrize(("cache_files", "loads"), [(1, 4), (2, 2), (3, 2)])
def test_files_in_memory_are_not_read_again(tmp_path: Path, cache_files: int, loads: int) -> None:
    legacy_of(tmp_path, train_batches_0=[1, 2], train_batches_1=[3, 4])
    consumer = consumer_of(tmp_path, cache_files=cache_files)
    assert take(consumer, 4) == [[1, 2], [3, 4]] * 2
    stats = consumer.stats()["splits"]["train"]
    assert (stats["files_loaded"], stats["files_held"] <= cache_files) == (loads, True)


def test_reset_begins_at_the_first_file(tmp_path: Path) -> None:
    legacy_of(tmp_path, train_batches_0=[1, 2], train_batches_1=[3, 4, 5])
    consumer = consumer_of(tmp_path)
    take(consumer, 2)
    consumer.reset_state("train")
    assert take(consumer, 1) == [[1, 2]]


def test_a_queue_wins_unless_it_is_not_preferred(tmp_path: Path) -> None:
    queue_of(tmp_path, 2)
    legacy_of(tmp_path, train_batches_0=[1, 2])
    queue = consumer_of(tmp_path)
    assert queue.stats()["mode"] == "queue"
    with pytest.raises(QueueTimeout):
        take(queue, 1)
    assert take(consumer_of(tmp_path, prefer_queue=False), 1) == [[1, 2]]


def test_without_any_file_a_queue_is_expected(tmp_path: Path) -> None:
    write_meta(tmp_path, meta_of())
    assert consumer_of(tmp_path).stats()["mode"] == "queue"
    consumer = consumer_of(tmp_path, prefer_queue=False)
    assert consumer.stats()["mode"] == "legacy"
    assert not consumer.wait_for_data("train", 0)


def test_a_damaged_file_is_told_and_stays(tmp_path: Path) -> None:
    legacy_of(tmp_path, train_batches_0=[1, 2])
    (tmp_path / "train_batches_1.npz").write_bytes(b"damaged")
    consumer = consumer_of(tmp_path)
    assert take(consumer, 1) == [[1, 2]]
    for _ in range(2):
        with pytest.raises(Refusal) as caught:
            take(consumer, 1)
        assert caught.value.code == "LEGACY_INVALID"
    assert "train_batches_1.npz" in names_in(tmp_path)


def test_a_file_with_other_fields_is_told(tmp_path: Path) -> None:
    legacy_of(tmp_path)
    np.savez(tmp_path / "train_batches_0.npz", row=np.zeros((2, 2), np.int64))
    with pytest.raises(Refusal) as caught:
        take(consumer_of(tmp_path), 1)
    assert caught.value.code == "SCHEMA_MISMATCH"
