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
        self._draw(pass_number, 0, wanted)
        return min(wanted, self._held.end)

    def is_over(self, pass_number: int, index: int) -> bool:
        """Tell whether no token of a pass stands at an index or after it, by trying to draw one."""
        self._draw(pass_number, 0, index + 1)
        return self._held.end <= index

    def read(self, pass_number: int, start: int, end: int) -> list[int]:
        """Return the tokens in [start, end) and forget all before `end`; from before that the iterator begins anew."""
        self._draw(pass_number, start, end)
        tokens = self._held.between(start, end)
        self._held.forget(end)
        return tokens

    def crosses(self, pass_number: int, start: int, end: int) -> bool:
        """Tell whether a document ends within [start, end); to be asked before those tokens are read."""
        return (start < end and self.is_over(pass_number, end)) or self._held.breaks(start, end)

    def rng_state(self, pass_number: int) -> None:
        """Return nothing: the iterator's order is its own."""
        return

    def restart(self, index: int) -> None:
        """Begin the current pass anew."""
        self._begin(self._pass)

    def resume(self, pass_number: int, index: int) -> None:
        """Draw and forget all tokens before an index."""
        self._draw(pass_number, index, index)

    def _begin(self, pass_number: int) -> None:
        self._pass = pass_number
        self._documents: Iterator[Sequence[int]] = iter(self._open())
        self._held = HeldTokens()

    def _draw(self, pass_number: int, start: int, end: int) -> None:
        if pass_number != self._pass or (start and start < self._held.start):
            self._begin(pass_number)
        while self._held.end < end:
            # Far ahead of what is asked for, as after a restore, nothing is worth holding.
            if start >= self._held.end:
                self._held.forget(self._held.end)
            try:
                self._held.add(next(self._documents))
            except StopIteration:
                return


def huggingface_documents(path: str, *, column: str = "input_ids", **options: Any) -> OpenDocuments:
    """Return the rows of a HuggingFace dataset in streaming mode, one column of tokens each; needs `datasets`."""
    datasets = importlib.import_module("datasets")

    def documents() -> Iterator[Sequence[int]]:
        for row in datasets.load_dataset(path, streaming=True, **options):
            yield row[column]

    return documents
