"""The context stream: chunks of consecutive tokens for one rank, and the cursor from which it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Final, Literal, TypeAlias

from impl.failure import default_failure
from impl.reference.stream.token_sources import TokenSource
from impl.types import uint32, uint64


@dataclass(frozen=True, slots=True)
class TokenChunk:
    """Hold consecutive tokens; `document_boundary` is for the Conductor, never for the model (S01, S06, S07)."""

    tokens: list[uint32]
    chunk_id: uint64
    document_boundary: bool


Warning: TypeAlias = Literal["CHUNK_BELOW_MAX_FREQUENCY", "CHUNK_NOT_MULTIPLE"]


def is_schedule(cms_frequencies: Sequence[int]) -> bool:
    """Tell whether there is a level, and every level fires after some number of tokens."""
    return len(cms_frequencies) > 0 and min(cms_frequencies) > 0


def is_too_small(chunk_size: int, cms_frequencies: Sequence[int]) -> bool:
    """Tell whether not even level 0 fires within a chunk (requirement S10; ruling SA20)."""
    return chunk_size == 0 or chunk_size < cms_frequencies[0]


def warnings_of(chunk_size: int, cms_frequencies: Sequence[int]) -> list[Warning]:
    """Return what is legal and changes how the levels fire (requirements S11, S12)."""
    slowest = max(cms_frequencies)
    warnings: list[Warning] = []
    if chunk_size < slowest:
        warnings.append("CHUNK_BELOW_MAX_FREQUENCY")
    if chunk_size % slowest:
        warnings.append("CHUNK_NOT_MULTIPLE")
    return warnings


OFFSET_BASIS: Final = 0xCBF29CE484222325
PRIME: Final = 0x100000001B3
WORD: Final = 4  # bytes of a token


def content_hash(tokens: Sequence[int]) -> int:
    """Return FNV-1a-64 over the tokens as little-endian u32, 0 for none (requirement S31; rulings SA10, SA11)."""
    if not tokens:
        return 0
    digest = OFFSET_BASIS
    for token in tokens:
        for byte in token.to_bytes(WORD, "little"):
            digest = (digest ^ byte) * PRIME % 2**64
    return digest


OPERATOR: Final = "Stream.FiringCounts"
MAX_CLOCK: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class FiringCounts:
    """Hold one count for each level, in the order of the frequencies."""

    counts: list[uint64]


def firing_counts(
    *,
    clock: uint64,
    chunk_size: uint64,
    cms_frequencies: list[uint64],
    variant: Literal["token_clock", "step"] | None = None,
) -> FiringCounts:
    """Count the firings of each level in a chunk (requirements S13, S14; ruling SA20).

    token_clock: `clock` is the number of tokens since open, and level C fires after every C-th. step: `clock` is the
    step, and a level counts 1 iff the step is a multiple of C or the chunk has C tokens or more. No level or a level 0
    is CONTRACT_VIOLATION, an empty chunk CHUNK_TOO_SMALL, a clock beyond 64 bits COUNTER_OVERFLOW.
    """
    if not is_schedule(cms_frequencies):
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    if chunk_size == 0:
        raise default_failure("CHUNK_TOO_SMALL", OPERATOR)
    if variant == "step":
        return FiringCounts([1 if clock % c == 0 or chunk_size >= c else 0 for c in cms_frequencies])
    if clock + chunk_size > MAX_CLOCK:
        raise default_failure("COUNTER_OVERFLOW", OPERATOR)
    return FiringCounts([(clock + chunk_size) // c - clock // c for c in cms_frequencies])


MAX_UINT64: Final = 2**64 - 1
MAX_UINT32: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class StreamCursor:
    """Hold the place of one rank between two calls (seed 003 §Coupling; rulings SA01, SA02, SA12, SA13, SA18).

    `dataset_index` is where the next round begins, `chunk_id` the last one served, `last_chunk_start` and
    `last_chunk_len` say which tokens `content_hash` is of.
    """

    dataset_index: uint64
    chunk_id: uint64
    pulse_id: uint64
    content_hash: uint64
    last_chunk_start: uint64
    last_chunk_len: uint64
    rank: uint32
    world_size: uint32
    rng_state: bytes | None = None
    total_tokens: uint64 | None = None


OPTIONAL: Final = frozenset({"rng_state", "total_tokens"})
SMALL: Final = frozenset({"rank", "world_size"})


def cursor_item(cursor: StreamCursor) -> dict[str, object]:
    """Return the cursor as a map, without what it does not have."""
    return {name: content for name, content in asdict(cursor).items() if content is not None}


def read_cursor(item: object) -> StreamCursor | None:
    """Return the cursor that a map holds, None for anything that is none."""
    if not isinstance(item, dict):
        return None
    names = {field.name for field in fields(StreamCursor)}
    if not names - OPTIONAL <= item.keys() <= names:
        return None
    if not all(_is_typed(name, content) for name, content in item.items()):
        return None
    return StreamCursor(**item)


def _is_typed(name: str, content: object) -> bool:
    if name == "rng_state":
        return isinstance(content, bytes)
    most = MAX_UINT32 if name in SMALL else MAX_UINT64
    return type(content) is int and 0 <= content <= most


NEXT_CHUNK: Final = "Stream.NextChunk"


@dataclass(frozen=True, slots=True)
class Place:
    """A position before a token: the pass over the data, and the token's index in it (ruling SA01)."""

    pass_number: int
    index: int


