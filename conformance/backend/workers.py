"""Threads that each speak to backends of their own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers(count: int) -> Iterator[Executor]:
    """So many threads; an interrupt of the block does not wait for a backend that keeps one of them waiting."""
    executor = ThreadPoolExecutor(count)
    try:
        yield executor
    except BaseException as error:
        executor.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    executor.shutdown()
