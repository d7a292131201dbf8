"""Tokens that only come one after the other: any Python iterator, or a HuggingFace dataset in streaming mode."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from impl.reference.stream.held_tokens import HeldTokens
from impl.reference.stream.token_source import OnEnd

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
        """Tell whether no token of a pass stands at an index or after it, by trying to draw one."""
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
        """Draw and forget all tokens before an index; False where a stream cannot stand there (ruling SA14)."""
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
        """Hold what there is in [start, end), or from where it holds tokens to `end`."""
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
    datasets = importlib.import_module("datasets")

    def documents() -> Iterator[Sequence[int]]:
        for row in datasets.load_dataset(path, streaming=True, **options):
            yield row[column]

    return documents
