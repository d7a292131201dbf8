"""What a file may ask for, and the clock that ends what takes too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic

from impl.failure import ContractFailure
from impl.vectorized.batch.front.schema import refuse

AGAIN = 0.05  # seconds between two interruptions: one that finds nothing running is lost


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limit what a file may ask for: the bytes of a value, the rows of all tables, the seconds of reading it."""

    value_bytes: int = 1 << 24
    rows: int = 1 << 32
    seconds: float = 600.0


def too_much(what: str, reason: object, limits: FileLimits) -> ContractFailure:
    """Return the refusal of what asks for too long a value or for too much time."""
    most = f"values of {limits.value_bytes} bytes and {limits.seconds} seconds"
    return refuse("LIMIT_EXCEEDED", f"{what} must ask for no more than {most}: got {reason}; leave it out")


@contextmanager
def interrupting(interrupt: Callable[[], None], seconds: float) -> Iterator[Callable[[], bool]]:
    """Interrupt whatever runs after these seconds, until the end; give what tells whether they are over."""
    until = monotonic() + seconds
    ended = Event()

    def watch() -> None:
        if not ended.wait(seconds):
            interrupt()
            while not ended.wait(AGAIN):
                interrupt()

    watching = Thread(target=watch, name="time limit of a file", daemon=True)
    watching.start()
    try:
        yield lambda: monotonic() >= until
    finally:
        ended.set()
        watching.join()
