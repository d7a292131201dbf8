"""The consumer: order, slices, padding, deletion, cache, state, statistics."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impl.reference.pipeline.consumer import DatasetConsumer
from impl.reference.pipeline.metadata import write_meta
from impl.reference.pipeline.refusal import QueueTimeout, Refusal
from impl.tests.pipeline_queue import (
    XY,
    consumer_of,
    meta_of,
    names_in,
    provider_of,
    put_rows,
    queue_of,
    rows_of,
    take,
)


def test_batches_are_rows_in_order_and_the_short_last_one_repeats(tmp_path: Path) -> None:
    queue_of(tmp_path, 4, f1_0_1=range(10))
    assert take(consumer_of(tmp_path), 3) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 8, 9]]


def test_a_batch_never_spans_two_files(tmp_path: Path) -> None:
    queue_of(tmp_path, 6, f1_0_1=range(10), f2_1_1=range(10, 20))
    assert take(consumer_of(tmp_path), 4) == [
        [0, 1, 2, 3, 4, 5],
        [6, 7, 8, 9, 6, 7],
        [10, 11, 12, 13, 14, 15],
        [16, 17, 18, 19, 16, 17],
    ]


def test_a_file_smaller_than_a_batch_is_one_batch(tmp_path: Path) -> None:
    queue_of(tmp_path, 8, f1_0_1=range(3))
    assert take(consumer_of(tmp_path), 1) == [[0, 1, 2, 0, 1, 2, 0, 1]]


def test_files_are_handed_out_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 1, f10_000000_1=[2], f9_000001_1=[1], f11_999999_1=[3], f11_1000000_1=[4])
    assert take(consumer_of(tmp_path), 4) == [[1], [2], [3], [4]]
    assert names_in(folder) == []


def test_a_file_is_deleted_when_its_last_batch_is_handed_out(tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 4, f1_0_1=range(10), f2_1_1=range(3))
    consumer = consumer_of(tmp_path)
    left = []
    for _ in range(3):
        take(consumer, 1)
        left.append(names_in(folder))
    assert left == [["1-0-1.npz", "2-1-1.npz"]] * 2 + [["2-1-1.npz"]]


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


@pytest.mark.parametrize(("taken", "again"), [(1, [0, 1, 2, 3]), (2, [0, 1, 2, 3]), (3, None)])
def test_a_restart_begins_the_current_file_again(tmp_path: Path, taken: int, again: list[int] | None) -> None:
    queue_of(tmp_path, 4, f1_0_1=range(10))
    take(consumer_of(tmp_path), taken)
    consumer = consumer_of(tmp_path)
    if again is None:
        with pytest.raises(QueueTimeout):
            take(consumer, 1)
    else:
        assert take(consumer, 1) == [again]


def test_another_batch_size_goes_on_at_the_same_row(tmp_path: Path) -> None:
    queue_of(tmp_path, 2, f1_0_1=range(10))
    consumer = consumer_of(tmp_path)
    assert take(consumer, 2) == [[0, 1], [2, 3]]
    consumer.set_batch_size(3)
    assert take(consumer, 2) == [[4, 5, 6], [7, 8, 9]]


def test_reset_begins_the_file_in_hand_again_and_deletes_nothing(tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 2, f1_0_1=range(5), f2_1_1=range(5, 7))
    consumer = consumer_of(tmp_path)
    take(consumer, 2)
    consumer.reset_state("val")
    assert take(consumer, 1) == [[4, 4]]
    consumer.reset_state("train")
    assert take(consumer, 1) == [[5, 6]]
    assert names_in(folder) == []
    put_rows(folder, "3-2-1", range(4))
    assert take(consumer, 1) == [[0, 1]]
    consumer.reset_state()
    assert take(consumer, 2) == [[0, 1], [2, 3]]


def test_splits_do_not_touch_each_other(tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 2, f1_0_1=range(4))
    put_rows(tmp_path / "queue/val", "1-0-1", range(10, 14))
    consumer = consumer_of(tmp_path)
    assert [take(consumer, 1, split) for split in ("train", "val", "train")] == [[[0, 1]], [[10, 11]], [[2, 3]]]
    assert (names_in(folder), names_in(tmp_path / "queue/val")) == ([], ["1-0-1.npz"])


def test_each_rank_reads_its_own_folder(tmp_path: Path) -> None:
    queue_of(tmp_path, 1)
    for rank in (0, 1):
        (tmp_path / f"queue/train_rank{rank}").mkdir()
        put_rows(tmp_path / f"queue/train_rank{rank}", "1-0-1", [rank])
    assert [take(consumer_of(tmp_path), 1, f"train_rank{rank}") for rank in (1, 0)] == [[[1]], [[0]]]


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


def test_statistics_tell_where_each_split_stands(tmp_path: Path) -> None:
    queue_of(tmp_path, 2, f1_0_2=range(4), f2_1_1=[4])
    consumer = consumer_of(tmp_path)
    consumer.set_batch_size(3)
    take(consumer, 1)
    assert consumer.stats() == {
        "mode": "queue",
        "batch_size": 3,
        "warnings": ["BATCH_SIZE_MISMATCH", "NUM_BATCHES_MISMATCH"],
        "splits": {
            "train": {
                "batches": 1,
                "files_loaded": 1,
                "files_finished": 0,
                "files_quarantined": 0,
                "files_held": 1,
                "files_undeleted": 0,
                "backlog": 2,
                "above_high": False,
                "below_low": False,
                "current_file": "1-0-2.npz",
                "current_batch": 1,
                "current_row": 3,
            },
            "val": {
                "batches": 0,
                "files_loaded": 0,
                "files_finished": 0,
                "files_quarantined": 0,
                "files_held": 0,
                "files_undeleted": 0,
                "backlog": 0,
                "above_high": False,
                "below_low": True,
                "current_file": None,
                "current_batch": 0,
                "current_row": 0,
            },
        },
    }


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


def test_names_that_are_none_are_ignored_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = queue_of(tmp_path, 1)
    for name in ("0-0.npz", "a.npz", "0-0-0.pt", ".tmp-0-000000.npz", ".hidden"):
        (folder / name).touch()
    put_rows(folder, "1-0-1", [7])
    assert take(consumer_of(tmp_path), 1) == [[7]]
    assert len(caplog.records) == 1
    assert names_in(folder) == [".hidden", ".tmp-0-000000.npz", "0-0-0.pt", "0-0.npz", "a.npz"]


def test_the_metadata_wins_over_the_number_in_the_name(tmp_path: Path) -> None:
    folder = queue_of(tmp_path, 1)
    put_rows(folder, "1-0-99", [7, 8], num_batches=2)
    consumer = consumer_of(tmp_path)
    assert take(consumer, 2) == [[7], [8]]
    assert consumer.stats()["warnings"] == ["NUM_BATCHES_MISMATCH"]


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


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cache_files": 0}, "CONFIG_INVALID"),
        ({"cache_files": True}, "CONFIG_INVALID"),
        ({"batch_size": 0}, "CONFIG_INVALID"),
        ({"codec": "csv"}, "CONFIG_INVALID"),
    ],
    ids=str,
)
def test_an_impossible_number_is_refused(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    queue_of(tmp_path)
    with pytest.raises(Refusal) as caught:
        consumer_of(tmp_path, **changes)
    assert caught.value.code == code


def test_a_consumer_needs_whole_metadata(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        consumer_of(tmp_path)
    assert caught.value.code == "META_MISSING"
    meta = meta_of()
    del meta["split_info"]
    write_meta(tmp_path, meta)
    with pytest.raises(Refusal) as caught:
        consumer_of(tmp_path)
    assert caught.value.code == "META_INVALID"


def test_unknown_splits_and_sizes_are_refused_later_as_well(tmp_path: Path) -> None:
    queue_of(tmp_path)
    consumer = consumer_of(tmp_path)
    for call in (
        lambda: consumer.get_batch("test", timeout=0),
        lambda: consumer.wait_for_data("../val", 0),
        lambda: consumer.reset_state("quarantine"),
        lambda: consumer.schema(""),
        lambda: consumer.set_batch_size(0),
    ):
        with pytest.raises(Refusal) as caught:
            call()
        assert caught.value.code == "CONFIG_INVALID"
    assert consumer.stats()["batch_size"] == 2


def test_metadata_and_schema_are_there_to_look_at(tmp_path: Path) -> None:
    queue_of(tmp_path)
    write_meta(tmp_path, meta_of(XY, stoi={"a": 1}))
    consumer = DatasetConsumer(tmp_path)
    assert consumer.meta["stoi"] == {"a": 1}
    assert [field.as_map() for field in consumer.schema("val")] == XY


def test_the_smallest_batch_is_one_row(tmp_path: Path) -> None:
    queue_of(tmp_path, 1, f1_0_1=[7])
    assert rows_of(consumer_of(tmp_path).get_batch("train", timeout=0)) == [7]
