"""Context streams for people: sources from lists and files, checkpoints in any folder, refusals in sentences."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from impl.arguments import MAX_UINT32, Judge, shown
from impl.failure import ContractFailure
from impl.library.token_chunk import TokenChunk, token_array
from impl.library.token_sources import InteractiveTokens, IteratorTokens, require_source
from impl.reference.stream import context_stream, restore, stream_checkpoint, token_file
from impl.reference.stream.context_stream import Place, StreamCursor, read_cursor
from impl.reference.stream.token_sources import TokenSource
from impl.types import uint64

_OPEN: Final = Judge("Stream.Open")
_NEXT: Final = Judge(context_stream.NEXT_CHUNK)
_STARTS: Final = ("continue", "warm", "foreign")
_REST: Final = 1024  # bytes of a checkpoint beside the model's state, at most
_NAME: Final = "name must be one file name of 1 to 240 bytes without '/'"


@dataclass(frozen=True, slots=True)
class Model(stream_checkpoint.Model):
    """Hold the pulse of a model, an integer from 0 to 2^64 - 1, and its state as bytes, which only it understands.

    Raises ContractFailure with CONTRACT_VIOLATION. Source: seed 003 §Coupling.

    >>> from tallystick.stream import Model
    >>> Model(pulse_id=7, state=b"weights")
    Model(pulse_id=7, state=b'weights')
    """

    pulse_id: uint64
    state: bytes

    def __post_init__(self) -> None:
        """Keep a plain integer and plain bytes."""
        judge = Judge("Stream.Checkpoint")
        object.__setattr__(self, "pulse_id", judge.integer("pulse_id", self.pulse_id))
        object.__setattr__(self, "state", judge.octets("state", self.state))


class ContextStream(context_stream.ContextStream):
    """Serve the tokens of a source chunk by chunk, each once, to one of several ranks.

    `source` is one of tallystick.stream. In a round every rank asks for the same number of tokens: rank r skips r
    chunks, serves one and skips the rest. `cms_frequencies` are the numbers of tokens after which the model's levels
    fire, the fastest first; a chunk is not smaller than the first. A step is `next_chunk`, then `advance`. A model that
    has a pulse already begins warm: `advance(pulse_id)` before the first chunk.

    Raises ContractFailure: CONTRACT_VIOLATION, CHUNK_TOO_SMALL, STEP_OPEN, COUNTER_OVERFLOW. Source: seed 003 §Stream;
    contract `Stream`.

    >>> import tallystick
    >>> from tallystick.stream import ListedTokens
    >>> stream = tallystick.ContextStream(ListedTokens(range(100)), cms_frequencies=[1, 8])
    >>> stream.next_chunk(4)
    TokenChunk(tokens=array([0, 1, 2, 3], dtype=uint32), chunk_id=1, document_boundary=False)
    >>> stream.advance(1)
    >>> stream.position()
    4
    """

    def __init__(
        self,
        source: TokenSource,
        *,
        rank: SupportsIndex = 0,
        world_size: SupportsIndex = 1,
        cms_frequencies: Iterable[SupportsIndex] = (1,),
    ) -> None:
        ranks, frequencies = _ranks(_OPEN, rank, world_size), _frequencies(_OPEN, cms_frequencies)
        tokens = require_source(source, "source")
        super().__init__(tokens, rank=ranks[0], world_size=ranks[1], cms_frequencies=frequencies)

    def next_chunk(self, chunk_size: SupportsIndex) -> TokenChunk | None:
        """Return the rank's chunk of the next round and open a step, None where the data have ended.

        A chunk is shorter than asked only at the end of the data. Raises CHUNK_TOO_SMALL, STEP_OPEN, COUNTER_OVERFLOW,
        and CONTRACT_VIOLATION for tokens that are none; then the stream stays where it was.
        """
        size = _NEXT.integer("chunk_size", chunk_size)
        first = self.cms_frequencies[0]
        with saying(
            {
                "CHUNK_TOO_SMALL": f"chunk_size must be at least the first of cms_frequencies, {first}: got {size}",
                "STEP_OPEN": "next_chunk must come after advance: got an open step; call advance(pulse_id) first",
                "COUNTER_OVERFLOW": f"the next position must have 64 bits: got a chunk_size of {size} after position "
                f"{self.position()}; call reset or open a new stream",
            }
        ):
            return cast("TokenChunk | None", super().next_chunk(size))

    def cursor(self) -> StreamCursor:
        """Return the position of the stream; only here the content is hashed."""
        self._last_tokens = np.asarray(self._last_tokens).tolist()
        return super().cursor()

    def _read(self, own: Place, end: int, chunk_id: int) -> TokenChunk:
        boundary = self.source.crosses(own.pass_number, own.index, end)
        return TokenChunk(_tokens_of(self.source, own, end), chunk_id, boundary)

    def _remember(self, start: int, chunk: context_stream.TokenChunk) -> None:
        super()._remember(start, chunk)
        # The array in the chunk is the caller's, who may change it.
        self._last_tokens = np.array(chunk.tokens)  # type: ignore[assignment]  # `cursor` makes a list of it

    def advance(self, pulse_id: SupportsIndex) -> None:
        """End the step: what was observed so far belongs to a pulse, an integer from 0 to 2^64 - 1."""
        super().advance(Judge("Stream.Advance").integer("pulse_id", pulse_id))


@dataclass(frozen=True, slots=True)
class Restored:
    """Hold the model's state, the stream, and whether the source was compared with the content hash."""

    model: Model
    stream: ContextStream
    content_checked: bool


