"""The scheduler: many conversations with one process at a time, and how many timeouts a run allows."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from conformance.backend.carrier import Carrier
from conformance.backend.outcome import Lost, Outcome, Side, Unsendable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One question: an operator and its inputs in JSON wire form."""

    operator: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """Asks for a new backend process."""


RESTART: Final = RestartRequest()
Talk = Generator[Sequence[Call] | RestartRequest, Sequence[Outcome], T]


@dataclass(frozen=True, slots=True)
class Conversation(Generic[T]):
    """A named talk that can be started again; one that is `alone` has its processes to itself, and may restart them.

    Those that restart and may share their processes run `in_step`: each process takes all to their next restart.
    While an `exclusive` one runs, no call of another is open in its process: its calls follow each other, so that a
    backend that remembers its last call is noticed.
    """

    key: str
    start: Callable[[], Talk[T]]
    alone: bool = False
    in_step: bool = False
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class ConversationResult(Generic[T]):
    """A conversation's finding, or how the backend was lost in it.

    `stderr` is the end of what the lost backend wrote there: for observations, never for a record.
    """

    key: str
    finding: T | None
    lost: Lost | None = None
    stderr: str = ""
    asked: bool = True  # false if the driver had given up the backend
    called: frozenset[str] = frozenset()  # the operators that were called in it
    calls: int = 0  # in a lost conversation: how many calls were made; the last was open
    side: Side = Side.BACKEND  # who was lost


OF_AN_OPERATOR: Final = 5  # after so many silent checks, no other check of the operator runs
OF_A_RUN: Final = 12  # the same for all checks; each operator counts up to the number above


class TimeoutBudget:
    """Counts the silent checks of one run, in all processes that are forked after it is made.

    An operator's count stops at its limit. So the sum, and what is given up on, is the same in whatever order a
    deterministic backend is asked.
    """

    def __init__(self, groups: Mapping[str, str], jobs: int, timeout: float, tell: Callable[[str], None]) -> None:
        self._groups, self._timeout, self.tell = groups, timeout, tell
        self._places = {group: place for place, group in enumerate(sorted(set(groups.values())), start=1)}
        self._counts = multiprocessing.Array("i", 1 + len(self._places))  # of all timeouts; of each group's silence
        # A silent check costs a timeout among others and one alone; others may be silent at the same time.
        self.most = 2 * OF_A_RUN + 2 * jobs

    def timed_out(self) -> None:
        """Count one timeout, whether or not a check repeats it."""
        if self._counted(0) == 1:
            bound = f"after {self.most} timeouts, {self.most * self._timeout:g} s in all"
            said = f"no answer within {self._timeout:g} s; a silent backend is given up on {bound}"
            self.tell(f"{said}; a smaller --timeout or `tally run -x` ends the run sooner")

    def silent(self, key: str) -> None:
        """Note that the check with this key was silent when it ran alone."""
        self._counted(self._places[self._groups[key]])

    def _counted(self, place: int) -> int:
        with self._counts.get_lock():
            count: int = self._counts[place] + 1
            self._counts[place] = count
            return count

    @property
    def exhausted(self) -> str | None:
        """Why nothing is asked any more."""
        timeouts, *silent = self._counts[:]
        if sum(min(count, OF_AN_OPERATOR) for count in silent) >= OF_A_RUN:
            return f"the backend was silent until the timeout in {OF_A_RUN} checks"
        if timeouts >= self.most:
            return f"the backend was silent until the timeout {self.most} times"
        return None

    def why_given_up(self, group: str) -> str | None:
        """The reason why no check of this operator runs any more; None if they run."""
        if (why := self.exhausted) is not None:
            return why
        if self._counts[self._places[group]] >= OF_AN_OPERATOR:
            return f"the backend was silent until the timeout in {OF_AN_OPERATOR} checks of this operator"
        return None

    def why_check_given_up(self, key: str) -> str | None:
        """The reason why the check with this key does not run any more; None if it runs."""
        return self.why_given_up(self._groups[key])


@contextmanager
def workers(count: int) -> Iterator[Executor]:
    """A pool of threads; if the block is interrupted, it does not wait for a thread that waits for a backend."""
    executor = ThreadPoolExecutor(count)
    try:
        yield executor
    except BaseException as error:
        executor.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    executor.shutdown()


_ENOUGH: Final = 1 << 20  # bytes of requests that may queue; more would only fill memory


class Running(Generic[T]):
    """A conversation in progress."""

    __slots__ = ("begun", "called", "conversation", "missing", "outcomes", "talk", "unsent")

    def __init__(self, conversation: Conversation[T]) -> None:
        self.conversation = conversation
        self.talk = conversation.start()
        self.unsent: deque[tuple[int, Call]] = deque()
        self.outcomes: list[Any] = []
        self.missing = 0
        self.begun = False
        self.called: set[str] = set()

    def advance(self) -> ConversationResult[T] | RestartRequest | None:
        """Send the talk what it waits for until it asks something, asks for a new process or ends."""
        try:
            request = self.talk.send(self.outcomes) if self.begun else next(self.talk)
            self.begun = True
            while not request and not isinstance(request, RestartRequest):
                request = self.talk.send([])
        except StopIteration as end:
            return ConversationResult(self.conversation.key, end.value, called=frozenset(self.called))
        if isinstance(request, RestartRequest):
            self.outcomes = []
            return request
        self.unsent.extend(enumerate(request))
        self.outcomes = [None] * len(request)
        self.missing = len(request)
        return None


