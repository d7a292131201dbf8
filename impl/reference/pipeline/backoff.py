"""Waiting with growing pauses, on a clock that the caller may replace."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

FIRST_PAUSE: Final = 0.010
LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Clock:
    """Tell a time that never goes back, in seconds, and sleep."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def pauses() -> Iterator[float]:
    """Yield the pauses in seconds: 10 ms, doubled up to one second (ruling QA24)."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_PAUSE)


def attempts(clock: Clock, timeout: float | None) -> Iterator[None]:
    """Yield at once and after every pause, last when the timeout is over; None waits for ever, 0 is one look."""
    deadline = None if timeout is None else clock.now() + timeout
    yield
    for pause in pauses():
        left = pause if deadline is None else deadline - clock.now()
        if left <= 0:
            return
        clock.sleep(min(pause, left))
        yield
