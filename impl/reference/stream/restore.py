"""From a checkpoint back to a model and a stream, or to the reason why they must not go on together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from impl.failure import ContractFailure, default_failure
from impl.reference.canonical_cbor import NotCanonical, decode_canonical
from impl.reference.stream.context_stream import ContextStream, StreamCursor, content_hash, read_cursor
from impl.reference.stream.iterator_tokens import InteractiveTokens
from impl.reference.stream.stream_checkpoint import BEGINNING, Model, OpenedCheckpoint, Unreadable, open_checkpoint
from impl.reference.stream.supplied_tokens import SuppliedTokens
from impl.reference.stream.token_file import (
    ARRAY,
    AnyDeclaration,
    SourceDeclaration,
    TokenFile,
    UnusableFile,
    UnusablePlace,
    read_file,
)
from impl.reference.stream.token_sources import InterleavedTokens, ListedTokens, OnEnd, ShuffledTokens, TokenSource

DEFAULT_ON_END: Final[OnEnd] = "wrap"

# How a restore takes the cursor: all of it, none of it, or its place alone (ruling SA24).
Start: TypeAlias = Literal["continue", "warm", "foreign"]


def open_source(source: SourceDeclaration, root: str | None) -> TokenSource:
    """Open a complete source, whose files are below the root; UnusableFile."""
    on_end = source.on_end or DEFAULT_ON_END
    match source.kind:
        case "interactive":
            return InteractiveTokens()
        case "iterator":
            return SuppliedTokens(on_end)
        case "interleaved":
            parts = [_open_part(part, root) for part in source.parts or []]
            return InterleavedTokens(parts, source.pattern or [], on_end)
        case "shuffled":
            (part,) = source.parts or []
            return ShuffledTokens(_open_part(part, root), source.seed or b"", on_end)
    return _open_part(source, root)


def _open_part(source: AnyDeclaration, root: str | None) -> TokenSource:
    on_end = source.on_end or DEFAULT_ON_END
    boundaries = source.boundaries or []
    if source.kind == "file":
        path = source.path or ""
        return TokenFile(_below(root, path), source.dtype, boundaries, on_end, is_array=path.endswith(ARRAY))
    return ListedTokens(source.tokens or [], boundaries, on_end)


def _below(root: str | None, path: str) -> Path:
    """Return a path below the root; UnusableFile for one that is not plain or that leads out."""
    if root is None or "\x00" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise UnusableFile("not a path below a root")
    try:
        found = Path(root, path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise UnusableFile(str(error)) from None
    if not found.is_relative_to(Path(root).resolve()):
        raise UnusableFile("the path leads out of the root")
    return found


OPERATOR: Final = "Stream.Restore"
LARGEST_CHUNK: Final = 1_048_576  # tokens of the longest chunk that is searched if the data have no end
OUT_OF_SYNC: Final = "Model and stream are out of sync. Cannot resume."


class StreamModelMismatch(ContractFailure):
    """Model and stream were saved at different pulses (requirement S26)."""

    def __init__(self, stream_pulse: int, model_pulse: int) -> None:
        super().__init__(
            "STREAM_MODEL_MISMATCH",
            {
                "failure_code": "STREAM_MODEL_MISMATCH",
                "failure_operator": OPERATOR,
                "stream_pulse": stream_pulse,
                "model_pulse": model_pulse,
                "message": OUT_OF_SYNC,
            },
        )
        self.stream_pulse = stream_pulse
        self.model_pulse = model_pulse
        self.message = OUT_OF_SYNC


@dataclass(frozen=True, slots=True)
class Restored:
    """Hold the model's state, the stream, and whether the source was compared with the content hash."""

    model: Model
    stream: ContextStream
    content_checked: bool


