"""The consumer: order, slices, padding, deletion, cache, state, statistics."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.reference.pipeline.consumer import DatasetConsumer
from impl.reference.pipeline.metadata import write_meta
from impl.reference.pipeline.refusal import Refusal
from impl.tests.pipeline.pipeline_queue import XY, consumer_of, meta_of, names_in, provider_of, put_rows, queue_of, take


def test_a_file_is_deleted_after_its_rows_were_delivered(tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 2, f1_0_1=[1, 2])
    consumer = consumer_of(tmp_path)
    assert consumer.next_batch("train", 0, lambda rows: names_in(folder)) == ["1-0-1.npz"]
    assert names_in(folder) == []


def test_a_batch_that_cannot_be_delivered_is_the_next_one_again(tmp_path: Path) -> None:
    queue_of(tmp_path, 2, f1_0_1=[1, 2, 3])

    def fail(rows: object) -> None:
        raise MemoryError

    consumer = consumer_of(tmp_path)
    with pytest.raises(MemoryError):
        consumer.next_batch("train", 0, fail)
    assert take(consumer, 2) == [[1, 2], [3, 3]]


@pytest.mark.parametrize("schema", [XY, XY[::-1]])
def test_x_and_y_are_a_pair(tmp_path: Path, schema: list[dict[str, Any]]) -> None:
    provider = provider_of(tmp_path, meta=meta_of(schema))
    provider.open()
    provider.turn("train", 1)
    x, y = consumer_of(tmp_path).get_batch("train", timeout=0)
    assert (x.dtype, x.shape, y.dtype, y.shape) == (np.uint16, (2, 3), np.int64, (2,))


@pytest.mark.parametrize("schema", [[*XY, {"name": "z", "dtype": "bool", "shape": []}], XY[:1]])
def test_any_other_schema_is_a_dict(tmp_path: Path, schema: list[dict[str, Any]]) -> None:
    provider = provider_of(tmp_path, meta=meta_of(schema))
    provider.open()
    provider.turn("train", 1)
    batch = consumer_of(tmp_path).get_batch("train", timeout=0)
    assert list(batch) == [field["name"] for field in schema]


def test_a_batch_is_memory_of_its_own(tmp_path: Path) -> None:
    queue_of(tmp_path, 2, f1_0_1=range(4))
    consumer = consumer_of(tmp_path)
    batch = consumer.get_batch("train", timeout=0)
    batch["row"][:] = 99
    consumer.reset_state()
    assert take(consumer, 1) == [[0, 1]]


@pytest.mark.parametrize("cache_files", [1, 2, 3, 9])
def test_reading_ahead_changes_nothing_but_memory(tmp_path: Path, cache_files: int) -> None:
    folder = queue_of(tmp_path, 2, f5_0_1=[1, 2, 3], f6_1_1=[4, 5], f7_2_1=[6, 7], f8_3_1=[8, 9])
    consumer = consumer_of(tmp_path, cache_files=cache_files)
    assert take(consumer, 1) == [[1, 2]]
    assert consumer.stats()["splits"]["train"]["files_held"] == min(cache_files, 4)
    put_rows(folder, "4-9-1", [10, 11])
    (folder / "7-2-1.npz").unlink()
    assert take(consumer, 4) == [[3, 3], [10, 11], [4, 5], [8, 9]]
    stats = consumer.stats()["splits"]["train"]
    assert (stats["files_held"], stats["files_finished"]) == (0, 4)
    assert stats["files_loaded"] == (4 if cache_files < 3 else 5)


def test_a_file_is_loaded_once(tmp_path: Path) -> None:
    queue_of(tmp_path, 1, f1_0_1=range(5), f2_1_1=[5])
    consumer = consumer_of(tmp_path, cache_files=2)
    assert consumer.wait_for_data("train", 0)
    take(consumer, 6)
    assert consumer.stats()["splits"]["train"]["files_loaded"] == 2


def test_watermarks_are_only_reported(tmp_path: Path) -> None:
    queue_of(tmp_path, 1, f1_0_1=[1], f2_1_1=[2], f3_2_1=[3])
    consumer = consumer_of(tmp_path, high_watermark=1, low_watermark=1)
    marks = []
    for _ in range(3):
        stats = consumer.stats()["splits"]["train"]
        marks.append((stats["backlog"], stats["above_high"], stats["below_low"]))
        take(consumer, 1)
    assert marks == [(3, True, False), (2, True, False), (1, False, True)]
    put_rows(tmp_path / "queue/train", "4-3-1", [4])
    assert take(consumer_of(tmp_path, high_watermark=0), 1) == [[4]]


def test_another_batch_size_is_warned_of_once_and_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    queue_of(tmp_path, 2, f1_0_4=range(4))
    consumer = consumer_of(tmp_path, batch_size=4)
    consumer.set_batch_size(4)
    assert take(consumer, 1) == [[0, 1, 2, 3]]
    assert [record.message for record in caplog.records] == ["batches of 4 rows are cut from files for batches of 2"]


def test_one_line_is_logged_for_a_file_and_none_for_a_batch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    queue_of(tmp_path, 1, f1_0_5=range(5), f2_1_5=range(5))
    take(consumer_of(tmp_path), 10)
    assert [record.message for record in caplog.records] == ["loaded 1-0-5.npz, 5 rows", "loaded 2-1-5.npz, 5 rows"]


def test_a_file_with_another_schema_is_told_and_stays(tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 2, f1_0_1=[1, 2])
    write_meta(tmp_path, meta_of(XY))
    consumer = consumer_of(tmp_path)
    for _ in range(2):
        with pytest.raises(
            Refusal, match=r"1-0-1.npz .* row: int64\[\], meta.pkl x: uint16\[3\], y: int64\[\]"
        ) as caught:
            consumer.get_batch("train", timeout=0)
        assert caught.value.code == "SCHEMA_MISMATCH"
    assert names_in(folder) == ["1-0-1.npz"]


def test_metadata_and_schema_are_there_to_look_at(tmp_path: Path) -> None:
    queue_of(tmp_path)
    write_meta(tmp_path, meta_of(XY, stoi={"a": 1}))
    consumer = DatasetConsumer(tmp_path)
    assert consumer.meta["stoi"] == {"a": 1}
    assert [field.as_map() for field in consumer.schema("val")] == XY
