"""Sources of tokens for people: lists, arrays, files and iterators, judged when they are made and when tokens come."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from impl.arguments import MAX_UINT64, Judge, shown
from impl.failure import WrongType
from impl.library.token_chunk import token_array
from impl.reference.stream import iterator_tokens, token_file, token_sources
from impl.reference.stream.token_sources import OnEnd, TokenSource

# One document: a list, an array or a tensor of token ids.
Document: TypeAlias = Sequence[int] | NDArray[Any]
OpenArrays: TypeAlias = Callable[[], Iterable[NDArray[np.uint32]]]

_OPEN: Final = Judge("Stream.Open")
_NEXT: Final = Judge("Stream.NextChunk")
_ENDS: Final = ("wrap", "stop")
_SOURCE: Final = "a token source, such as tallystick.stream.TokenFile(path) or ListedTokens(tokens)"


class ListedTokens(token_sources.ListedTokens):
    """Serve the tokens of a list or of a one-dimensional array of integers from 0 to 2^32 - 1.

    `boundaries` are the token offsets at which documents end, in ascending order; `on_end` is wrap (begin again) or
    stop. Raises ContractFailure with CONTRACT_VIOLATION. Source: seed 003 §Token sources; rulings SA04, SA09.

    >>> from tallystick.stream import ListedTokens
    >>> ListedTokens([5, 6, 7, 8], boundaries=[2]).read(0, 1, 3)
    [6, 7]
    """

    def __init__(
        self, tokens: Iterable[SupportsIndex], boundaries: Iterable[SupportsIndex] = (), on_end: OnEnd = "wrap"
    ) -> None:
        self._array = token_array(_OPEN, "tokens", tokens)
        token_sources.FixedTokens.__init__(self, len(self._array), _boundaries(boundaries), _on_end(on_end))

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end) as a list."""
        found: list[int] = self._array[start:end].tolist()
        return found

    def read_array(self, pass_number: int, start: int, end: int) -> NDArray[np.uint32]:
        """Return the tokens in [start, end) as an array of their own."""
        return self._array[start:end].copy()