def restore_checkpoint(
    source: SourceDeclaration | TokenSource,
    root: str,
    name: str,
    *,
    rank: int = 0,
    world_size: int = 1,
    cms_frequencies: Sequence[int] = (1,),
    start: Start = "continue",
) -> Restored:
    """Restore what `save_checkpoint` wrote, judging in the order of ruling SA12 and changing nothing before.

    `start` warm takes the model alone and begins the source at 0, foreign takes the cursor's place too, for another
    source or other ranks; ids begin anew then, the pulse goes on, and the cursor is not compared (ruling SA24).
    CONTRACT_VIOLATION for what is no checkpoint, or a source that cannot be opened; CURSOR_MISSING,
    STREAM_MODEL_MISMATCH, DATASET_MISMATCH, CONFIG_MISMATCH, POSITION_OUT_OF_BOUNDS, CONTENT_MISMATCH (requirements
    S25-S29; rulings SA12-SA16, SA18).
    """
    opened = _read(root, name)
    if opened.stream_cursor is None:
        raise default_failure("CURSOR_MISSING", OPERATOR)
    cursor = read_cursor(opened.stream_cursor)
    if cursor is None:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR)
    if cursor.pulse_id != opened.model.pulse_id:
        raise StreamModelMismatch(cursor.pulse_id, opened.model.pulse_id)
    tokens = _open(source, root)
    stream = ContextStream(tokens, rank=rank, world_size=world_size, cms_frequencies=cms_frequencies)
    if start != "continue":
        return Restored(opened.model, _begun(stream, cursor, start), content_checked=False)
    if cursor.total_tokens != tokens.total_tokens:
        raise default_failure("DATASET_MISMATCH", OPERATOR)
    pass_number = _pass_of(cursor)
    if (cursor.rank, cursor.world_size) != (rank, world_size) or tokens.rng_state(pass_number) != cursor.rng_state:
        raise default_failure("CONFIG_MISMATCH", OPERATOR)
    if cursor.chunk_id > 0 and (cursor.chunk_id - 1) % world_size != rank:
        raise default_failure("CONFIG_MISMATCH", OPERATOR)
    if not _is_within(cursor.dataset_index, tokens):
        raise default_failure("POSITION_OUT_OF_BOUNDS", OPERATOR)
    if tokens.is_seekable and not _has_content(cursor, tokens, pass_number):
        raise default_failure("CONTENT_MISMATCH", OPERATOR)
    if not stream.resume(cursor, pass_number):
        raise default_failure("POSITION_OUT_OF_BOUNDS", OPERATOR)
    return Restored(opened.model, stream, tokens.is_seekable)


def _begun(stream: ContextStream, cursor: StreamCursor, start: Start) -> ContextStream:
    """Return a stream that has served nothing yet, at 0 or at a cursor's place, with the cursor's pulse."""
    pass_number, place = (_pass_of(cursor), cursor.dataset_index) if start == "foreign" else (0, 0)
    begun = StreamCursor(
        dataset_index=place,
        chunk_id=0,
        pulse_id=cursor.pulse_id,
        content_hash=0,
        last_chunk_start=0,
        last_chunk_len=0,
        rank=cursor.rank,
        world_size=cursor.world_size,
    )
    if not _is_within(place, stream.source) or not stream.resume(begun, pass_number):
        raise default_failure("POSITION_OUT_OF_BOUNDS", OPERATOR)
    return stream


def _read(root: str, name: str) -> OpenedCheckpoint:
    try:
        return open_checkpoint(read_file(root, name, BEGINNING))
    except (UnusablePlace, Unreadable):
        raise default_failure("CONTRACT_VIOLATION", OPERATOR) from None


def _open(source: SourceDeclaration | TokenSource, root: str) -> TokenSource:
    if not isinstance(source, SourceDeclaration):
        return source
    try:
        return open_source(source, root)
    except UnusableFile:
        raise default_failure("CONTRACT_VIOLATION", OPERATOR) from None


def _pass_of(cursor: StreamCursor) -> int:
    """Return the pass that the random state says, 0 where it says none."""
    try:
        state = decode_canonical(cursor.rng_state) if cursor.rng_state is not None else None
    except NotCanonical:
        return 0
    if not isinstance(state, list) or len(state) != 2 or type(state[1]) is not int or state[1] < 0:
        return 0
    return state[1]


def _is_within(position: int, tokens: TokenSource) -> bool:
    """Tell whether a stream can be at a position (ruling SA14)."""
    total = tokens.total_tokens
    if total is None or position == 0:
        return True
    return position < total if tokens.on_end == "wrap" else position <= total


def _has_content(cursor: StreamCursor, tokens: TokenSource, pass_number: int) -> bool:
    """Tell whether the source still has the last chunk, in the cursor's pass or one that the last round was in.

    A round has at most as many wraps as ranks, so that the chunk may be so many passes earlier.
    """
    if tokens.total_tokens is None and cursor.last_chunk_len > LARGEST_CHUNK:
        return False
    passes = range(pass_number, max(0, pass_number - cursor.world_size) - 1, -1)
    return any(_hash_in(cursor, tokens, number) == cursor.content_hash for number in passes)


def _hash_in(cursor: StreamCursor, tokens: TokenSource, pass_number: int) -> int | None:
    start, end = cursor.last_chunk_start, cursor.last_chunk_start + cursor.last_chunk_len
    if tokens.reach(pass_number, end) < end:
        return None
    return content_hash(tokens.read(pass_number, start, end))
