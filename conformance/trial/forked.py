"""Work in forked processes, which inherit the memory of the parent; only their results are pickled.

Threads would share one core. A child ends when its parent ends in any way: it reads a pipe whose other end only the
parent has open. Its guardian then ends its backends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Final, TypeVar

from conformance.trial.options import Progress

T = TypeVar("T")
Tell = Callable[[Any], None]
_TOLD, _DONE, _RAISED = "told", "done", "raised"
_LOST: Final = 70  # the exit status of a child without its parent
PAUSE: Final = 0.1  # seconds between two messages with progress: one for each check is a hundredth of a run


class LostWorker(Exception):
    """A forked process ended without a result: the machine killed it, or a module of the suite ended it."""

    place = "tally"
    message = "a worker process ended without a result"
    hint = "free some memory; or look whether a module of the suite, its laws or generators, ends the process"


class Forked(Executor):
    """Maps a function over items, with a process for each item and a limit of processes at a time."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """The results in the order of the items; raises what the function raises, and LostWorker."""
        (items,) = iterables
        left = enumerate(items)
        running: dict[Connection, int] = {}
        done: dict[int, Any] = {}
        due = 0
        with _Children() as children:
            while True:
                while len(running) < self._jobs and (item := next(left, None)) is not None:
                    running[children.start(partial(_apply, fn, item[1]))] = item[0]
                if not running:
                    return
                for ready in wait(list(running)):
                    assert isinstance(ready, Connection)
                    kind, value = _received(ready)
                    if kind == _TOLD:
                        done[running[ready]] = value
                    else:
                        del running[ready]
                while due in done:
                    yield done.pop(due)
                    due += 1


def share_out(work: Callable[[Iterator[T], Tell], None], items: Sequence[T], jobs: int, told: Tell) -> None:
    """Let so many processes work on the items, each taking the next one when it is free; `told` gets their messages.

    One job, one item, or a system without fork: the work is done in this process. Raises what the work raises, and
    LostWorker.
    """
    if jobs == 1 or len(items) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        work(iter(items), told)
        return
    next_one = multiprocessing.Value("i", 0)

    def next_items() -> Iterator[T]:
        while True:
            with next_one.get_lock():
                number, next_one.value = next_one.value, next_one.value + 1
            if number >= len(items):
                return
            yield items[number]

    with _Children() as children:
        running = [children.start(lambda tell: work(next_items(), tell)) for _ in range(min(jobs, len(items)))]
        while running:
            for ready in wait(running):
                assert isinstance(ready, Connection)
                kind, value = _received(ready)
                if kind == _TOLD:
                    told(value)
                else:
                    running.remove(ready)


def in_child_process(work: Callable[[Progress], T], progress: Progress) -> T:
    """Do the work in a child process, show its progress here, return its result; raises its errors, and LostWorker.

    What the child imports is not imported here. On a system without fork the work is done in this process.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return work(progress)
    made: list[T] = []

    def relaying(tell: Tell) -> None:
        relayed = _Relayed(tell)
        value = work(relayed)
        relayed.flush()
        tell(value)

    with _Children() as children:
        receiving = children.start(relaying)
        while (received := _received(receiving))[0] == _TOLD:
            if isinstance(received[1], _Events):
                for name, values in received[1].events:
                    getattr(progress, name)(*values)
            else:
                made.append(received[1])
    return made[0]


class WorkerProcess:
    """A child process that answers questions one after the other; a context of its own for what it imports.

    `serve` gets the questions and yields an answer to each. On a system without fork it works in this process.
    """

    def __init__(self, serve: Callable[[Iterator[Any]], Iterator[Any]]) -> None:
        self._open = False
        self._children = _Children()
        self._question: Any = None
        if "fork" not in multiprocessing.get_all_start_methods():
            self._answers: Iterator[Any] | None = serve(iter(lambda: self._question, None))
            return
        self._answers = None
        questions, self._asking = multiprocessing.get_context("fork").Pipe(duplex=False)

        def work(tell: Tell) -> None:
            self._asking.close()
            for answer in serve(iter(questions.recv, None)):
                tell(answer)

        self._receiving = self._children.start(work)
        questions.close()

    def ask(self, question: Any) -> Any:
        """The answer to a question that is not None; raises what the work raises, and LostWorker."""
        if self._answers is not None:
            self._question = question
            return next(self._answers)
        self._open = True
        with suppress(BrokenPipeError):  # a child that has ended has sent the reason, or is lost
            self._asking.send(question)
        _, answer = _received(self._receiving)
        self._open = False
        return answer

    def close(self) -> None:
        """End the process; one that still works on a question is killed."""
        if self._answers is not None:
            self._question = None
            next(self._answers, None)
            return
        with suppress(OSError):
            self._asking.send(None)
        self._asking.close()
        self._children.__exit__(LostWorker if self._open else None)


@dataclass(frozen=True, slots=True)
class _Events:
    """Calls of progress: the method and its arguments."""

    events: list[tuple[str, tuple[Any, ...]]]


class _Relayed:
    """Sends the progress of a child to its parent; checks that end shortly after one another are sent together."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._events, self._told = tell, list[tuple[str, tuple[Any, ...]]](), 0.0

    def plan(self, checks: int, stages: Mapping[str, int]) -> None:
        self._events.append(("plan", (checks, dict(stages))))
        self.flush()

    def note_verdict(self, check_id: str, verdict: str) -> None:
        self._events.append(("note_verdict", (check_id, verdict)))

    def stage(self, name: str, total: int) -> None:
        self._events.append(("stage", (name, total)))
        self.flush()

    def step(self, count: int = 1) -> None:
        self._events.append(("step", (count,)))
        if time.monotonic() - self._told > PAUSE:
            self.flush()

    def note(self, text: str) -> None:
        self._events.append(("note", (text,)))
        self.flush()

    def flush(self) -> None:
        self._tell(_Events(self._events))
        self._events, self._told = [], time.monotonic()


def _apply(function: Callable[[Any], Any], item: Any, tell: Tell) -> None:
    tell(function(item))


class _Children:
    """Forked processes; a context manager that ends those that still run."""

    def __init__(self) -> None:
        self._alive: tuple[int, int] = os.pipe()
        self._processes: list[Any] = []

    def __enter__(self) -> _Children:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for process in self._processes:
            if kind is not None:
                process.kill()
            process.join()
        for end in self._alive:
            os.close(end)

    def start(self, work: Callable[[Tell], None]) -> Connection:
        """Start a process that sends messages and ends; returns the connection that receives them."""
        context = multiprocessing.get_context("fork")
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=self._child, args=(work, receiving, sending))
        process.start()
        self._processes = [one for one in self._processes if one.is_alive()] + [process]
        sending.close()
        return receiving

    def _child(self, work: Callable[[Tell], None], receiving: Connection, sending: Connection) -> None:
        # The parent ends its children; Ctrl-C reaches all of them.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        receiving.close()
        source, sink = self._alive
        os.close(sink)
        threading.Thread(target=_end_with_parent, args=(source,), daemon=True).start()
        try:
            work(lambda value: sending.send((_TOLD, value)))
            sending.send((_DONE, None))
        except Exception as raised:
            raised.add_note(f"in a worker process: {traceback.format_exc()}")
            sending.send((_RAISED, raised))


def _end_with_parent(source: int) -> None:
    os.read(source, 1)
    os._exit(_LOST)


def _received(receiving: Connection) -> tuple[str, Any]:
    try:
        kind, value = receiving.recv()
    except EOFError:
        raise LostWorker from None
    if kind == _RAISED:
        raise value
    if kind == _DONE:
        receiving.close()
    return kind, value
