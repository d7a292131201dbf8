"""The tokens that a source holds between where they come from and where they go."""

from collections.abc import Sequence


class HeldTokens:
    """Hold tokens with the indices from `start` up to, and not including, `end`, and the boundaries behind them."""

    def __init__(self) -> None:
        self.start = 0
        self._tokens: list[int] = []
        self._boundaries: list[int] = []

    @property
    def end(self) -> int:
        """The index that the next token gets."""
        return self.start + len(self._tokens)

    def add(self, tokens: Sequence[int], boundary: bool = True) -> None:
        """Hold more tokens; `boundary` says that a document ends after the last one."""
        self._tokens += tokens
        if boundary:
            self._boundaries.append(self.end)

    def between(self, start: int, end: int) -> list[int]:
        """Return the tokens that are held in [start, end)."""
        return self._tokens[start - self.start : end - self.start]

    def breaks(self, start: int, end: int) -> bool:
        """Tell whether a document ends after a token in [start, end)."""
        return any(start < boundary <= end for boundary in self._boundaries)

    def forget(self, index: int) -> None:
        """Forget all tokens before an index, or all of them where it lies beyond."""
        kept = min(index, self.end)
        del self._tokens[: kept - self.start]
        self.start = kept
        self._boundaries = [boundary for boundary in self._boundaries if boundary > kept]

    def renumber(self, start: int) -> None:
        """Give the first token that is held an index, and so all those behind it."""
        self._boundaries = [boundary - self.start + start for boundary in self._boundaries]
        self.start = start
