"""Tokens that somebody types: pushed while they come, ended by closing."""

from collections.abc import Sequence

from impl.reference.stream.held_tokens import HeldTokens
from impl.reference.stream.token_source import OnEnd


class InputEnded(Exception):
    """Tokens are pushed into an input that has ended."""


class InteractiveTokens:
    """Serve pushed tokens once; what has been read is forgotten (requirement S18)."""

    is_seekable = False
    total_tokens = None

    def __init__(self) -> None:
        self.on_end: OnEnd = "stop"
        self._waiting = HeldTokens()
        self._has_ended = False

    def push(self, tokens: Sequence[int], boundary: bool) -> None:
        """Add tokens; `boundary` says that the conversation breaks after the last one; InputEnded."""
        if self._has_ended:
            raise InputEnded
        self._waiting.add(tokens, boundary)

    def end_input(self) -> None:
        """Say that no token follows; saying it again changes nothing."""
        self._has_ended = True

    def is_ready(self, wanted: int) -> bool:
        """Tell whether so many tokens were pushed, or the input has ended."""
        return self._has_ended or wanted <= self._waiting.end

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens were pushed, counting no further than `wanted`."""
        return min(wanted, self._waiting.end)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether the input has ended before an index."""
        return self._has_ended and index >= self._waiting.end

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end) and forget all before `end`."""
        tokens = self._waiting.between(start, end)
        self._waiting.forget(end)
        return tokens

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether the conversation breaks after a token in [start, end)."""
        return (start < end and self.is_over(pass_number, end)) or self._waiting.breaks(start, end)

    def rng_state(self, pass_number: int) -> None:
        """Return nothing: nothing is drawn."""
        return

    def restart(self, index: int) -> None:
        """Give the first token that was not served the index 0."""
        self._waiting.forget(index)
        self.resume(0, 0)

    def resume(self, pass_number: int, index: int) -> bool:
        """Give the first token that waits an index, and so all those behind it."""
        self._waiting.renumber(index)
        return True
