"""Several sources, taken in turns by a declared pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, Protocol, TypeAlias

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.data.seeded_block_permute import seeded_block_permute

OnEnd: TypeAlias = Literal["wrap", "stop"]

SLICE: Final = 256  # tokens that an interleaved or shuffled source takes from a part at once


class TokenSource(Protocol):
    """Hold passes over data; every pass has the same number of tokens, which are addressed from 0 in each.

    A document that ends after token i is a boundary at offset i + 1, and the end of the data is always one
    (requirement S19; ruling SA09).
    """

    on_end: OnEnd
    is_seekable: bool

    @property
    def total_tokens(self) -> int | None:
        """The number of tokens of one pass; None if it has no end or no known end."""

    def is_ready(self, wanted: int) -> bool:
        """Tell whether so many tokens of a pass have arrived, or the end of the data."""

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens of a pass there are, counting no further than `wanted`."""

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token of a pass is at an index or after it."""

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens from `start` up to, and not including, `end`, fewer where the data end."""

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether a document ends within [start, end), after one of its tokens."""

    def rng_state(self, pass_number: int) -> bytes | None:
        """Return the state of the random order, None for a sequential source."""

    def restart(self, index: int) -> None:
        """Begin again at 0; what was served goes up to an index of the current pass."""

    def resume(self, pass_number: int, index: int) -> bool:
        """Be ready to read from an index of a pass, where a restored stream goes on; False where that is no place."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Represent the tokens [start, end) of one pass of a part."""

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
        """The number of tokens of one pass, None if it has no end."""
        return self._total

    def is_ready(self, wanted: int) -> bool:
        """Return True: all tokens are always available."""
        return True

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens of a pass there are, counting no further than `wanted`."""
        return wanted if self._total is None else min(wanted, self._total)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token of a pass is at an index or after it."""
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
        """Return True: all tokens are always available."""
        return True

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens there are, counting no further than `wanted`."""
        return min(wanted, self._length)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token is at an index or after it."""
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


class HeldTokens:
    """Hold tokens with the indices from `start` up to, and not including, `end`, and the boundaries after them."""

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
        """Forget all tokens before an index, which may be past the last one."""
        kept = min(index, self.end)
        del self._tokens[: kept - self.start]
        self.start = kept
        self._boundaries = [boundary for boundary in self._boundaries if boundary > kept]

    def renumber(self, start: int) -> None:
        """Set the index of the first token kept; those of the tokens after it follow."""
        self._boundaries = [boundary - self.start + start for boundary in self._boundaries]
        self.start = start


class ShuffledTokens(PiecedTokens):
    """Serve the full slices of a part in the order that the seed draws, the short tail last (requirement S29)."""

    def __init__(self, part: TokenSource, seed: bytes, on_end: OnEnd = "wrap") -> None:
        if part.total_tokens is None:
            raise ValueError("only a finite source can be shuffled")
        super().__init__(on_end, part.total_tokens)
        self._part = part
        self._seed = seed
        self._full_slices = part.total_tokens // SLICE
        self._drawn: tuple[int, list[int]] = (-1, [])

    def pieces(self, pass_number: int, start: int, end: int) -> Iterator[Piece]:
        """Yield the slices that [start, end) is made of, the first and the last one cut to it."""
        order = self._order(pass_number)
        while start < end:
            place, offset = divmod(start, SLICE)
            slice_start = SLICE * (order[place] if place < self._full_slices else place)
            count = min(SLICE - offset, end - start)
            yield Piece(self._part, 0, slice_start + offset, slice_start + offset + count)
            start += count

    def rng_state(self, pass_number: int) -> bytes:
        """Return the canonical CBOR of [seed, pass] (ruling SA17)."""
        return encode_canonical([self._seed, pass_number])

    def _order(self, pass_number: int) -> list[int]:
        if not self._full_slices:
            return []
        if self._drawn[0] != pass_number:
            seed = pass_seed(self._seed, pass_number)
            permuted = seeded_block_permute(num_blocks=self._full_slices, epoch_seed=seed)
            self._drawn = (pass_number, permuted.block_order)
        return self._drawn[1]


def pass_seed(seed: bytes, pass_number: int) -> bytes:
    """Return the seed that draws the order of a pass: the given one for the first."""
    if pass_number == 0:
        return seed
    return sha256(encode_canonical(["stream_shuffle", seed, pass_number])).digest()[:16]


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
        """Return the turn that serves the token at a position, which is not past the end."""
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
