"""One finite source in a drawn order, slice by slice, another one in every pass."""

from collections.abc import Iterator
from hashlib import sha256

from impl.reference.canonical_cbor import encode_canonical
from impl.reference.data.seeded_block_permute import seeded_block_permute
from impl.reference.stream.pieces import Piece, PiecedTokens
from impl.reference.stream.token_source import SLICE, OnEnd, TokenSource


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