def save_checkpoint(stream: ContextStream, folder: str | os.PathLike[str], name: str, model: Model) -> None:
    """Write the model's state and the stream's cursor as one file, in one atomic operation.

    `folder` exists and may be relative; `name` is the file in it, which is replaced. After a crash it is the old one or
    the new one. Raises ContractFailure: CHECKPOINT_MID_STEP between a chunk and its advance, CONTRACT_VIOLATION for a
    place that cannot hold a file; OSError of the disk. Source: seed 003 §Coupling; contract `Stream` (Checkpoint).

    >>> import tallystick, tempfile
    >>> from tallystick.stream import ListedTokens, Model
    >>> stream = tallystick.ContextStream(ListedTokens(range(100)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tallystick.save_checkpoint(stream, folder, "latest", Model(pulse_id=0, state=b"weights"))
    """
    judge = Judge(stream_checkpoint.OPERATOR)
    judge.instance("stream", stream, context_stream.ContextStream, "a ContextStream")
    judge.instance("model", model, stream_checkpoint.Model, "a tallystick.stream.Model")
    root, name = judge.folder("folder", folder), judge.text("name", name)
    if len(model.state) > token_file.LARGEST_FILE - _REST:
        most = f"model.state must have at most {token_file.LARGEST_FILE - _REST} bytes: got {len(model.state)}"
        raise judge.failure(f"{most}; keep the weights in a file of their own, and its hash in the state")
    with saying(
        {
            "CHECKPOINT_MID_STEP": "a checkpoint must come between two steps: got one in the middle; call "
            "stream.advance(pulse_id) first",
            "CONTRACT_VIOLATION": f"{_NAME}, and no folder's: got {shown(name)}",
        }
    ):
        stream_checkpoint.save_checkpoint(stream, root, name, model)


