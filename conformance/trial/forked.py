"""Work in forked processes, which inherit everything there is; Hypothesis is not made for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any


class LostWorker(Exception):
    """A forked process ended without a result; the machine killed it, most likely for want of memory."""


class Forked(Executor):
    """Maps a function over items, a process for each, so many at a time; nothing but the results is pickled."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """The results in the order of the items; raises what the function raises, and LostWorker."""
        (items,) = iterables
        left = enumerate(items)
        running: dict[Connection, int] = {}
        done: dict[int, Any] = {}
        due = 0
        while True:
            while len(running) < self._jobs and (item := next(left, None)) is not None:
                running[_started(fn, item[1])] = item[0]
            if not running:
                return
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                done[running.pop(ready)] = _received(ready)
            while due in done:
                yield done.pop(due)
                due += 1


def _started(function: Callable[[Any], Any], item: Any) -> Connection:
    context = get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    context.Process(target=_answer, args=(function, item, sending)).start()
    sending.close()
    return receiving


def _answer(function: Callable[[Any], Any], item: Any, sending: Connection) -> None:
    try:
        answer, error = function(item), None
    except Exception as raised:
        answer, error = None, raised
    sending.send((answer, error))


def _received(receiving: Connection) -> Any:
    with receiving:
        try:
            answer, error = receiving.recv()
        except EOFError:
            raise LostWorker("a worker process ended without a result") from None
    if error is not None:
        raise error
    return answer
