"""What a provider, a disk or an attacker can leave in the queue: moved away, never run, never fatal."""

import os
import tracemalloc
from pathlib import Path

import pytest

from impl.reference.pipeline.codecs import NpzCodec
from impl.reference.pipeline.queue_folder import BatchFile, QueueFolder
from impl.reference.pipeline.refusal import Refusal
from impl.tests.pipeline.pipeline_queue import (
    consumer_of,
    meta_of,
    names_in,
    provider_of,
    put_hole,
    put_rows,
    queue_of,
    take,
)


def test_a_file_that_cannot_be_deleted_is_tried_again_and_not_handed_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = queue_of(tmp_path, 1, f1_0_1=[1], f2_1_1=[2], f3_2_1=[3])
    allowed = False
    tried: list[str] = []
    delete = QueueFolder.delete

    def refuse(self: QueueFolder, name: str) -> None:
        tried.append(name)
        if not allowed:
            raise PermissionError(1, "not permitted")
        delete(self, name)

    monkeypatch.setattr(QueueFolder, "delete", refuse)
    consumer = consumer_of(tmp_path)
    assert take(consumer, 2) == [[1], [2]]
    assert consumer.stats()["splits"]["train"]["files_undeleted"] == 2
    assert consumer.stats()["warnings"] == ["DELETE_FAILED"]
    assert tried == ["1-0-1.npz", "1-0-1.npz", "1-0-1.npz", "2-1-1.npz"]
    allowed = True
    assert take(consumer, 1) == [[3]]
    assert names_in(folder) == []
    assert consumer.stats()["splits"]["train"]["files_undeleted"] == 0
    put_rows(folder, "1-0-1", [9])
    assert take(consumer, 1) == [[9]]


def test_a_file_that_vanishes_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = queue_of(tmp_path, 1, f1_0_1=[1], f2_1_1=[2])
    visible = QueueFolder.visible

    def late(self: QueueFolder) -> object:
        names = visible(self)
        (folder / "1-0-1.npz").unlink(missing_ok=True)
        return names

    monkeypatch.setattr(QueueFolder, "visible", late)
    assert take(consumer_of(tmp_path), 1) == [[2]]


def test_the_readers_own_trouble_is_not_the_files_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = queue_of(tmp_path, 1, f1_0_1=[1])
    real = os.open

    def exhausted(path: object, *arguments: object, **options: object) -> int:
        if str(path).endswith("1-0-1.npz"):
            raise OSError(24, "too many open files")
        return real(path, *arguments, **options)  # type: ignore[arg-type]

    consumer = consumer_of(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", exhausted)
        with pytest.raises(OSError, match="too many open files"):
            take(consumer, 1)
    assert names_in(folder) == ["1-0-1.npz"]
    assert take(consumer, 1) == [[1]]


def test_provider_and_consumer_that_cannot_agree_stop_with_a_sentence(tmp_path: Path) -> None:
    provider = provider_of(tmp_path, meta=meta_of(batch_size=2), max_backlog_files=3)
    provider.open()
    consumer = consumer_of(tmp_path)
    said = ""
    for now in range(100):
        try:
            path = provider.turn("train", now)
            if path is not None:
                path.write_bytes(b"damaged")
            consumer.wait_for_data("train", timeout=0)
        except Refusal as refusal:
            said = f"{refusal.code}: {refusal}"
            break
    assert said.startswith("QUARANTINE_FULL")
    assert str(tmp_path / "queue/quarantine/train") in said
    assert len(names_in(tmp_path / "queue/quarantine/train")) == 16
    with pytest.raises(Refusal, match="train gets no more files"):
        provider.turn("train", 200)
    assert provider.turn("val", 200) is not None


# Two of nothing, and one with a whole file behind its hole.
@pytest.mark.parametrize(("size", "has_end"), [(2**35, False), (2**29, False), (3 * 2**30, True)])
def test_a_hole_is_seen_before_it_is_read(tmp_path: Path, size: int, has_end: bool) -> None:
    queue_of(tmp_path, 1, f2_1_1=[7])
    put_hole(tmp_path / "queue/train", "1-0-1", size, has_end)
    tracemalloc.start()
    try:
        assert take(consumer_of(tmp_path), 1) == [[7]]
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    assert names_in(tmp_path / "queue/quarantine/train") == ["1-0-1.npz"]


def test_a_file_that_memory_has_no_room_for_goes_to_quarantine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue_of(tmp_path, 1, f1_0_1=[5], f2_1_1=[7])
    decode = NpzCodec.decode

    def large(codec: NpzCodec, content: bytes) -> BatchFile:
        file = decode(codec, content)
        if file.tensors["row"].data[0] == 5:
            raise MemoryError
        return file

    monkeypatch.setattr(NpzCodec, "decode", large)
    assert take(consumer_of(tmp_path), 1) == [[7]]
    assert names_in(tmp_path / "queue/quarantine/train") == ["1-0-1.npz"]
