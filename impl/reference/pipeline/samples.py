"""The position of one split: the file in hand and its next row."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

from impl.reference.pipeline.provider import FileRandom
from impl.reference.pipeline.refusal import Refusal
from impl.reference.pipeline.sources import LoadedFile, Rows, Source


class Tokenizer(Protocol):
    """Turn text into tokens and back."""

    vocab_size: int

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens."""


class CharTokenizer:
    """Number the sorted characters of a text, then the extra tokens."""

    def __init__(self, text: str, extra: Sequence[str] = ()) -> None:
        self.itos = dict(enumerate([*sorted(set(text)), *extra]))
        self.stoi = {token: number for number, token in self.itos.items()}
        self.vocab_size = len(self.itos)

    def encode(self, text: str) -> list[int]:
        """Return one token for each character; KeyError for one that the first text did not have."""
        return [self.stoi[character] for character in text]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the characters of tokens, extra ones by their names."""
        return "".join(self.itos[token] for token in tokens)


class CachedTokenizer:
    """Remember the tokens of the texts asked for last, at most `most_texts` of them."""

    def __init__(self, tokenizer: Tokenizer, most_texts: int = 1024) -> None:
        self._tokenizer = tokenizer
        self._most_texts = most_texts
        self._known: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self.vocab_size = tokenizer.vocab_size

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text, a list that the caller may change."""
        if text not in self._known:
            self._known[text] = tuple(self._tokenizer.encode(text))
            if len(self._known) > self._most_texts:
                self._known.popitem(last=False)
        self._known.move_to_end(text)
        return list(self._known[text])

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens."""
        return self._tokenizer.decode(tokens)


def require_spans(texts: Iterable[Sequence[int]], block_size: int, target_size: int | None = None) -> None:
    """Refuse sizes that one of the texts is too short for: CONFIG_INVALID, before anything is sampled."""
    fewest = min(len(tokens) for tokens in texts)
    longest = max(block_size, 1 + (block_size if target_size is None else target_size))
    if longest > fewest:
        raise Refusal("CONFIG_INVALID", f"a text of {fewest} tokens has no span of {longest}")


def next_span(
    tokens: Sequence[int], block_size: int, rng: FileRandom, target_size: int | None = None
) -> tuple[list[int], list[int]]:
    """Return a random span and the one that begins one token later, which is `target_size` long (default block_size).

    ValueError where the tokens are too few for one span.
    """
    target_size = block_size if target_size is None else target_size
    starts = 1 + len(tokens) - max(block_size, 1 + target_size)
    if starts < 1:
        raise ValueError(f"{len(tokens)} tokens have no span of {block_size} and what follows it")
    start = rng.below(starts)
    return list(tokens[start : start + block_size]), list(tokens[start + 1 : start + 1 + target_size])


def class_counts(sizes: Sequence[int], count: int) -> list[int]:
    """Share `count` among classes of these sizes: whole shares, then one each to the largest remainders."""
    total = sum(sizes)
    counts = [size * count // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda k: (-(sizes[k] * count % total), k))
    for k in by_remainder[: count - sum(counts)]:
        counts[k] += 1
    return counts


def stratified_indices(labels: Sequence[Hashable], count: int, rng: FileRandom) -> list[int]:
    """Return `count` indices in random order, drawn with replacement inside each class; ValueError without labels."""
    if not labels:
        raise ValueError("there is nothing to draw from")
    members: dict[Hashable, list[int]] = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    classes = list(members.values())
    drawn = [
        chosen[rng.below(len(chosen))]
        for chosen, share in zip(classes, class_counts([len(c) for c in classes], count), strict=True)
        for _ in range(share)
    ]
    for last in range(len(drawn) - 1, 0, -1):
        other = rng.below(last + 1)
        drawn[last], drawn[other] = drawn[other], drawn[last]
    return drawn


IGNORED: Final = -100
_AS_MASK: Final = 0.8
_AS_ANY: Final = 0.9


def mask_tokens(
    tokens: Sequence[int],
    *,
    mask_token_id: int,
    vocab_size: int,
    rng: FileRandom,
    probability: float = 0.15,
    special: Collection[int] = (),
) -> tuple[list[int], list[int]]:
    """Return input ids and labels: each token is chosen with the probability, special ones never.

    Of the chosen, 80 % become the mask, 10 % any token, 10 % stay; labels hold the chosen tokens, else -100.
    """
    input_ids, labels = [], []
    for token in tokens:
        if token in special or rng.random() >= probability:
            input_ids.append(token)
            labels.append(IGNORED)
            continue
        fate = rng.random()
        if fate < _AS_MASK:
            input_ids.append(mask_token_id)
        elif fate < _AS_ANY:
            input_ids.append(rng.below(vocab_size))
        else:
            input_ids.append(token)
        labels.append(token)
    return input_ids, labels


@dataclass(frozen=True, slots=True)
class Position:
    """Hold the file in hand, the batches handed out of it since it was begun, and its next row."""

    file: str
    batch: int
    row: int


class SplitReader:
    """Cut batches out of the files of one source; no batch spans two files (ruling QA08).

    Who looks and then steps on holds `lock` all the while, so that no other thread takes the same batch.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lock = Lock()
        self.batches = 0
        self._file: LoadedFile | None = None
        self._batch = 0
        self._row = 0
        self._stop = 0

    def look(self, batch_size: int) -> list[Rows] | None:
        """Return the next batch, or None if no file exists yet; `advance` goes on to the one after it."""
        self.source.tidy()
        if self._file is None:
            self._file = self.source.take()
            self._batch = self._row = 0
            if self._file is None:
                return None
        rows, self._stop = self._file.batch(self._row, batch_size)
        return rows

    def advance(self) -> None:
        """Go past the current batch; after the last batch of a file the file is released."""
        self.batches += 1
        self._batch += 1
        self._row = self._stop
        if self._file is not None and self._row == self._file.row_count:
            finished, self._file = self._file, None
            self.source.finish(finished)

    def ready(self) -> bool:
        """Tell whether the next look will find a batch."""
        with self.lock:
            self.source.tidy()
            return self._file is not None or self.source.ready()

    def reset(self) -> None:
        """Go back to the first row of the file in hand, or to the first legacy file; nothing is deleted (QA26)."""
        with self.lock:
            self._batch = self._row = 0
            if self.source.reset():
                self._file = None

    def position(self) -> Position | None:
        """Return the position of the split, None between two files."""
        if self._file is None:
            return None
        return Position(file=self._file.name, batch=self._batch, row=self._row)

    def is_of(self, ending: str) -> bool:
        """Tell whether the file in hand has an ending."""
        return self._file is not None and self._file.name.endswith(ending)

    def held(self) -> int:
        """Count the files in memory."""
        return self.source.held(self._file)
