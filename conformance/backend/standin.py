"""A backend and its stand-in as one carrier: every call goes to the side that answers for its operator (DESIGN 6).

The stand-in is a second process. It starts with the first call that is for it, ends with the backend, and so restarts
with it. A machine's methods are all declared or none, so a handle never reaches the side that did not give it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from conformance.backend.carrier import GRACE, Carrier
from conformance.backend.hello import BadHello, Hello
from conformance.backend.outcome import Lost, LostBackend, Outcome, ProtocolError, Side
from conformance.backend.resolve import REFERENCE, BackendCommand, resolve

T = TypeVar("T")


class LostStandIn(LostBackend):
    """The stand-in can no longer be spoken to; `stderr` is the end of what it wrote there, for people."""

    def __init__(self, reason: Lost, stderr: bytes = b"", side: Side = Side.STAND_IN) -> None:
        super().__init__(reason)
        self.stderr, self.side = stderr, side


@dataclass(frozen=True, slots=True)
class StandIn:
    """How to start the backend that answers what the one on trial does not declare, and how long to wait for it."""

    command: BackendCommand
    timeout: float


def stand_in_for(wire: str, timeout: float, reference: str = REFERENCE) -> StandIn:
    """The reference as the stand-in of a backend that speaks `wire`; raises BackendNotFound."""
    return StandIn(resolve(reference, wire), timeout)


class Accompanied:
    """A carrier that asks `own` the operators it declares, and a stand-in all others."""

    def __init__(self, own: Carrier, declared: frozenset[str], start: Callable[[], tuple[Carrier, Hello]]) -> None:
        self._own, self._declared, self._start = own, declared, start
        self._other: Carrier | None = None
        self._known: frozenset[str] = frozenset()
        self._asked: dict[Carrier, dict[int, int]] = {own: {}}  # by side: its id of a request, and ours
        self._next_id = 0

    @property
    def stderr_tail(self) -> bytes:
        """What the backend on trial wrote."""
        return self._own.stderr_tail

    @property
    def backlog(self) -> int:
        """Bytes of requests that either side has not taken yet."""
        return sum(side.backlog for side in self._asked)

    def hello(self) -> Hello:
        """The introduction of the backend on trial; raises BadHello."""
        return self._own.hello()

    def submit(self, method: str, params: Any) -> int:
        """Queue one request at the side that answers it; raises LostStandIn where there is none."""
        side = self._own if method in self._declared else self._stand_in(method)
        number, self._next_id = self._next_id, self._next_id + 1
        self._asked[side][side.submit(method, params)] = number
        return number

    def wait(self) -> list[tuple[int, Outcome]]:
        """At least one answer; raises LostBackend, and LostStandIn where the stand-in is lost.

        The stand-in comes first, so that the time in which the backend is not listened to never counts as its silence.
        """
        other = self._other
        if other is None or not self._asked[other]:
            return self._answers(self._own)
        return self._blaming(other, lambda: self._answers(other))

    def settle(self, grace: float = GRACE) -> bool:
        """Say goodbye to both; whether the backend left by itself."""
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
            raise LostStandIn(ProtocolError(f"it does not declare {method} either"), side=Side.INSTALLATION)
        return self._other

    def _blaming(self, other: Carrier, act: Callable[[], T]) -> T:
        try:
            return act()
        except LostBackend as lost:
            raise LostStandIn(lost.reason, other.stderr_tail) from None
