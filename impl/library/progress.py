"""Lines that tell how far a load is that takes longer than a person waits without a word."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import Final, TextIO

EVERY: Final = 2.0  # seconds before the first line, and between two of them


class ProgressLines:
    """Tell what is being read, how many rows of it are done and since when: a line every two seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._since = self._told = clock()

    def __call__(self, what: str, rows: int) -> None:
        """Write a line if it is time for one."""
        now = self._clock()
        if now - self._told < EVERY:
            return
        self._told = now
        seen = "".join(letter if letter.isprintable() else "?" for letter in what)
        print(f"loading {seen}: {rows:,} rows, {now - self._since:.0f} s", file=self._stream, flush=True)


def lines_on_a_terminal() -> ProgressLines | None:
    """Return lines on stderr where a person reads it."""
    stream = sys.stderr
    return ProgressLines(stream) if stream is not None and stream.isatty() else None
