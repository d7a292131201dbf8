"""What carries calls to a backend and its answers back: a process of its own, or the process of the harness."""

from __future__ import annotations

from typing import Any, Final, Protocol

from conformance.backend.hello import Hello
from conformance.backend.outcome import Outcome

GRACE: Final = 2.0  # seconds between tally.bye and the end of a process that ignores it


class Carrier(Protocol):
    """One running backend; not thread-safe, one conversation partner only."""

    @property
    def stderr_tail(self) -> bytes:
        """The end of what it wrote on stderr, for observations only."""

    @property
    def backlog(self) -> int:
        """Bytes of requests that the backend has not taken yet."""

    def hello(self) -> Hello:
        """The introduction; raises BadHello."""

    def submit(self, method: str, params: Any) -> int:
        """Queue one request, its params as they stand in a message; its id."""

    def wait(self) -> list[tuple[int, Outcome]]:
        """At least one answer; raises LostBackend where none can come."""

    def settle(self, grace: float = GRACE) -> bool:
        """Say goodbye; whether the backend left by itself. Raises LostBackend where it says anything more."""

    def kill(self) -> None:
        """End it; safe to call twice."""
