"""Many conversations with one backend at a time: pipelined, isolated from each other's crashes, repeatable.

A conversation is a generator: it yields a list of calls and is sent the list of their outcomes, or yields RESTART for
a new process, and returns its finding. When the process is lost, every unfinished conversation is held again from the
start, alone in a fresh process: it is to blame only if the backend is lost again (DESIGN 6).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from conformance.backend.command import LostBackend, Process
from conformance.backend.hello import Hello
from conformance.backend.outcome import Lost, Outcome, ProtocolError
from conformance.backend.resolve import BackendCommand
from conformance.codec.codebook import Codebook
from conformance.codec.dialect import Dialect

T = TypeVar("T")
GIVE_UP_AFTER: Final = 20  # conversations lost in a row; a backend that is lost every time would cost a process each


@dataclass(frozen=True, slots=True)
class Call:
    """One question: an operator and its inputs in JSON wire form."""

    operator: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Restart:
    """The wish for a new backend process."""


RESTART: Final = Restart()
Talk = Generator[Sequence[Call] | Restart, Sequence[Outcome], T]


@dataclass(frozen=True, slots=True)
class Conversation(Generic[T]):
    """A named talk that can be held again from the start; `alone` where it restarts the process."""

    key: str
    start: Callable[[], Talk[T]]
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """A conversation's finding, or how the backend was lost in it."""

    key: str
    finding: T | None
    lost: Lost | None = None


@dataclass(slots=True)
class _Held(Generic[T]):
    """A conversation in progress."""

    conversation: Conversation[T]
    talk: Talk[T]
    unsent: deque[tuple[int, Call]] = field(default_factory=deque)
    outcomes: list[Outcome | None] = field(default_factory=list)
    missing: int = 0

    def put(self, calls: Sequence[Call]) -> None:
        self.unsent.extend(enumerate(calls))
        self.outcomes = [None] * len(calls)
        self.missing = len(calls)


