"""Documents read ahead in a thread, within a bound of tokens."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Condition, Thread
from typing import Any, TypeAlias

from impl.reference.stream.token_sources import HeldTokens, OnEnd

# A call begins anew and yields documents, each a sequence of tokens.
OpenDocuments: TypeAlias = Callable[[], Iterable[Sequence[int]]]


class IteratorTokens:
    """Serve the documents of an iterator in their order, holding one call's tokens and one document more (S16)."""

    is_seekable = False
    total_tokens = None

    def __init__(self, open_documents: OpenDocuments, on_end: OnEnd = "wrap") -> None:
        self.on_end: OnEnd = on_end
        self._open = open_documents
        self._begin(0)

    def is_ready(self, wanted: int) -> bool:
        """Tell that reading waits for the iterator."""
        return True

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens of a pass there are, counting no further than `wanted`."""
        self._draw(pass_number, None, wanted)
        return min(wanted, self._held.end)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token of a pass is at an index or after it, by trying to draw one."""
        self._draw(pass_number, None, index + 1)
        return self._held.end <= index

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end) and forget all before `end`; from before that the iterator begins anew."""
        self._draw(pass_number, start, end)
        tokens = self._held.between(start, end)
        self._held.forget(end)
        return tokens

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether a document ends within [start, end); to be asked before those tokens are read."""
        self._draw(pass_number, start, end)
        return (start < end and self.is_over(pass_number, end)) or self._held.breaks(start, end)

    def rng_state(self, pass_number: int) -> None:
        """Return nothing: the iterator's order is its own."""
        return

    def restart(self, index: int) -> None:
        """Begin the current pass anew."""
        self._begin(self._pass)

    def resume(self, pass_number: int, index: int) -> bool:
        """Draw and forget all tokens before an index; False where a stream cannot be there (ruling SA14)."""
        self._draw(pass_number, index, index)
        if index == 0:
            return True
        return self._held.end >= index and not (self.on_end == "wrap" and self.is_over(pass_number, index))

    def _begin(self, pass_number: int, first: int = 0) -> None:
        """Begin anew; no token before `first` will be asked for again."""
        self._pass = pass_number
        self._held = HeldTokens()
        # Whoever fails to begin, or to go on, begins anew: an iterator that has raised looks as if it were over.
        self._broken_at: int | None = first
        self._documents: Iterator[Sequence[int]] = iter(self._open())
        self._broken_at = None

    def _draw(self, pass_number: int, start: int | None, end: int) -> None:
        """Hold the tokens in [start, end), or from where it holds tokens to `end`."""
        first = self._held.start if self._broken_at is None else self._broken_at
        if pass_number != self._pass:
            first = start or 0
            self._begin(pass_number, first)
        elif (start is not None and start < self._held.start) or self._broken_at is not None:
            first = first if start is None else start
            self._begin(pass_number, first)
        elif start is not None:
            first = max(first, start)
        while self._held.end < end:
            # Far ahead of what is asked for, as after a restore, nothing is worth holding.
            if first >= self._held.end:
                self._held.forget(self._held.end)
            try:
                document = next(self._documents)
            except StopIteration:
                return
            except BaseException:
                self._broken_at = first
                raise
            self._held.add(document)


def huggingface_documents(path: str, *, column: str = "input_ids", **options: Any) -> OpenDocuments:
    """Return the rows of a HuggingFace dataset in streaming mode, one column of tokens each; needs `datasets`."""
    rows = huggingface_rows(path, **options)
    return lambda: (row[column] for row in rows())


def huggingface_rows(path: str, **options: Any) -> Callable[[], Iterable[Mapping[str, Any]]]:
    """Return the rows of a HuggingFace dataset in streaming mode, begun anew by each call; needs `datasets`."""
    datasets = importlib.import_module("datasets")
    return lambda: datasets.load_dataset(path, streaming=True, **options)


class InputEnded(Exception):
    """Tokens are pushed into an input that has ended."""


class InteractiveTokens:
    """Serve pushed tokens once; what has been read is forgotten (requirement S18)."""

    is_seekable = False
    total_tokens = None

    def __init__(self) -> None:
        self.on_end: OnEnd = "stop"
        self._waiting = HeldTokens()
        self._has_ended = False

    def push(self, tokens: Sequence[int], boundary: bool) -> None:
        """Add tokens; `boundary` says that the conversation breaks after the last one; InputEnded."""
        if self._has_ended:
            raise InputEnded
        self._waiting.add(tokens, boundary)

    def end_input(self) -> None:
        """Say that no token follows; saying it again changes nothing."""
        self._has_ended = True

    def is_ready(self, wanted: int) -> bool:
        """Tell whether so many tokens were pushed, or the input has ended."""
        return self._has_ended or wanted <= self._waiting.end

    def reach(self, pass_number: int, wanted: int) -> int:
        """Return how many tokens were pushed, counting no further than `wanted`."""
        return min(wanted, self._waiting.end)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether the input has ended before an index."""
        return self._has_ended and index >= self._waiting.end

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end) and forget all before `end`."""
        tokens = self._waiting.between(start, end)
        self._waiting.forget(end)
        return tokens

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether the conversation breaks after a token in [start, end)."""
        return (start < end and self.is_over(pass_number, end)) or self._waiting.breaks(start, end)

    def rng_state(self, pass_number: int) -> None:
        """Return nothing: nothing is drawn."""
        return

    def restart(self, index: int) -> None:
        """Give the first token that was not served the index 0."""
        self._waiting.forget(index)
        self.resume(0, 0)

    def resume(self, pass_number: int, index: int) -> bool:
        """Set the index of the first waiting token; those of the tokens after it follow."""
        self._waiting.renumber(index)
        return True


def prefetched(open_documents: OpenDocuments, most_tokens: int) -> OpenDocuments:
    """Return the same documents, read ahead in a thread of their own (requirement S34).

    The thread rests while it holds `most_tokens` or more, so that it never holds more than that and one document. An
    error of the iterator is raised where its document would have come.
    """

    def documents() -> Iterator[Sequence[int]]:
        reader = _Reader(open_documents, most_tokens)
        try:
            while (document := reader.next_document()) is not None:
                yield document
        finally:
            reader.stop()

    return documents


class _Reader:
    def __init__(self, open_documents: OpenDocuments, most_tokens: int) -> None:
        self._open = open_documents
        self._most = most_tokens
        self._ready: deque[Sequence[int]] = deque()
        self._tokens = 0
        self._error: BaseException | None = None
        self._is_over = self._is_stopped = False
        self._changed = Condition()
        Thread(target=self._run, name="stream-prefetch", daemon=True).start()

    def next_document(self) -> Sequence[int] | None:
        """Return the next document, None after the last; waits for the thread."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._is_over)
            if self._ready:
                document = self._ready.popleft()
                self._tokens -= len(document)
                self._changed.notify_all()
                return document
            if self._error is not None:
                raise self._error
            return None

    def stop(self) -> None:
        """Let the thread end and forget what it holds."""
        with self._changed:
            self._is_stopped = True
            self._ready.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            for document in self._open():
                if not self._take(document):
                    return
        except BaseException as raised:  # SystemExit, too: whoever waits would wait for ever
            error = raised
        with self._changed:
            self._error, self._is_over = error, True
            self._changed.notify_all()

    def _take(self, document: Sequence[int]) -> bool:
        with self._changed:
            self._ready.append(document)
            self._tokens += len(document)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._tokens < self._most or self._is_stopped)
            return not self._is_stopped
