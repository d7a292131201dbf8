"""A provider and a consumer as two processes on one root."""

import subprocess
from pathlib import Path

from impl.reference.pipeline.provider import file_seed
from impl.tests.pipeline.pipeline_queue import ROW, meta_of, names_in, provider_of
from impl.tests.pipeline.pipeline_sweep import ENVIRONMENT, child

FILES, BATCHES = 20, 40


def test_a_provider_and_a_consumer_as_processes_lose_and_repeat_nothing(tmp_path: Path) -> None:
    provider_of(tmp_path, meta=meta_of(ROW)).open()
    provider = subprocess.Popen(child("run", tmp_path, FILES), env=ENVIRONMENT)
    consumer = subprocess.Popen(
        child("consumer", tmp_path, BATCHES, 30), env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    most = 0
    while consumer.poll() is None:
        most = max(most, sum(not name.startswith(".tmp-") for name in names_in(tmp_path / "queue/train")))
    said, _ = consumer.communicate(timeout=30)
    assert (provider.wait(30), consumer.returncode) == (0, 0)
    assert 0 < most <= 2
    rows = [[int(row) for row in line.split()] for line in said.splitlines()]
    starts = [file_seed(1337, "train", seq) + 2217801435 for seq in range(FILES)]  # crc32("row")
    assert rows == [[(start + 2 * k + i) % 127 for i in range(2)] for start in starts for k in range(2)]
    assert names_in(tmp_path / "queue/train") == []
