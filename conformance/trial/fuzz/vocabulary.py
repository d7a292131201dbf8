"""What fuzzing draws from: the numbers and words of a contract, and what its examples hold at each leaf."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.contract.model import Contract
from conformance.vectors.place import places

_LITERAL: Final = re.compile(r"(?<![\w.\"'])(\d+)u?\b")
_TEXT: Final = re.compile(r"[\"']([^\"']*)[\"']")
_MOST: Final = 48  # distinct values that are kept for a leaf
_LARGEST: Final = 2000  # characters of a kept value, printed


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The numbers and words that the expressions of a contract mention; the values and keys seen at each leaf."""

    numbers: tuple[int, ...]
    words: tuple[str, ...]
    seen: Mapping[str, tuple[Any, ...]]

    def at(self, key: str) -> Sequence[Any]:
        """What examples hold at a leaf; inside self-describing values a leaf may be new."""
        return self.seen.get(key, ())


def vocabulary_of(contract: Contract, examples: Iterable[Mapping[str, Any]]) -> Vocabulary:
    """The vocabulary of a contract with these native inputs as examples, the shortest values of a leaf first."""
    texts = [clause.expression.text for clause in contract.requires]
    texts += [let.expression.text for let in contract.environment.lets]
    texts += [expression.text for expression in contract.domain]
    texts += [edge.when.text for edge in contract.edge_cases]
    numbers = {int(number) for text in texts for number in _LITERAL.findall(text)}
    words = {word for text in texts for word in _TEXT.findall(text) if len(word) < 80}
    seen: dict[str, dict[str, Any]] = {}
    for example in examples:
        for place in places(contract.inputs, example):
            if place.is_there and len(told := repr(place.value)) <= _LARGEST:
                seen.setdefault(place.key, {})[told] = place.value
    kept = {
        key: tuple(found[told] for told in sorted(found, key=lambda text: (len(text), text))[:_MOST])
        for key, found in seen.items()
    }
    return Vocabulary(tuple(sorted(numbers)), tuple(sorted(words)), kept)
