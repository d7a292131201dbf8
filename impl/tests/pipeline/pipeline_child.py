"""One side of a queue as a process: `python -m impl.tests.pipeline.pipeline_child provider|run|consumer ROOT ...`."""

import sys
from pathlib import Path

from impl.reference.pipeline.refusal import QueueTimeout
from impl.tests.pipeline.pipeline_queue import ROW, consumer_of, meta_of, provider_of


def produce(root: Path, files: int) -> None:
    """Take turns at the times 1, 2, ..., so that every name is known beforehand."""
    provider = provider_of(root, meta=meta_of(ROW), max_backlog_files=99)
    provider.open()
    for now_ms in range(1, files + 1):
        provider.turn("train", now_ms)


def run(root: Path, files: int) -> None:
    """Run the loop of a real provider with room for two files."""
    provider = provider_of(root, meta=meta_of(ROW), max_backlog_files=2, sleep_seconds=0.002)
    provider.run(["train"], until=lambda: provider.produced >= files)


def consume(root: Path, batches: int, timeout: float) -> None:
    """Say the rows of every batch; the line is out before the next batch is asked for."""
    consumer = consumer_of(root)
    try:
        for _ in range(batches):
            batch = consumer.get_batch("train", timeout=timeout)
            print(*batch["row"], flush=True)
    except QueueTimeout:
        pass


if __name__ == "__main__":
    side, root, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if side == "provider":
        produce(root, count)
    elif side == "run":
        run(root, count)
    else:
        consume(root, count, float(sys.argv[4]))
