"""Tokens that are all there: those of a list, and the base of those in a file."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence

from impl.reference.stream.token_source import OnEnd


class FixedTokens(ABC):
    """Serve data of a known length, with the document boundaries that the source declares (ruling SA09)."""

    is_seekable = True

    def __init__(self, length: int, boundaries: Sequence[int], on_end: OnEnd) -> None:
        self.on_end: OnEnd = on_end
        self._length = length
        self._boundaries = boundaries

    @property
    def total_tokens(self) -> int:
        """The tokens of one pass."""
        return self._length

    def is_ready(self, wanted: int) -> bool:
        """Tell that all there is is there."""
        return True

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens there are, counting no further than `wanted`."""
        return min(wanted, self._length)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token stands at an index or after it."""
        return index >= self._length

    @abstractmethod
    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end)."""

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether a boundary d has start < d <= end; the end of the data is one (rulings SA07, SA09)."""
        if start < end and end >= self._length:
            return True
        after = bisect_right(self._boundaries, start)
        return after < len(self._boundaries) and self._boundaries[after] <= end

    def rng_state(self, pass_number: int) -> None:
        """Return nothing: the order is the source's own (requirement S30)."""
        return

    def restart(self, index: int) -> None:  # noqa: B027 (most sources have nothing to do)
        """Do nothing: every index can be read at any time."""

    def resume(self, pass_number: int, index: int) -> bool:
        """Do nothing: every index can be read at any time."""
        return True


class ListedTokens(FixedTokens):
    """Serve the tokens of a list."""

    def __init__(self, tokens: Sequence[int], boundaries: Sequence[int] = (), on_end: OnEnd = "wrap") -> None:
        super().__init__(len(tokens), boundaries, on_end)
        self._tokens = list(tokens)

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end)."""
        return self._tokens[start:end]
