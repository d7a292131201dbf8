"""Tokens that somebody types: pushed while they come, ended by closing."""

from collections.abc import Sequence

from impl.reference.stream.token_source import OnEnd


class InputEnded(Exception):
    """Tokens are pushed into an input that has ended."""


class InteractiveTokens:
    """Serve pushed tokens once; what has been read is forgotten (requirement S18)."""

    is_seekable = False
    total_tokens = None

    def __init__(self) -> None:
        self.on_end: OnEnd = "stop"
        self._waiting: list[int] = []
        self._start = 0  # the index of the first token that waits
        self._boundaries: list[int] = []
        self._has_ended = False

    def push(self, tokens: Sequence[int], boundary: bool) -> None:
        """Add tokens; `boundary` says that the conversation breaks after the last one; InputEnded."""
        if self._has_ended:
            raise InputEnded
        self._waiting += tokens
        if boundary:
            self._boundaries.append(self._end)

    def end_input(self) -> None:
        """Say that no token follows; saying it again changes nothing."""
        self._has_ended = True

    def is_ready(self, wanted: int) -> bool:
        """Tell whether so many tokens were pushed, or the input has ended."""
        return self._has_ended or wanted <= self._end

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens were pushed, counting no further than `wanted`."""
        return min(wanted, self._end)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether the input has ended before an index."""
        return self._has_ended and index >= self._end

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end) and forget all before `end`."""
        tokens = self._waiting[start - self._start : end - self._start]
        self._forget(end)
        return tokens

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether the conversation breaks after a token in [start, end)."""
        if start < end and self.is_over(pass_number, end):
            return True
        return any(start < boundary <= end for boundary in self._boundaries)

    def rng_state(self, pass_number: int) -> None:
        """Return nothing: nothing is drawn."""
        return

    def restart(self, index: int) -> None:
        """Give the first token that was not served the index 0."""
        self._forget(index)
        self.resume(0, 0)

    def resume(self, pass_number: int, index: int) -> None:
        """Give the first token that waits an index, and so all those behind it."""
        self._boundaries = [boundary - self._start + index for boundary in self._boundaries]
        self._start = index

    @property
    def _end(self) -> int:
        return self._start + len(self._waiting)

    def _forget(self, end: int) -> None:
        kept = min(end, self._end)
        del self._waiting[: kept - self._start]
        self._start = kept
        self._boundaries = [boundary for boundary in self._boundaries if boundary > kept]
