"""One consumer under many threads: every batch is handed out once, and every warning is said once."""

import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from impl.reference.pipeline.refusal import QueueTimeout
from impl.tests.pipeline.pipeline_queue import consumer_of, names_in, queue_of, rows_of

THREADS = 8
FILES = 24
ROWS = 10


@pytest.mark.parametrize("cache_files", [1, 3])
def test_eight_threads_get_each_batch_once(tmp_path: Path, caplog: pytest.LogCaptureFixture, cache_files: int) -> None:
    files = {f"f{n}_{n}_{ROWS}": list(range(n * ROWS, (n + 1) * ROWS)) for n in range(FILES)}
    folder = queue_of(tmp_path, 1, **files)
    consumer = consumer_of(tmp_path, cache_files=cache_files)
    start = Barrier(THREADS)

    def drain(_thread: int) -> list[int]:
        taken: list[int] = []
        start.wait()
        try:
            while True:
                taken += rows_of(consumer.get_batch("train", timeout=0))
                consumer.stats()
        except QueueTimeout:
            return taken

    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(THREADS) as pool:
        taken = list(pool.map(drain, range(THREADS)))
    counted = Counter(row for part in taken for row in part)
    assert counted == Counter(range(FILES * ROWS))
    assert names_in(folder) == []
    stats = consumer.stats()["splits"]["train"]
    assert (stats["batches"], stats["files_loaded"], stats["files_finished"]) == (FILES * ROWS, FILES, FILES)
    # Each thread gets its batches in the order of the queue.
    assert all(part == sorted(part) for part in taken)
    assert caplog.messages == []


def test_many_threads_open_one_reader_of_a_rank(tmp_path: Path) -> None:
    queue_of(tmp_path, 1)
    folder = tmp_path / "queue/train_rank3"
    (tmp_path / "queue/train").rename(folder)
    consumer = consumer_of(tmp_path)
    start = Barrier(THREADS)

    def look(_thread: int) -> bool:
        start.wait()
        return consumer.wait_for_data("train_rank3", timeout=0)

    with ThreadPoolExecutor(THREADS) as pool:
        assert not any(pool.map(look, range(THREADS)))
    assert sorted(consumer.stats()["splits"]) == ["train", "train_rank3", "val"]
