"""The seam between a dataset's text and its tokens."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Protocol


class Tokenizer(Protocol):
    """Turn text into tokens and back."""

    vocab_size: int

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens."""


class CharTokenizer:
    """Number the characters of a text, sorted, and extra tokens behind them."""

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
