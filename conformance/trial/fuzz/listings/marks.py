"""Texts with other marks, and two texts that are nearly one: what a syntax gives a meaning, and what a comparison sees.

A mark is any letter of a text that belongs to no number and no word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice, permutations
from typing import Final

from conformance.trial.fuzz.listings.written import (
    Written,
    at_part,
    is_text,
    numbers_replaced,
    parts_in,
    parts_replaced,
    richest,
    share,
    some_of,
    written,
)
from conformance.trial.fuzz.seed import InputPlaces
from conformance.trial.generator import Native
from conformance.trial.turns import by_turns
from conformance.vectors.place import COMPOSED, DECOMPOSED, Place, put

_TEXTS: Final = 2  # of a leaf, whose marks are changed
_MOST_WORDS: Final = 4  # inputs for a leaf that is one word alone
_MOST: Final = 300  # inputs with other marks
_MOST_ALIKE: Final = 240  # inputs in which two texts are nearly one
_MANY: Final = 3  # pairs of texts; each of them takes but one text
_LEAST_ALIKE: Final = 60  # of each listing, if there are many pairs of texts
_EVERY: Final = "*!?^\\$#%:;~@&'\"[{(<|`+,=/-._)}]>"  # what means much comes first
_LONGEST_RUN: Final = 7  # letters that one mark replaces
_LONG: Final = 300  # letters; more than a byte counts
_FOLDED: Final = ((COMPOSED, DECOMPOSED), ("k", "\u212a"), ("\u00e9", "\u00c9"), ("s", "\u017f"), ("ss", "\u00df"),
                  ("fi", "\ufb01"), ("i", "\u0130"), ("a", "\uff41"), ("a", "\u0430"), ("", "\u200b"))  # fmt: skip
_DIGIT, _CAPITAL, _SMALL = re.compile("[0-9]"), re.compile("[A-Z]"), re.compile("[a-z]")


def marks_of_texts(inside: InputPlaces, natives: Sequence[Native]) -> Iterator[Native]:
    """For every leaf that is a text, with every mark of ASCII in it, with its own marks elsewhere, and with as many
    letters as before but others.

    This finds programs that give a mark a meaning, escape one too few, or look at a text where no length is wrong.
    """
    texts: dict[str, list[Written]] = {}
    for one in written(inside, natives):
        texts.setdefault(one.place.key, []).append(one)
    words: dict[str, Written] = {}
    for native in natives:
        for place in inside.first(native):
            if place.key not in texts and is_text(place):
                words.setdefault(place.key, Written(native, place, place.value))
    chosen = [one for some in texts.values() for one in some[:_TEXTS]]
    lines = [map(one.made, marked(one.text)) for one in chosen]
    lines += [map(one.made, islice(marked(one.text), _MOST_WORDS)) for one in words.values()]
    yield from islice(by_turns(lines), min(_MOST, share(chosen)))


def marked(text: str) -> Iterator[str]:
    """A text with other marks, by turns."""
    yield text + _EVERY
    yield from by_turns((_own_marks(text), of_same_length(text), _every_mark(text)))


def _marks(text: str) -> list[re.Match[str]]:
    """The first of every mark that a text has."""
    found: dict[str, re.Match[str]] = {}
    for part in parts_in(text):
        if not part[0].isalnum():
            found.setdefault(part[0], part)
    return list(found.values())


def _own_marks(text: str) -> Iterator[str]:
    """A mark alone, two marks side by side, one in place of another; a part in place of another one."""
    marks = _marks(text)
    yield from (mark[0] for mark in marks)
    for mark, other in permutations(marks, 2):
        yield from (at_part(text, mark, mark[0] + other[0]), at_part(text, mark, other[0]))
    parts = [part for part in parts_in(text) if part[0].isalnum()]
    for part, other in permutations([*parts[:2], *parts[2:][-2:]], 2):
        yield at_part(text, part, other[0])


def of_same_length(text: str) -> Iterator[str]:
    """A text with as many letters: the least ones of their kind, a mark over its neighbours or where a letter was.

    A text whose length is checked is refused where a letter is added.
    """
    zeros = _DIGIT.sub("0", _SMALL.sub("a", _CAPITAL.sub("A", text)))
    letter = max(zeros, default="")
    least = zeros.replace("0", letter) if letter in "Aa" else zeros  # in Base32 and its like 0 is no digit
    yield from dict.fromkeys((least, zeros))
    for mark in _marks(text):
        start, end = mark.span()
        for size in range(1, _LONGEST_RUN):
            run = mark[0] * (size + 1)
            yield from (one[: start - size] + run + one[end:] for one in (least, text) if size <= start)
        if start:
            yield from (mark[0] + one[1:start] + one[:1] + one[end:] for one in (least, text))
        for k in (part.start() for part in parts_in(text) if part[0].isalnum()):
            yield from (text[:k] + mark[0] + text[k + 1 :], text[: k + 1] + mark[0] + text[k + 2 :])


def _every_mark(text: str) -> Iterator[str]:
    """Every mark of ASCII at begin and end, around the text, and beside every mark that the text has."""
    own = _marks(text)
    for mark in _EVERY:
        yield from (mark + text, text + mark)
        yield from (at_part(text, part, part[0] + mark) for part in own)
        yield from (at_part(text, part, mark + part[0]) for part in own)
    yield from (mark + text + mark for mark in _EVERY)


def texts_alike(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """For every two leaves that are texts, or the first and the last text of a list: one text in both, then changed in
    one of them.

    This finds programs that take two texts for one, or one for a pattern of the other.
    """
    pairs: dict[tuple[str, str], tuple[Native, Place, Place]] = {}
    texts: dict[str, dict[str, None]] = {}
    for native in natives:
        some = [place for place in (*inside.first(native), *inside.last(native)) if is_text(place)]
        for place in some:
            texts.setdefault(place.key, {})[place.value] = None
        for one, other in combinations(some, 2):
            pairs.setdefault((one.key, other.key), (native, one, other))
    lines = []
    for native, one, other in pairs.values():
        known = sorted({**texts[one.key], **texts[other.key]}, key=richest, reverse=True)
        lines += [_nearly_one(native, one, other, text) for text in known[: _TEXTS if len(pairs) < _MANY else 1]]
    yield from islice(by_turns(lines), max(_LEAST_ALIKE, _MOST_ALIKE // (len(pairs) or 1)))


def _nearly_one(native: Native, one: Place, other: Place, text: str) -> Iterator[Native]:
    def both(first: str, second: str) -> Native:
        changed: Native = put(put(native, one.path, first), other.path, second)
        return changed

    yield both(text, text)
    near = by_turns((parts_replaced(text), marked(text), numbers_replaced(text)))
    yield from by_turns(
        (
            (both(first, second) for first, second in _folded(text)),
            (both(first, second) for first, second in _begun(text)),
            (two for changed in near for two in (both(text, changed), both(changed, text))),
        )
    )


def _begun(text: str) -> Iterator[tuple[str, str]]:
    """A text and what it begins with, up to the end of a part; in both orders."""
    for part in some_of(parts_in(text)[:-1]):
        yield from permutations((text, text[: part.end()]))


def _folded(text: str) -> Iterator[tuple[str, str]]:
    """Two texts that differ in letters that some programs take for the same, or after many letters; in both orders."""
    long = text * (_LONG // len(text) + 1)
    yield from permutations((long, f"{long}a"))
    word = next((part.end() for part in parts_in(text) if part[0].isalpha()), len(text))
    for letters in _FOLDED:
        first, second = (text[:word] + some + text[word:] for some in letters)
        yield from ((first, second), (second, first))