class Pipeline(Generic[T]):
    """The conversations that run in one process; `interrupted` are those that its loss interrupts."""

    def __init__(self, carrier: Carrier, submit: Callable[[Carrier, Call], int], limit: int) -> None:
        self._carrier, self._submit, self._limit = carrier, submit, limit
        self._asked: dict[int, tuple[Running[T], int]] = {}  # by request, the oldest first
        self._ready: deque[Running[T]] = deque()
        self._running: dict[Running[T], None] = {}
        self._exclusive: Running[T] | None = None
        self.resting: list[Running[T]] = []  # conversations that ask for a new process

    def run(
        self, waiting: deque[Conversation[T]], resumed: Sequence[Running[T]] = ()
    ) -> Iterator[ConversationResult[T]]:
        """Run every waiting conversation, and those that asked for this process; raises LostBackend."""
        for running in resumed:
            if (finished := self._advance(running)) is not None:
                yield finished
        while waiting or self._running or self._asked:
            yield from self._ask(waiting)
            if self._asked:
                for id_, outcome in self._carrier.wait():
                    if (finished := self._take(id_, outcome)) is not None:
                        yield finished
            elif waiting or self._running:
                raise AssertionError("conversations wait, but no call of theirs is open")

    def interrupted(self) -> list[Conversation[T]]:
        """Give up every unfinished conversation; they come in the order of their oldest open requests."""
        asking = (running for running, _ in self._asked.values() if running in self._running)
        unfinished = dict.fromkeys([*asking, *self._running, *self.resting])
        for running in unfinished:
            running.talk.close()
        return [running.conversation for running in unfinished]

    def _ask(self, waiting: deque[Conversation[T]]) -> Iterator[ConversationResult[T]]:
        while len(self._asked) < self._limit and self._carrier.backlog < _ENOUGH:
            if self._exclusive is not None and (not self._ready or self._ready[0] is not self._exclusive):
                return
            if not self._ready:
                if not waiting:
                    return
                if (finished := self._advance(Running(waiting.popleft()))) is not None:
                    yield finished
                continue
            running = self._ready[0]
            if running.conversation.exclusive and self._exclusive is None:
                if self._asked:
                    return
                self._exclusive = running
            slot, call = running.unsent.popleft()
            if not running.unsent:
                self._ready.popleft()
            running.called.add(call.operator)
            try:
                self._asked[self._submit(self._carrier, call)] = (running, slot)
            except Unsendable as error:
                yield self._dropped(running, error)

    def _dropped(self, running: Running[T], error: Unsendable) -> ConversationResult[T]:
        """End one conversation whose request no message can carry; answers to its other calls are ignored."""
        running.talk.close()
        del self._running[running]
        if running in self._ready:
            self._ready.remove(running)
        self._release(running)
        return ConversationResult(running.conversation.key, None, error.reason, called=frozenset(running.called))

    def _take(self, id_: int, outcome: Outcome) -> ConversationResult[T] | None:
        running, slot = self._asked.pop(id_)
        running.outcomes[slot] = outcome
        running.missing -= 1
        return None if running.missing else self._advance(running)

    def _advance(self, running: Running[T]) -> ConversationResult[T] | None:
        try:
            came = running.advance()
        except Exception as error:  # of the harness, or of a law: the backend's mistakes are outcomes
            error.add_note(f"in the conversation {running.conversation.key}")
            raise
        if came is None:
            self._running[running] = None
            if running is self._exclusive:
                self._ready.appendleft(running)
            else:
                self._ready.append(running)
            return None
        self._running.pop(running, None)
        self._release(running)
        if isinstance(came, ConversationResult):
            return came
        if not running.conversation.in_step:
            raise AssertionError(f"{running.conversation.key} restarts the process but is not declared to")
        self.resting.append(running)
        return None

    def _release(self, ended: Running[T]) -> None:
        if ended is self._exclusive:
            self._exclusive = None


def outcomes_of(
    carrier: Carrier, submit: Callable[[Carrier, Call], int], calls: Sequence[Call], called: set[str]
) -> list[Outcome]:
    """The outcomes of calls asked one at a time; `called` takes their operators. Raises LostBackend, Unsendable."""
    outcomes = []
    for call in calls:
        called.add(call.operator)
        wanted = submit(carrier, call)
        ((answered, outcome),) = carrier.wait()
        assert answered == wanted, "a carrier answers only what is open"
        outcomes.append(outcome)
    return outcomes
