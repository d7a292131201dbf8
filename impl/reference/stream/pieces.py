"""A source that takes its tokens from parts: what it serves is a sequence of pieces of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from impl.reference.stream.token_source import OnEnd, TokenSource


@dataclass(frozen=True, slots=True)
class Piece:
    """Stand for the tokens [start, end) of one pass of a part."""

    part: TokenSource
    pass_number: int
    start: int
    end: int


class PiecedTokens(ABC):
    """Serve pieces of parts, one after the other; a document boundary of a part stays with its token."""

    is_seekable = True

    def __init__(self, on_end: OnEnd, total_tokens: int | None) -> None:
        self.on_end: OnEnd = on_end
        self._total = total_tokens

    @property
    def total_tokens(self) -> int | None:
        """The tokens of one pass, None where there is no end."""
        return self._total

    def is_ready(self, wanted: int) -> bool:
        """Tell that all there is is there."""
        return True

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens of a pass there are, counting no further than `wanted`."""
        return wanted if self._total is None else min(wanted, self._total)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token of a pass stands at an index or after it."""
        return self._total is not None and index >= self._total

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end), fewer where the data end."""
        tokens: list[int] = []
        for piece in self.pieces(pass_number, start, self.reach(pass_number, end)):
            tokens += piece.part.read(piece.pass_number, piece.start, piece.end)
        return tokens

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether a document of a part, or a part, or the data end within [start, end)."""
        if start < end and self.is_over(pass_number, end):
            return True
        pieces = self.pieces(pass_number, start, self.reach(pass_number, end))
        return any(piece.part.crosses(piece.pass_number, piece.start, piece.end) for piece in pieces)

    @abstractmethod
    def pieces(self, pass_number: int, start: int, end: int) -> Iterator[Piece]:
        """Yield the pieces that [start, end) is made of, in order."""

    def rng_state(self, pass_number: int) -> bytes | None:
        """Return nothing: the order is declared, not drawn."""
        return None

    def restart(self, index: int) -> None:  # noqa: B027 (most sources have nothing to do)
        """Do nothing: every index can be read at any time."""

    def resume(self, pass_number: int, index: int) -> bool:
        """Do nothing: every index can be read at any time."""
        return True
