"""Many conversations with one process at a time, as many requests open as it takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Generic

from conformance.backend.carrier import Carrier
from conformance.backend.conversation import Call, Conversation, Finished, Restart, T
from conformance.backend.outcome import Outcome, Unsendable

_ENOUGH: Final = 1 << 20  # bytes of requests that may queue; beyond it, asking more would only fill memory


class Held(Generic[T]):
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

    def advance(self) -> Finished[T] | Restart | None:
        """Send the talk what it waits for until it asks something, wishes for a new process or ends."""
        try:
            wish = self.talk.send(self.outcomes) if self.begun else next(self.talk)
            self.begun = True
            while not wish and not isinstance(wish, Restart):
                wish = self.talk.send([])
        except StopIteration as end:
            return Finished(self.conversation.key, end.value, called=frozenset(self.called))
        if isinstance(wish, Restart):
            self.outcomes = []
            return wish
        self.unsent.extend(enumerate(wish))
        self.outcomes = [None] * len(wish)
        self.missing = len(wish)
        return None


class Pipeline(Generic[T]):
    """The conversations that one process holds together; `victims` says whom its loss would interrupt."""

    def __init__(self, carrier: Carrier, submit: Callable[[Carrier, Call], int], limit: int) -> None:
        self._carrier, self._submit, self._limit = carrier, submit, limit
        self._asked: dict[int, tuple[Held[T], int]] = {}  # by request, the oldest first
        self._ready: deque[Held[T]] = deque()
        self._held: dict[Held[T], None] = {}
        self.resting: list[Held[T]] = []  # they wish for a new process

    def hold(self, waiting: deque[Conversation[T]], resumed: Sequence[Held[T]] = ()) -> Iterator[Finished[T]]:
        """Hold every waiting conversation, and those that wished for this process; raises LostBackend."""
        for held in resumed:
            if (finished := self._advance(held)) is not None:
                yield finished
        while waiting or self._held or self._asked:
            yield from self._ask(waiting)
            if self._asked:
                for id_, outcome in self._carrier.wait():
                    yield from self._take(id_, outcome)

    def victims(self) -> list[Conversation[T]]:
        """Give up every unfinished conversation; they come in the order of their oldest open requests."""
        asking = (held for held, _ in self._asked.values() if held in self._held)
        unfinished = dict.fromkeys([*asking, *self._held])
        for held in unfinished:
            held.talk.close()
        return [held.conversation for held in unfinished]

    def _ask(self, waiting: deque[Conversation[T]]) -> Iterator[Finished[T]]:
        while len(self._asked) < self._limit and (self._ready or waiting) and self._carrier.backlog < _ENOUGH:
            if not self._ready:
                if (finished := self._advance(Held(waiting.popleft()))) is not None:
                    yield finished
                continue
            held = self._ready[0]
            slot, call = held.unsent.popleft()
            if not held.unsent:
                self._ready.popleft()
            held.called.add(call.operator)
            try:
                self._asked[self._submit(self._carrier, call)] = (held, slot)
            except Unsendable as error:
                yield self._dropped(held, error)

    def _dropped(self, held: Held[T], error: Unsendable) -> Finished[T]:
        """End one conversation that wants what no message can hold; it waits for that answer when others still come."""
        held.talk.close()
        del self._held[held]
        if held in self._ready:
            self._ready.remove(held)
        return Finished(held.conversation.key, None, error.reason, called=frozenset(held.called))

    def _take(self, id_: int, outcome: Outcome) -> Iterator[Finished[T]]:
        held, slot = self._asked.pop(id_)
        held.outcomes[slot] = outcome
        held.missing -= 1
        if not held.missing and (finished := self._advance(held)) is not None:
            yield finished

    def _advance(self, held: Held[T]) -> Finished[T] | None:
        came = held.advance()
        if came is None:
            self._held[held] = None
            self._ready.append(held)
            return None
        self._held.pop(held, None)
        if isinstance(came, Finished):
            return came
        if not held.conversation.in_step:
            raise AssertionError(f"{held.conversation.key} restarts the process but is not declared to")
        self.resting.append(held)
        return None


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
