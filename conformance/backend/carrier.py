"""Carriers bring calls to a backend: in a process, in the process of the harness, or to a backend with its stand-in."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from conformance.backend.hello import BadHello, Hello, WrongHello, hello_from
from conformance.backend.outcome import (
    Crash,
    Lost,
    LostBackend,
    Outcome,
    ProtocolError,
    RawResult,
    Side,
    describe,
    outcome_of,
)
from conformance.backend.resolve import BackendCommand, resolve
from conformance.backend.session import MissingObject, Session, load_object, signatures_of
from conformance.codec.codebook import Codebook
from conformance.codec.framing import Dialect
from conformance.contract.suite import Suite

GRACE: Final = 2.0  # seconds between tally.bye and the end of a process that ignores it


class Carrier(Protocol):
    """One running backend; not thread-safe, one conversation partner only."""

    @property
    def stderr_tail(self) -> bytes:
        """The end of what it wrote on stderr, for observations only."""

    @property
    def backlog(self) -> int:
        """The number of bytes of requests that the backend has not read yet."""

    def hello(self) -> Hello:
        """The introduction; raises BadHello."""

    def submit(self, method: str, params: Any) -> int:
        """Queue one request, with params in the form of the dialect; return its id."""

    def wait(self) -> list[tuple[int, Outcome]]:
        """Wait for at least one answer; raises LostBackend if none can come."""

    def settle(self, grace: float = GRACE) -> bool:
        """Send tally.bye; return whether the backend then ended. Raises LostBackend if it sends another message."""

    def kill(self) -> None:
        """End it; safe to call twice."""


class InProcess:
    """The carrier for --same-process; every message still becomes bytes, so values are as in a process.

    A module is imported once, so its state outlives a restart; a class is called again.
    """

    def __init__(self, target: str, dialect: Dialect, codebook: Codebook) -> None:
        self._target, self._dialect, self._codebook = target, dialect, codebook
        self._session: Session | None = None
        self._asked: deque[Mapping[str, Any]] = deque()
        self._next_id = 0
        self.stderr_tail = b""  # the object prints where the harness prints

    @property
    def backlog(self) -> int:
        """Zero, because requests are read one at a time."""
        return 0

    def hello(self) -> Hello:
        """The introduction; raises BadHello."""
        try:
            subject = load_object(self._target)
        except MissingObject as error:
            raise BadHello(str(error)) from None
        except Exception as error:
            raise BadHello(f"{self._target!r} cannot be imported: {error!r}") from error
        self._session = Session(subject, signatures_of(self._codebook), self._dialect.name)
        self.submit("tally.hello", {"protocol": 1})
        try:
            ((_, outcome),) = self.wait()
        except LostBackend as lost:
            raise BadHello(f"tally.hello was answered by {describe(lost.reason)}") from lost
        if isinstance(outcome, RawResult):
            return hello_from(outcome.value, self._dialect.name)
        raise WrongHello(f"tally.hello was answered by {describe(outcome)}")

    def submit(self, method: str, params: Any) -> int:
        """Store one request; return its id."""
        id_ = self._next_id
        self._next_id += 1
        self._asked.append({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return id_

    def wait(self) -> list[tuple[int, Outcome]]:
        """The answer to the oldest request; raises LostBackend from the exception of the object."""
        assert self._session is not None, "hello comes first"
        request = self._asked.popleft()
        try:
            answer = self._session.answer(self._carried(request))
            assert answer is not None, "every request has an id"
            return [(request["id"], outcome_of(self._carried(answer)))]
        except Exception as error:
            traceback.print_exc()
            raise LostBackend(Crash(f"it raised {type(error).__name__}")) from error

    def settle(self, grace: float = GRACE) -> bool:
        """Forget the object."""
        self.kill()
        return True

    def kill(self) -> None:
        """Forget the object."""
        self._session = None
        self._asked.clear()

    def _carried(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        (carried,) = self._dialect.splitter().feed(self._dialect.dump(message))
        return carried


T = TypeVar("T")


class LostStandIn(LostBackend):
    """The stand-in was lost; `stderr` is the end of its stderr, for people."""

    def __init__(self, reason: Lost, stderr: bytes = b"", side: Side = Side.STAND_IN) -> None:
        super().__init__(reason)
        self.stderr, self.side = stderr, side


@dataclass(frozen=True, slots=True)
class StandIn:
    """The command and the timeout of the backend that answers the operators that the tested one does not declare."""

    command: BackendCommand
    timeout: float


def stand_in_for(suite: Suite, wire: str, timeout: float, reference: str = "", bytecode: bool = True) -> StandIn:
    """The reference, of the suite unless another is named, as the stand-in of a backend that speaks `wire`.

    Raises BackendNotFound.
    """
    return StandIn(resolve(reference or suite.reference, suite, wire, bytecode=bytecode), timeout)


class WithStandIn:
    """A carrier that asks `own` the operators it declares, and a stand-in all others."""

    def __init__(self, own: Carrier, declared: frozenset[str], start: Callable[[], tuple[Carrier, Hello]]) -> None:
        self._own, self._declared, self._start = own, declared, start
        self._other: Carrier | None = None
        self._known: frozenset[str] = frozenset()
        self._asked: dict[Carrier, dict[int, int]] = {own: {}}  # by side: its id of a request, and our id
        self._next_id = 0

    @property
    def stderr_tail(self) -> bytes:
        """What the tested backend wrote."""
        return self._own.stderr_tail

    @property
    def backlog(self) -> int:
        """The number of bytes of requests that either side has not read yet."""
        return sum(side.backlog for side in self._asked)

    def hello(self) -> Hello:
        """The introduction of the tested backend; raises BadHello."""
        return self._own.hello()

    def submit(self, method: str, params: Any) -> int:
        """Queue one request at the side that answers it; raises LostStandIn if no side can."""
        own = method in self._declared or method.startswith("tally.")
        side = self._own if own else self._stand_in(method)
        number, self._next_id = self._next_id, self._next_id + 1
        self._asked[side][side.submit(method, params)] = number
        return number

    def wait(self) -> list[tuple[int, Outcome]]:
        """Wait for at least one answer; raises LostBackend, or LostStandIn if the stand-in is lost.

        The stand-in is asked first, because time in which the harness does not read from the backend does not count.
        """
        other = self._other
        if other is None or not self._asked[other]:
            return self._answers(self._own)
        return self._blaming(other, lambda: self._answers(other))

    def settle(self, grace: float = GRACE) -> bool:
        """Send tally.bye to both; return whether the backend then ended on its own."""
        try:
            left = self._own.settle(grace)
            if self._other is not None:
                self._blaming(self._other, self._other.settle)
        finally:
            self.kill()
        return left

    def kill(self) -> None:
        """End both; safe to call twice."""
        for side in self._asked:
            side.kill()

    def _answers(self, side: Carrier) -> list[tuple[int, Outcome]]:
        numbers = self._asked[side]
        return [(numbers.pop(id_), outcome) for id_, outcome in side.wait()]

    def _stand_in(self, method: str) -> Carrier:
        if self._other is None:
            try:
                self._other, hello = self._start()
            except BadHello as error:
                raise LostStandIn(error.lost, error.stderr.encode(), Side.INSTALLATION) from None
            self._asked[self._other] = {}
            self._known = hello.operators
        if method not in self._known:
            raise LostStandIn(ProtocolError(f"the stand-in does not declare {method} either"), side=Side.INSTALLATION)
        return self._other

    def _blaming(self, other: Carrier, act: Callable[[], T]) -> T:
        try:
            return act()
        except LostBackend as lost:
            raise LostStandIn(lost.reason, other.stderr_tail) from None