def restore_checkpoint(
    source: TokenSource,
    folder: str | os.PathLike[str],
    name: str,
    *,
    rank: SupportsIndex = 0,
    world_size: SupportsIndex = 1,
    cms_frequencies: Iterable[SupportsIndex] = (1,),
    start: restore.Start = "continue",
) -> Restored:
    """Return the model and the stream that `save_checkpoint` wrote; nothing changes where they do not fit together.

    `source` is opened anew over the same data; `rank` and `world_size` are those of the saved stream. Other data or
    other ranks must be asked for: `start` is continue, warm (the model alone; the source from its first token) or
    foreign (the model, and the cursor's place in this source and for these ranks). Then ids begin anew, the pulse goes
    on, and the tokens are not compared. A file of more than 4 GiB is refused unread.

    Raises ContractFailure: CONTRACT_VIOLATION for what is no checkpoint, CURSOR_MISSING, STREAM_MODEL_MISMATCH,
    DATASET_MISMATCH, CONFIG_MISMATCH, POSITION_OUT_OF_BOUNDS, CONTENT_MISMATCH. Source: seed 003 §Coupling; rulings
    SA12, SA23, SA24.

    >>> import tallystick, tempfile
    >>> from tallystick.stream import ListedTokens, Model
    >>> stream = tallystick.ContextStream(ListedTokens(range(100)))
    >>> _ = stream.next_chunk(4), stream.advance(1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tallystick.save_checkpoint(stream, folder, "latest", Model(pulse_id=1, state=b"weights"))
    ...     restored = tallystick.restore_checkpoint(ListedTokens(range(100)), folder, "latest")
    >>> restored.model.state, restored.stream.next_chunk(4).tokens.tolist(), restored.content_checked
    (b'weights', [4, 5, 6, 7], True)
    """
    judge = Judge(restore.OPERATOR)
    root, name = judge.folder("folder", folder), judge.text("name", name)
    ranks, frequencies = _ranks(judge, rank, world_size), _frequencies(judge, cms_frequencies)
    tokens = require_source(source, "source")
    judge.choice("start", start, _STARTS)
    try:
        found = restore.restore_checkpoint(
            tokens, root, name, rank=ranks[0], world_size=ranks[1], cms_frequencies=frequencies, start=start
        )
    except ContractFailure as failure:
        raise failure.saying(_why(failure, tokens, root, name, ranks)) from None
    stream = ContextStream(tokens, rank=ranks[0], world_size=ranks[1], cms_frequencies=frequencies)
    # The stream that was restored, as one of this class.
    vars(stream).update(vars(found.stream))
    return Restored(Model(found.model.pulse_id, found.model.state), stream, found.content_checked)


def _why(failure: ContractFailure, tokens: TokenSource, root: str, name: str, ranks: tuple[int, int]) -> str:
    """Say why a checkpoint was refused, from what is in it."""
    file = str(Path(root) / name)
    try:
        opened = stream_checkpoint.open_checkpoint(token_file.read_file(root, name, stream_checkpoint.BEGINNING))
    except token_file.TooLarge as reason:
        return f"the checkpoint must have at most {token_file.LARGEST_FILE} bytes: got {file!r} with {reason}"
    except token_file.UnusablePlace:
        return f"{_NAME} of a checkpoint in {root!r}: got {shown(name)}, and there is no such file"
    except stream_checkpoint.Unreadable as reason:
        return f"the checkpoint must be whole: got {file!r} with {reason}; restore an earlier one"
    cursor = read_cursor(opened.stream_cursor)
    if failure.code == "CURSOR_MISSING":
        return f"the checkpoint must hold a cursor: got a model alone in {file!r}; write it with save_checkpoint"
    if cursor is None:
        return f"the checkpoint must hold a well-typed cursor: got another one in {file!r}; restore an earlier one"
    return _mismatch(failure.code, cursor, opened.model.pulse_id, tokens, ranks)


