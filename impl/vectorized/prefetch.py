"""Batches computed ahead of the reader, which changes when they are computed and nothing else."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future

from impl.vectorized.records import Batch, Cursor
from impl.vectorized.sampler import START, Sampler


def prefetched(
    sampler: Sampler, executor: Executor, cursor: Cursor = START, epochs: int | None = 1, ahead: int = 2
) -> Iterator[Batch]:
    """Yield what `sampler.batches(cursor, epochs)` yields, with up to `ahead` more batches under way.

    The following cursors are known without the indices, so the batches under way do not wait for each other
    (seed 000 §9 VIII.B).
    """
    last = None if epochs is None else cursor.epoch + epochs
    waiting: deque[Future[Batch]] = deque()
    t = 0
    while True:
        while len(waiting) <= ahead and (last is None or cursor.epoch < last):
            waiting.append(executor.submit(sampler.batch_at, cursor, t))
            cursor = sampler.cursor_after(cursor)
            t += 1
        if not waiting:
            return
        yield waiting.popleft().result()
