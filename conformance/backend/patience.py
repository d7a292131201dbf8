"""How much silence a run bears: each silent check costs a timeout or two, and a hung backend must not cost hours."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

OF_AN_OPERATOR: Final = 5  # silent checks, then no other of this operator is asked
OF_A_RUN: Final = 12  # silent checks, each operator counted up to the number above; then nothing is asked


class Patience:
    """Counts the silent checks of one run, from any thread.

    An operator's count stops at its limit. So the sum, and what is given up on, is the same in whatever order a
    deterministic backend is asked.
    """

    def __init__(self, group: Callable[[str], str], jobs: int, timeout: float, tell: Callable[[str], None]) -> None:
        self._group, self._timeout, self._tell = group, timeout, tell
        self._silent: Counter[str] = Counter()
        self._timeouts = 0
        # A silent check costs a timeout among others and one alone; others may be silent at the same time.
        self.most = 2 * OF_A_RUN + 2 * jobs
        self._lock = threading.Lock()

    def timed_out(self) -> None:
        """One timeout more, whether or not a check repeats it."""
        with self._lock:
            self._timeouts += 1
            first = self._timeouts == 1
        if first:
            bound = f"after {self.most} timeouts, {self.most * self._timeout:g} s in all"
            self._tell(f"no answer within {self._timeout:g} s; a silent backend is given up on {bound}")

    def silent(self, key: str) -> None:
        """The check with this key was silent, alone."""
        with self._lock:
            self._silent[self._group(key)] += 1

    @property
    def exhausted(self) -> str | None:
        """Why nothing is asked any more."""
        if sum(min(count, OF_AN_OPERATOR) for count in self._silent.values()) >= OF_A_RUN:
            return f"the backend was silent until the timeout in {OF_A_RUN} checks"
        if self._timeouts >= self.most:
            return f"the backend was silent until the timeout {self.most} times"
        return None

    def weary(self, group: str) -> str | None:
        """Why no check of this operator is asked any more."""
        if (why := self.exhausted) is not None:
            return why
        if self._silent[group] >= OF_AN_OPERATOR:
            return f"the backend was silent until the timeout in {OF_AN_OPERATOR} checks of this operator"
        return None

    def weary_of(self, key: str) -> str | None:
        """Why the check with this key is not asked any more."""
        return self.weary(self._group(key))
