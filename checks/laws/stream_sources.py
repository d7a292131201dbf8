"""Sources of tokens for the laws of streams: the same tokens as a list, as files, as a part, as an input and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from conformance.trial.law import derived_bytes, derived_number, must

Source = Mapping[str, Any]

INPUT: Final[Source] = {"kind": "interactive", "on_end": "stop"}
ITERATOR: Final = "iterator"
_TOKENS: Final = 2**16  # tokens have 16 bits


class Documents:
    """The items of an iterator, pass after pass; it gives no more of them than so many passes have."""

    def __init__(self, documents: Sequence[Sequence[int]], passes: int) -> None:
        self._coming = [item for _ in range(passes) for item in (*documents, None)]

    def next(self) -> Sequence[int] | None:
        """The next document, None where a pass ends."""
        must(bool(self._coming), "the stream asks for items beyond the passes that the law reads")
        return self._coming.pop(0)


def corpus(length: int) -> list[int]:
    """Tokens that are all different up to a length of 65,536."""
    start = derived_number(f"corpus {length}", _TOKENS - 1)
    return [(start + 40_503 * k) % _TOKENS for k in range(length)]


def boundaries_in(length: int) -> list[int]:
    """Some document ends, among them the first and the last possible one."""
    return sorted({1, length // 3, length // 2, max(1, length - 1)})


def cut_at(tokens: Sequence[int], boundaries: Sequence[int]) -> list[Sequence[int]]:
    """The documents that boundaries cut tokens into."""
    cuts = [0, *(offset for offset in boundaries if 0 < offset < len(tokens)), len(tokens)]
    return [tokens[start:end] for start, end in pairwise(cuts)]


def forms(tokens: Sequence[int], boundaries: Sequence[int], root: Path, name: str = "words") -> dict[str, Source]:
    """The tokens as a list, as files of 16 and 32 bits and as an array, without `on_end`; `name` is of the files."""
    np.array(tokens, "<u2").tofile(root / f"{name}.bin")
    np.array(tokens, "<u4").tofile(root / f"{name}.wide")
    np.save(root / f"{name}.npy", np.array(tokens, "<u2"))
    some: dict[str, Source] = {
        "tokens": {"kind": "tokens", "tokens": list(tokens)},
        "file": {"kind": "file", "path": f"{name}.bin", "dtype": "u16"},
        "wide file": {"kind": "file", "path": f"{name}.wide", "dtype": "u32"},
        "array": {"kind": "file", "path": f"{name}.npy"},
    }
    return {kind: {**form, "boundaries": list(boundaries)} for kind, form in some.items()}


def sources(tokens: Sequence[int], boundaries: Sequence[int], on_end: str, root: Path) -> dict[str, Source]:
    """Every kind of source that serves these tokens in this order; input and iterator must also be told the tokens."""
    some = forms(tokens, boundaries, root)
    part = {**some["file"], "on_end": "stop"}
    return {
        **{kind: {**form, "on_end": on_end} for kind, form in some.items()},
        "part": {"kind": "interleaved", "parts": [part], "pattern": [0], "on_end": on_end},
        "input": INPUT,
        ITERATOR: {"kind": ITERATOR, "on_end": on_end},
    }


def shuffled(tokens: Sequence[int], seed: int) -> Source:
    """The tokens in an order that a derived seed draws."""
    part = {"kind": "tokens", "tokens": list(tokens)}
    return {"kind": "shuffled", "seed": derived_bytes(f"shuffle {seed}", 16), "parts": [part], "on_end": "wrap"}


def interleaved(tokens: Sequence[int]) -> Source:
    """The tokens once, between those of a part that never ends."""
    once = {"kind": "tokens", "tokens": list(tokens), "on_end": "stop"}
    ever = {"kind": "tokens", "tokens": list(range(10)), "on_end": "wrap"}
    return {"kind": "interleaved", "parts": [once, ever], "pattern": [0, 1, 0], "on_end": "wrap"}
