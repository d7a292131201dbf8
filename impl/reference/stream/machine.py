"""The machine `Stream`: context streams by their handles."""

from dataclasses import dataclass
from typing import Final

from impl.failure import default_failure
from impl.reference.stream.context_stream import (
    ContextStream,
    StreamCursor,
    TokenChunk,
    Warning,
    is_schedule,
    warnings_of,
)
from impl.reference.stream.iterator_tokens import InputEnded, InteractiveTokens
from impl.reference.stream.restore import Start, open_source, restore_checkpoint
from impl.reference.stream.stream_checkpoint import Model, save_checkpoint
from impl.reference.stream.supplied_tokens import ItemWanted, NoSuchPlace, SuppliedTokens
from impl.reference.stream.token_file import SourceDeclaration, UnusableFile, is_complete
from impl.types import uint32, uint64

VIOLATION: Final = "CONTRACT_VIOLATION"


@dataclass(frozen=True, slots=True)
class Done:
    """Say that a method without an answer has run."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Hold the handle of a new stream."""

    handle: str


@dataclass(frozen=True, slots=True)
class Served:
    """Hold a chunk, where there was one, what is unusual about its size, and whether an iterator must go on first."""

    warnings: list[Warning]
    chunk: TokenChunk | None = None
    wants_item: bool | None = None


@dataclass(frozen=True, slots=True)
class Positioned:
    """Hold where the next round begins."""

    position: uint64


@dataclass(frozen=True, slots=True)
class Taken:
    """Hold a cursor."""

    cursor: StreamCursor


@dataclass(frozen=True, slots=True)
class Resumed:
    """Hold the handle of a restored stream, its model, and whether its content was checked."""

    handle: str
    model: Model
    content_checked: bool


class StreamMachine:
    """Hold the streams that are open; each method fails with CONTRACT_VIOLATION for a handle that is none of theirs."""

    def __init__(self) -> None:
        self._streams: dict[str, ContextStream] = {}
        self._opened = 0

    def open(
        self,
        *,
        source: SourceDeclaration,
        rank: uint32,
        world_size: uint32,
        cms_frequencies: list[uint64],
        root: str | None = None,
    ) -> Opened:
        """Open a stream at 0 with pulse 0; CONTRACT_VIOLATION for what no stream can be opened over."""
        _require_sound(source, rank, world_size, cms_frequencies, "Stream.Open")
        try:
            tokens = open_source(source, root)
        except UnusableFile:
            raise default_failure(VIOLATION, "Stream.Open") from None
        return Opened(
            self._keep(ContextStream(tokens, rank=rank, world_size=world_size, cms_frequencies=cms_frequencies))
        )

    def next_chunk(self, *, handle: str, chunk_size: uint64) -> Served:
        """Serve the next chunk, or ask for an item and change nothing; CHUNK_TOO_SMALL, STEP_OPEN, COUNTER_OVERFLOW."""
        stream = self._stream(handle, "Stream.NextChunk")
        try:
            chunk = stream.next_chunk(chunk_size)
        except ItemWanted:
            return Served(warnings_of(chunk_size, stream.cms_frequencies), wants_item=True)
        if isinstance(stream.source, SuppliedTokens):
            stream.source.forget(stream.place)
        return Served(warnings_of(chunk_size, stream.cms_frequencies), chunk)

    def advance(self, *, handle: str, pulse_id: uint64) -> Done:
        """End the step at a pulse."""
        self._stream(handle, "Stream.Advance").advance(pulse_id)
        return Done()

    def reset(self, *, handle: str) -> Done:
        """Go to 0 for a new context."""
        self._stream(handle, "Stream.Reset").reset()
        return Done()

    def position(self, *, handle: str) -> Positioned:
        """Return where the next round begins."""
        return Positioned(self._stream(handle, "Stream.Position").position())

    def cursor(self, *, handle: str) -> Taken:
        """Return the cursor."""
        return Taken(self._stream(handle, "Stream.Cursor").cursor())

    def push(self, *, handle: str, tokens: list[uint32], boundary: bool) -> Done:
        """Add tokens to an interactive source; CONTRACT_VIOLATION for any other, or after its end."""
        try:
            self._interactive(handle, "Stream.Push").push(tokens, boundary)
        except InputEnded:
            raise default_failure(VIOLATION, "Stream.Push") from None
        return Done()

    def end_input(self, *, handle: str) -> Done:
        """End the input of an interactive source; CONTRACT_VIOLATION for any other."""
        self._interactive(handle, "Stream.EndInput").end_input()
        return Done()

    def supply(self, *, handle: str, tokens: list[uint32]) -> Done:
        """Give the next document of an iterator that was asked for it; CONTRACT_VIOLATION where it was not asked."""
        self._asked(handle, "Stream.Supply").supply(tokens)
        return Done()

    def end_pass(self, *, handle: str) -> Done:
        """End the pass of an iterator that was asked for an item; CONTRACT_VIOLATION, POSITION_OUT_OF_BOUNDS."""
        try:
            self._asked(handle, "Stream.EndPass").end_pass()
        except NoSuchPlace:
            raise default_failure("POSITION_OUT_OF_BOUNDS", "Stream.EndPass") from None
        return Done()

    def checkpoint(self, *, handle: str, root: str, name: str, model: Model) -> Done:
        """Save model and stream in one file; CHECKPOINT_MID_STEP, CONTRACT_VIOLATION for an unusable place."""
        save_checkpoint(self._stream(handle, "Stream.Checkpoint"), root, name, model)
        return Done()

    def restore(
        self,
        *,
        source: SourceDeclaration,
        root: str,
        name: str,
        rank: uint32,
        world_size: uint32,
        cms_frequencies: list[uint64],
        start: Start | None = None,
    ) -> Resumed:
        """Restore model and stream; the failures of `restore_checkpoint`, after which nothing has changed."""
        _require_sound(source, rank, world_size, cms_frequencies, "Stream.Restore")
        restored = restore_checkpoint(
            source,
            root,
            name,
            rank=rank,
            world_size=world_size,
            cms_frequencies=cms_frequencies,
            start=start or "continue",
        )
        return Resumed(self._keep(restored.stream), restored.model, restored.content_checked)

    def close(self, *, handle: str) -> Done:
        """Forget a stream."""
        self._stream(handle, "Stream.Close")
        del self._streams[handle]
        return Done()

    def _keep(self, stream: ContextStream) -> str:
        self._opened += 1
        handle = f"stream-{self._opened}"
        self._streams[handle] = stream
        return handle

    def _stream(self, handle: str, operator: str) -> ContextStream:
        if handle not in self._streams:
            raise default_failure(VIOLATION, operator)
        return self._streams[handle]

    def _interactive(self, handle: str, operator: str) -> InteractiveTokens:
        source = self._stream(handle, operator).source
        if not isinstance(source, InteractiveTokens):
            raise default_failure(VIOLATION, operator)
        return source


    def _asked(self, handle: str, operator: str) -> SuppliedTokens:
        source = self._stream(handle, operator).source
        if not isinstance(source, SuppliedTokens) or not source.is_asked:
            raise default_failure(VIOLATION, operator)
        return source


def _require_sound(
    source: SourceDeclaration, rank: int, world_size: int, cms_frequencies: list[int], operator: str
) -> None:
    if rank >= world_size or not is_schedule(cms_frequencies) or not is_complete(source):
        raise default_failure(VIOLATION, operator)