def _mismatch(code: str, cursor: StreamCursor, pulse: int, tokens: TokenSource, ranks: tuple[int, int]) -> str:
    saved, total = (cursor.rank, cursor.world_size), tokens.total_tokens
    match code:
        case "STREAM_MODEL_MISMATCH":
            return f"stream and model must be of one pulse: got {cursor.pulse_id} and {pulse}; restore another one"
        case "DATASET_MISMATCH":
            said = f"source must have as many tokens as the saved one, {cursor.total_tokens}: got {total}"
            return f"{said}; for other data say start='warm' or start='foreign'"
        case "CONFIG_MISMATCH" if saved != ranks:
            said = f"rank and world_size must be those of the checkpoint, {saved[0]} of {saved[1]}"
            return f"{said}: got {ranks[0]} of {ranks[1]}; restore with as many ranks as saved, or start='foreign'"
        case "CONFIG_MISMATCH":
            return "source must have the order of the saved one: got another; open it with the same kind and seed"
        case "POSITION_OUT_OF_BOUNDS":
            said = f"the cursor's dataset_index must be a place in source, which has {total} tokens"
            return f"{said}: got {cursor.dataset_index}; open the source with the saved on_end"
        case _:
            start, end = cursor.last_chunk_start, cursor.last_chunk_start + cursor.last_chunk_len
            said = f"the tokens {start} to {end} of source must be those of the last chunk: got others"
            return f"{said}; open the data that the checkpoint was made with"


def firing_counts(
    *,
    clock: SupportsIndex,
    chunk_size: SupportsIndex,
    cms_frequencies: Iterable[SupportsIndex],
    variant: Literal["token_clock", "step"] = "token_clock",
) -> list[int]:
    """Return how often each level fires in a chunk, in the order of the frequencies.

    token_clock: `clock` is the number of tokens since open, and a level fires after every so many tokens. step: `clock`
    is the step, and a level counts 1 iff the step is a multiple of its frequency or the chunk has so many tokens.
    Raises ContractFailure: CONTRACT_VIOLATION, CHUNK_TOO_SMALL, COUNTER_OVERFLOW. Source: seed 003 §Stream; contract
    `Stream.FiringCounts`.

    >>> from tallystick.stream import firing_counts
    >>> firing_counts(clock=60, chunk_size=10, cms_frequencies=[1, 8, 64])
    [10, 1, 1]
    """
    judge = Judge(context_stream.OPERATOR)
    size = judge.integer("chunk_size", chunk_size, 1, code="CHUNK_TOO_SMALL")
    now, levels = judge.integer("clock", clock), list(_frequencies(judge, cms_frequencies))
    judge.choice("variant", variant, ("token_clock", "step"))
    with saying({"COUNTER_OVERFLOW": f"clock and chunk_size together must have 64 bits: got {now} and {size}"}):
        return context_stream.firing_counts(
            clock=now, chunk_size=size, cms_frequencies=levels, variant=variant
        ).counts


def _tokens_of(source: TokenSource, own: Place, end: int) -> NDArray[np.uint32]:
    """Return tokens of a source as an array; those of a source that somebody else wrote are judged here."""
    read_array: Callable[[int, int, int], NDArray[np.uint32]] | None = getattr(source, "read_array", None)
    if read_array is not None:
        return read_array(own.pass_number, own.index, end)
    tokens = source.read(own.pass_number, own.index, end)
    if isinstance(source, IteratorTokens | InteractiveTokens):  # judged when they came
        return np.array(tokens, dtype=np.uint32)
    return token_array(_NEXT, "tokens of source", tokens)


@contextmanager
def saying(sentences: Mapping[str, str]) -> Iterator[None]:
    """Give a refusal from inside the sentence of its code."""
    try:
        yield
    except ContractFailure as failure:
        raise failure.saying(sentences.get(failure.code, "")) from None


def _ranks(judge: Judge, rank: SupportsIndex, world_size: SupportsIndex) -> tuple[int, int]:
    ranks = judge.integer("rank", rank, 0, MAX_UINT32), judge.integer("world_size", world_size, 1, MAX_UINT32)
    if ranks[0] >= ranks[1]:
        raise judge.failure(f"rank must be below world_size: got {ranks[0]} of {ranks[1]}")
    return ranks


def _frequencies(judge: Judge, given: Iterable[SupportsIndex]) -> tuple[int, ...]:
    found = judge.integers("cms_frequencies", given, 1)
    if not found:
        raise judge.failure("cms_frequencies must name one level or more: got none; [1] fires after every token")
    return tuple(found)