class TokenFile(token_file.TokenFile):
    """Serve the tokens of a file through a memory map; the file must not change while it is open.

    `path` ends in .npy (a one-dimensional array of uint16 or uint32) or is a raw file of little-endian words, whose
    `dtype` is u16 or u32. `boundaries` and `on_end` are those of ListedTokens. Raises ContractFailure with
    CONTRACT_VIOLATION. Source: seed 003 §Token sources; requirement S15.

    >>> import tempfile, pathlib, numpy
    >>> from tallystick.stream import TokenFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.save(pathlib.Path(folder, "words.npy"), numpy.arange(8, dtype=numpy.uint16))
    ...     TokenFile(f"{folder}/words.npy").read(0, 2, 5)
    [2, 3, 4]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dtype: Literal["u16", "u32"] | None = None,
        boundaries: Iterable[SupportsIndex] = (),
        on_end: OnEnd = "wrap",
        *,
        is_array: bool | None = None,
    ) -> None:
        file = _OPEN.path("path", path)
        if dtype is not None:
            _OPEN.choice("dtype", dtype, tuple(token_file.TYPE_CODES))
        if is_array is not None:
            is_array = _OPEN.truth("is_array", is_array)
        try:
            super().__init__(file, dtype, _boundaries(boundaries), _on_end(on_end), is_array=is_array)
        except token_file.UnusableFile as reason:
            raise _OPEN.failure(f"path must be a token file that can be read: got {str(file)!r}, {reason}") from None

    def read_array(self, pass_number: int, start: int, end: int) -> NDArray[np.uint32]:
        """Return the tokens in [start, end) as an array of their own."""
        words: NDArray[Any] = np.frombuffer(self.words(start, end), dtype=f"<u{self._width}")
        return words.astype(np.uint32)


class InterleavedTokens(token_sources.InterleavedTokens):
    """Serve 256 tokens of a part after the other: turn k is that of part pattern[k mod len(pattern)].

    `parts` are finite sources, `pattern` their places, from 0. Raises ContractFailure with CONTRACT_VIOLATION. Source:
    seed 003 §Token sources; requirement S17.

    >>> from tallystick.stream import InterleavedTokens, ListedTokens
    >>> both = InterleavedTokens([ListedTokens([1] * 256), ListedTokens([2] * 256)], pattern=[0, 1])
    >>> both.read(0, 254, 258)
    [1, 1, 2, 2]
    """

    def __init__(
        self, parts: Sequence[TokenSource], pattern: Iterable[SupportsIndex], on_end: OnEnd = "wrap"
    ) -> None:
        parts = [require_source(part, f"parts[{place}]") for place, part in enumerate(parts)]
        if not parts:
            raise _OPEN.failure("parts must be one source or more: got none")
        turns = _OPEN.integers("pattern", pattern, 0, len(parts) - 1)
        if not turns:
            raise _OPEN.failure("pattern must name one part or more: got none; [0] is the first one alone")
        for place, part in enumerate(parts):
            _finite(part, f"parts[{place}]")
        super().__init__(parts, turns, _on_end(on_end))


class ShuffledTokens(token_sources.ShuffledTokens):
    """Serve the slices of 256 tokens of a finite source in an order that the seed draws, another one in every pass.

    `seed` is 16 bytes. Raises ContractFailure with CONTRACT_VIOLATION. Source: seed 003 §Token sources; requirement
    S29.

    >>> from tallystick.stream import ListedTokens, ShuffledTokens
    >>> source = ShuffledTokens(ListedTokens(range(1024)), seed=bytes(range(16)))
    >>> source.read(0, 0, 2), source.read(1, 0, 2)
    ([0, 1], [512, 513])
    """

    def __init__(self, part: TokenSource, seed: bytes, on_end: OnEnd = "wrap") -> None:
        _finite(require_source(part, "part"), "part")
        super().__init__(part, _OPEN.octets("seed", seed, 16), _on_end(on_end))


class IteratorTokens(iterator_tokens.IteratorTokens):
    """Serve the documents of an iterator in their order; it holds one call's tokens and one document more.

    `open_documents` is a function without arguments that begins anew and gives the documents, each a list, an array or
    a tensor of integers from 0 to 2^32 - 1. Each is judged when it comes: a wrong one is refused by its number and
    place, and the stream stays where it was. Raises ContractFailure with CONTRACT_VIOLATION. Source: seed 003 §Token
    sources; requirement S16.

    >>> from tallystick.stream import IteratorTokens
    >>> IteratorTokens(lambda: iter([[1, 2], [3]]), on_end="stop").read(0, 0, 3)
    [1, 2, 3]
    """

    def __init__(self, open_documents: Callable[[], Iterable[Document]], on_end: OnEnd = "wrap") -> None:
        judged = _judged(open_documents)
        super().__init__(lambda: (document.tolist() for document in judged()), _on_end(on_end))


def prefetched(open_documents: Callable[[], Iterable[Document]], most_tokens: SupportsIndex) -> OpenArrays:
    """Return a function that begins the same documents, read ahead and judged in a thread of their own.

    The thread rests while it holds `most_tokens` or more, so that it never holds more than that and one document. An
    error of the iterator, or a wrong document, is raised where that document would have come. Raises ContractFailure
    with CONTRACT_VIOLATION. Source: requirement S34.

    >>> from tallystick.stream import IteratorTokens, prefetched
    >>> ahead = prefetched(lambda: iter([[1, 2], [3]]), most_tokens=1000)
    >>> IteratorTokens(ahead, on_end="stop").read(0, 0, 3)
    [1, 2, 3]
    """
    most = _OPEN.integer("most_tokens", most_tokens, 1)
    found: Any = iterator_tokens.prefetched(_judged(open_documents), most)  # type: ignore[arg-type]  # arrays have all it asks
    opened: OpenArrays = found
    return opened


def huggingface_documents(
    path: str, *, column: str = "input_ids", **options: Any
) -> Callable[[], Iterator[Document]]:
    """Return a function that begins the rows of a HuggingFace dataset in streaming mode, one column of tokens each.

    `options` go to `datasets.load_dataset`; the package `datasets` must be installed. Raises ContractFailure with
    CONTRACT_VIOLATION where a row has no such column. Source: seed 003 §Data Sources; requirement S16.
    """
    rows = iterator_tokens.huggingface_rows(_OPEN.text("path", path), **options)
    name = _OPEN.text("column", column)

    def documents() -> Iterator[Document]:
        for row in rows():
            if name not in row:
                raise _NEXT.failure(f"column must be one of the dataset's, {sorted(row)}: got {name!r}")
            yield row[name]

    return documents


def _judged(open_documents: Callable[[], Iterable[Document]]) -> OpenArrays:
    """Return a function that begins the documents anew, each as an array that was judged."""
    if not callable(open_documents):
        what = f"open_documents must be a function that begins the documents anew: got {shown(open_documents)}"
        raise _OPEN.failure(f"{what}; for a list write `lambda: iter(documents)`", WrongType)
    return lambda: (
        token_array(_NEXT, f"documents[{number}]", document) for number, document in enumerate(open_documents())
    )


class InteractiveTokens(iterator_tokens.InteractiveTokens):
    """Serve pushed tokens once; what has been read is forgotten.

    Raises ContractFailure with CONTRACT_VIOLATION. Source: seed 003 §Token sources; requirement S18.

    >>> from tallystick.stream import InteractiveTokens
    >>> typed = InteractiveTokens()
    >>> typed.push([1, 2, 3], boundary=True)
    >>> typed.read(0, 0, 2)
    [1, 2]
    """

    def push(self, tokens: Iterable[SupportsIndex], boundary: bool) -> None:
        """Add tokens; `boundary` says that the conversation breaks after the last one."""
        judge = Judge("Stream.Push")
        given = token_array(judge, "tokens", tokens).tolist()
        try:
            super().push(given, judge.truth("boundary", boundary))
        except iterator_tokens.InputEnded:
            what = f"tokens must come before end_input: got {len(given)} after it; open another InteractiveTokens"
            raise judge.failure(what) from None


def require_source(source: Any, name: str) -> TokenSource:
    """Return a token source; ContractFailure with CONTRACT_VIOLATION."""
    if isinstance(source, type) or not all(hasattr(source, wanted) for wanted in ("reach", "read", "total_tokens")):
        raise _OPEN.failure(f"{name} must be {_SOURCE}: got {shown(source)}", WrongType)
    found: TokenSource = source
    return found


def _finite(source: TokenSource, name: str) -> None:
    if source.total_tokens is None:
        raise _OPEN.failure(f"{name} must be a finite source: got {shown(source)}, whose end is not known")


def _on_end(on_end: OnEnd) -> OnEnd:
    return "stop" if _OPEN.choice("on_end", on_end, _ENDS) == "stop" else "wrap"


def _boundaries(boundaries: Iterable[SupportsIndex]) -> list[int]:
    found = _OPEN.integers("boundaries", boundaries, 0, MAX_UINT64)
    if found != sorted(found):
        raise _OPEN.failure(f"boundaries must ascend: got {shown(boundaries)} that does not; sort them")
    return found
