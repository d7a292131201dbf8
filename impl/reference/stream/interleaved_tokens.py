"""Several sources, taken in turns by a declared pattern."""

from collections.abc import Iterator, Sequence

from impl.reference.stream.pieces import Piece, PiecedTokens
from impl.reference.stream.token_source import SLICE, OnEnd, TokenSource


class InterleavedTokens(PiecedTokens):
    """Serve one slice of a part after the other: turn k is that of part pattern[k mod len(pattern)].

    A slice ends with its part's data; a `wrap` part then begins again and an exhausted `stop` part is skipped, so that
    any turn can be computed without those before it (requirement S17). ValueError where there is no turn to take, or a
    part has no length.
    """

    def __init__(self, parts: Sequence[TokenSource], pattern: Sequence[int], on_end: OnEnd = "wrap") -> None:
        if not pattern or not all(0 <= index < len(parts) for index in pattern):
            raise ValueError("the pattern names the parts, from 0")
        if any(part.total_tokens is None for part in parts):
            raise ValueError("only finite sources can be interleaved")
        self._parts = parts
        self._pattern = pattern
        super().__init__(on_end, self._finite_total())

    def pieces(self, pass_number: int, start: int, end: int) -> Iterator[Piece]:
        """Yield the slices that [start, end) is made of, the first and the last one cut to it."""
        turn = self._turn_at(start) if start < end else 0
        while start < end:
            index = self._pattern[turn % len(self._pattern)]
            begin, after = self._tokens_before(turn), min(end, self._tokens_before(turn + 1))
            if start < after:
                part_pass, offset = _place_in(self._parts[index], self._slices_before(turn, index))
                first = offset + start - begin
                yield Piece(self._parts[index], pass_number + part_pass, first, first + after - start)
                start = after
            turn += 1

    def _finite_total(self) -> int | None:
        served = [self._parts[index] for index in sorted(set(self._pattern))]
        if any(part.on_end == "wrap" and part.total_tokens for part in served):
            return None
        return sum(part.total_tokens or 0 for part in served)

    def _turn_at(self, position: int) -> int:
        """Return the turn that serves the token at a position, which is not behind the end."""
        above = 1
        while self._tokens_before(above) <= position:
            above *= 2
        turn = 0
        while turn + 1 < above:
            middle = (turn + above) // 2
            if self._tokens_before(middle) <= position:
                turn = middle
            else:
                above = middle
        return turn

    def _tokens_before(self, turn: int) -> int:
        return sum(_tokens_in(part, self._slices_before(turn, index)) for index, part in enumerate(self._parts))

    def _slices_before(self, turn: int, index: int) -> int:
        rounds, rest = divmod(turn, len(self._pattern))
        return rounds * self._pattern.count(index) + list(self._pattern[:rest]).count(index)


def _place_in(part: TokenSource, slices: int) -> tuple[int, int]:
    """Return the pass of a part, and the offset in it, that so many slices lead to."""
    if part.on_end == "stop" or not part.total_tokens:
        return 0, slices * SLICE
    passes, rest = divmod(slices, _slices_of(part.total_tokens))
    return passes, rest * SLICE


def _tokens_in(part: TokenSource, slices: int) -> int:
    """Return how many tokens the first slices of a part have together."""
    total = part.total_tokens or 0
    if part.on_end == "stop" or not total:
        return min(slices * SLICE, total)
    passes, rest = divmod(slices, _slices_of(total))
    return passes * total + min(rest * SLICE, total)


def _slices_of(tokens: int) -> int:
    return -(-tokens // SLICE)