class Driver:
    """Holds conversations with one backend; `unattributed` collects losses that no conversation repeats alone."""

    def __init__(self, command: BackendCommand, dialect: Dialect, codebook: Codebook, timeout: float) -> None:
        self.command, self.dialect, self.codebook, self.timeout = command, dialect, codebook, timeout
        self.unattributed: list[Lost] = []
        self.stderr_tail = b""
        self.calls = 0
        self._lost_in_a_row = 0

    def start(self) -> tuple[Process, Hello]:
        """A fresh process that has said a valid hello; raises BadHello, LostBackend."""
        process = Process(self.command.arguments, self.dialect, self.timeout, self.command.environment)
        try:
            return process, process.hello()
        except Exception:
            process.kill()
            self._remember(process)
            raise

    def hold(self, conversations: Iterable[Conversation[T]]) -> Iterator[Finished[T]]:
        """Hold every conversation; each is finished exactly once, in no particular order."""
        waiting = deque(conversations)
        apart = [conversation for conversation in waiting if conversation.alone]
        waiting = deque(conversation for conversation in waiting if not conversation.alone)
        while waiting and not self._given_up:
            yield from self._hold_together(waiting)
        for conversation in (*waiting, *apart):
            yield self._given_up_on(conversation) if self._given_up else self._hold_alone(conversation)

    @property
    def _given_up(self) -> bool:
        return self._lost_in_a_row >= GIVE_UP_AFTER

    def _given_up_on(self, conversation: Conversation[T]) -> Finished[T]:
        reason = f"not asked: the backend was lost in {GIVE_UP_AFTER} conversations in a row"
        return Finished(conversation.key, None, ProtocolError(reason))

    def _hold_together(self, waiting: deque[Conversation[T]]) -> Iterator[Finished[T]]:
        process, hello = self.start()
        held: dict[str, _Held[T]] = {}
        try:
            yield from self._pipeline(process, hello.max_in_flight, waiting, held)
            process.settle()
        except LostBackend as lost:
            victims = [one.conversation for one in held.values()]
            for one in held.values():
                one.talk.close()
            yield from self._blame(lost.reason, victims)
        finally:
            process.kill()
            self._remember(process)

    def _pipeline(
        self, process: Process, limit: int, waiting: deque[Conversation[T]], held: dict[str, _Held[T]]
    ) -> Iterator[Finished[T]]:
        asked: dict[int, tuple[_Held[T], int]] = {}
        ready: deque[_Held[T]] = deque()
        while waiting or held:
            while len(asked) < limit and (ready or waiting):
                if not ready:
                    conversation = waiting.popleft()
                    one = _Held(conversation, conversation.start())
                    held[conversation.key] = one
                    if (finished := self._advance(one, None, ready)) is not None:
                        del held[conversation.key]
                        yield finished
                    continue
                one = ready[0]
                slot, call = one.unsent.popleft()
                if not one.unsent:
                    ready.popleft()
                asked[self._submit(process, call)] = (one, slot)
            if not asked:
                continue
            for id_, outcome in process.wait():
                one, slot = asked.pop(id_)
                one.outcomes[slot] = outcome
                one.missing -= 1
                if not one.missing and (finished := self._advance(one, one.outcomes, ready)) is not None:
                    del held[one.conversation.key]
                    self._lost_in_a_row = 0
                    yield finished

    def _advance(self, one: _Held[T], outcomes: Any, ready: deque[_Held[T]]) -> Finished[T] | None:
        """Send a talk what it waits for until it asks something or ends."""
        try:
            wish = one.talk.send(outcomes)
            while not isinstance(wish, Restart) and not wish:
                wish = one.talk.send([])
        except StopIteration as end:
            return Finished(one.conversation.key, end.value)
        if isinstance(wish, Restart):
            raise AssertionError(f"{one.conversation.key} restarts the process but is not declared `alone`")
        one.put(wish)
        ready.append(one)
        return None

    def _submit(self, process: Process, call: Call) -> int:
        self.calls += 1
        params = self.dialect.outgoing(self.codebook[call.operator].inputs, call.inputs)
        return process.submit(call.operator, params)

    def _blame(self, reason: Lost, victims: Sequence[Conversation[T]]) -> Iterator[Finished[T]]:
        guilty = False
        for conversation in victims:
            finished = self._given_up_on(conversation) if self._given_up else self._hold_alone(conversation)
            guilty = guilty or finished.lost is not None
            yield finished
        if not guilty:
            self.unattributed.append(reason)

    def _hold_alone(self, conversation: Conversation[T]) -> Finished[T]:
        """Hold one conversation in processes of its own, with as many restarts as it wishes."""
        talk = conversation.start()
        process: Process | None = None
        outcomes: Sequence[Outcome] | None = None
        try:
            while True:
                try:
                    wish = talk.send(outcomes)  # type: ignore[arg-type]
                except StopIteration as end:
                    if process is not None:
                        process.settle()
                    self._lost_in_a_row = 0
                    return Finished(conversation.key, end.value)
                if isinstance(wish, Restart):
                    if process is not None:
                        process.settle()
                        self._remember(process)
                    process, outcomes = None, []
                    continue
                if process is None:
                    process, _ = self.start()
                outcomes = [self._ask(process, call) for call in wish]
        except LostBackend as lost:
            self._lost_in_a_row += 1
            return Finished(conversation.key, None, lost.reason)
        finally:
            talk.close()
            if process is not None:
                process.kill()
                self._remember(process)

    def _ask(self, process: Process, call: Call) -> Outcome:
        wanted = self._submit(process, call)
        for id_, outcome in process.wait():
            if id_ == wanted:
                return outcome
        raise AssertionError("the only open request was not the one answered")

    def _remember(self, process: Process) -> None:
        self.stderr_tail = process.stderr_tail or self.stderr_tail