class ContextStream:
    """Serve the chunks of one rank, in the order of the source, each once (seed 003 §Stream).

    In a round every rank serves one chunk of the same size: rank r skips r chunks, serves one and skips the rest, so
    that all ranks are at the same place between two rounds (requirement S32; rulings SA18, SA19).
    """

    def __init__(
        self, source: TokenSource, *, rank: int = 0, world_size: int = 1, cms_frequencies: Sequence[int] = (1,)
    ) -> None:
        """Begin at 0 with pulse 0; ValueError where the rank or the frequencies make no sense."""
        if rank >= world_size or not is_schedule(cms_frequencies):
            raise ValueError("rank, world_size or cms_frequencies")
        self.source = source
        self.cms_frequencies = tuple(cms_frequencies)
        self.is_mid_step = False
        self._rank = rank
        self._world_size = world_size
        self._place = Place(0, 0)
        self._chunk_id = 0
        self._pulse_id = 0
        self._last_tokens: Sequence[int] = ()
        self._last_hash = 0
        self._last_start = 0
        self._last_len = 0

    def next_chunk(self, chunk_size: int) -> TokenChunk | None:
        """Return the rank's chunk of the next round and open a step, None where the data have ended.

        A chunk is shorter than asked only at the end of the data, where it ends too. An interactive source that has
        neither the whole round nor its end yet gives None as well, and nothing changes. CHUNK_TOO_SMALL, STEP_OPEN,
        COUNTER_OVERFLOW where no further chunk has a number, or no place behind it (requirements S01-S03, S20;
        rulings SA02-SA07).
        """
        if is_too_small(chunk_size, self.cms_frequencies):
            raise default_failure("CHUNK_TOO_SMALL", NEXT_CHUNK)
        if self.is_mid_step:
            raise default_failure("STEP_OPEN", NEXT_CHUNK)
        chunk_id = self._chunk_id + self._world_size if self._chunk_id else self._rank + 1
        if chunk_id > MAX_UINT64:
            raise default_failure("COUNTER_OVERFLOW", NEXT_CHUNK)
        if not self.source.is_ready(self._place.index + chunk_size * self._world_size):
            return None
        if self._leaves_64_bits(chunk_size):
            raise default_failure("COUNTER_OVERFLOW", NEXT_CHUNK)
        own = self._after_chunks(self._place, chunk_size, self._rank)
        end = self.source.reach(own.pass_number, own.index + chunk_size)
        chunk = self._read(own, end, chunk_id) if end > own.index else None
        # An iterator may fail while the other ranks' chunks are skipped: until here nothing has changed.
        self._place = self._after_chunks(own, chunk_size, self._world_size - self._rank)
        if chunk is not None:
            self._remember(own.index, chunk)
        return chunk

    @property
    def place(self) -> Place:
        """The place where the next round begins."""
        return self._place

    def advance(self, pulse_id: int) -> None:
        """End the step: what was observed so far belongs to a pulse (requirement S20)."""
        self._pulse_id = pulse_id
        self.is_mid_step = False

    def reset(self) -> None:
        """Go to 0 of the current pass for a new context; chunk ids, pulse and content hash go on (ruling SA03)."""
        self.source.restart(self._place.index)
        self._place = Place(self._place.pass_number, 0)

    def position(self) -> int:
        """Return the index of the token at which the next round begins (requirement S04; rulings SA01, SA18)."""
        return self._place.index

    def cursor(self) -> StreamCursor:
        """Return the position of the stream; only here the content is hashed (requirements S22, S29-S31)."""
        if self._last_tokens:
            self._last_hash = content_hash(self._last_tokens)
            self._last_tokens = ()
        return StreamCursor(
            dataset_index=self._place.index,
            chunk_id=self._chunk_id,
            pulse_id=self._pulse_id,
            rng_state=self.source.rng_state(self._place.pass_number),
            content_hash=self._last_hash,
            last_chunk_start=self._last_start,
            last_chunk_len=self._last_len,
            total_tokens=self.source.total_tokens,
            rank=self._rank,
            world_size=self._world_size,
        )

    def resume(self, cursor: StreamCursor, pass_number: int) -> bool:
        """Go on at the position of a cursor, whose every field was checked; False where the source cannot go so far."""
        if not self.source.resume(pass_number, cursor.dataset_index):
            return False
        self._place = Place(pass_number, cursor.dataset_index)
        self._chunk_id = cursor.chunk_id
        self._pulse_id = cursor.pulse_id
        self._last_tokens = ()
        self._last_hash = cursor.content_hash
        self._last_start = cursor.last_chunk_start
        self._last_len = cursor.last_chunk_len
        return True

    def _read(self, own: Place, end: int, chunk_id: int) -> TokenChunk:
        # Asked first: a source that cannot go back forgets what it has given.
        boundary = self.source.crosses(own.pass_number, own.index, end)
        return TokenChunk(self.source.read(own.pass_number, own.index, end), chunk_id, boundary)

    def _remember(self, start: int, chunk: TokenChunk) -> None:
        self._last_tokens, self._last_start, self._last_len = chunk.tokens, start, len(chunk.tokens)
        self._chunk_id = chunk.chunk_id
        self.is_mid_step = True

    def _leaves_64_bits(self, chunk_size: int) -> bool:
        """Tell whether the next round would begin where no cursor can say; looked ahead for only near that end."""
        most = max(self._place.index + chunk_size * self._world_size, self._place.pass_number + self._world_size)
        if most <= MAX_UINT64:
            return False
        after = self._after_chunks(self._place, chunk_size, self._world_size)
        return max(after.index, after.pass_number) > MAX_UINT64

    def _after_chunks(self, place: Place, chunk_size: int, count: int) -> Place:
        for _ in range(count):
            after = self._after_chunk(place, chunk_size)
            if after == place:  # the data have ended, for every further rank too
                break
            place = after
        return place

    def _after_chunk(self, place: Place, chunk_size: int) -> Place:
        """Return where the chunk after the one at a place begins; a chunk never spans the end (ruling SA05)."""
        end = self.source.reach(place.pass_number, place.index + chunk_size)
        if end > place.index and self.source.on_end == "wrap" and self.source.is_over(place.pass_number, end):
            return Place(place.pass_number + 1, 0)
        return Place(place.pass_number, end)
