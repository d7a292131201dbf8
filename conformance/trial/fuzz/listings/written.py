"""Texts that a parser may read wrongly: each is a text of an example, changed at one of its parts.

A text that is changed at random is refused at once where a syntax is expected. So the parts (a number, a word, a
separator) are changed one by one, and the rest of the text stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Any, Final, NamedTuple

from conformance.contract.types import Scalar
from conformance.trial.fuzz.near_bytes import item_in
from conformance.trial.fuzz.seed import InputPlaces
from conformance.trial.generator import Native
from conformance.trial.turns import by_turns
from conformance.vectors.place import ASTRAL, OTHER_DIGITS, WIDE, Place, put

_LONGEST: Final = 400  # letters of a text whose parts are changed
_MOST_TEXTS: Final = 4  # of one leaf, that are built differently
_FEW: Final = 8  # texts of all leaves
_MOST: Final = 600  # inputs of each listing
_LEAST: Final = 60  # if the input has many texts
_MOST_PARTS: Final = 8  # numbers, words or separators of one text
_WORD_ALONE: Final = "a"  # the shape of one
_NUMBER: Final = re.compile("[0-9]+")
_WORD: Final = re.compile(r"[^\W\d_]+")
_PART: Final = re.compile(r"[0-9]+|[^\W\d_]+|\r\n|.", re.DOTALL)
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2})+(?![0-9A-Za-z])")
_ESCAPE: Final = re.compile("(%|\\\\x)[0-9A-Fa-f]{2}")


class Written(NamedTuple):
    """A text in an input: at which place, and how another text is put there."""

    native: Native
    place: Place
    text: str

    def made(self, other: str | bytes) -> Native:
        """The input with another text there."""
        fits = other.encode() if type(self.place.value) is bytes and isinstance(other, str) else other
        changed: Native = put(self.native, self.place.path, fits)
        return changed


def numbers_in_texts(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """For every leaf that is a text with digits, each number in it replaced by others at its place.

    This finds programs that read a number as octal, wrap it, cut or narrow it, or accept it in another form.
    """
    texts = written(inside, natives)
    yield from islice(by_turns(map(_with_numbers, texts)), share(texts))


def parts_of_texts(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """For every leaf that is a text, or bytes that are one, with other line ends, separators, words and escapes."""
    texts = written(inside, natives)
    yield from islice(by_turns(map(_with_parts, texts)), share(texts))


def texts_together(inside: InputPlaces, natives: Iterable[Native]) -> Iterator[Native]:
    """For every two leaves that are texts of one shape, one text in both with a number of it large in both, and beside
    a text that differs from it a little.

    This finds programs that compare two texts as letters, or their numbers in fewer bits.
    """
    found: dict[tuple[str, str], tuple[Written, Written]] = {}
    texts: dict[str, dict[str, str]] = {}
    for native in natives:
        some = [Written(native, place, place.value) for place in inside.first(native) if is_text(place)]
        for one in some:
            texts.setdefault(one.place.key, {}).setdefault(shape(one.text), one.text)
        for one, other in combinations(some, 2):
            if shape(one.text) == shape(other.text) and _NUMBER.search(one.text):
                found.setdefault((one.place.key, other.place.key), (one, other))
    pairs = [(two, {**texts[key[1]], **texts[key[0]]}.values()) for key, two in found.items()]
    ordered = [(two, text) for two, some in pairs for text in sorted(some, key=richest, reverse=True)]
    yield from by_turns(_beside(*two, text) for two, text in ordered)


def written(inside: InputPlaces, natives: Iterable[Native]) -> list[Written]:
    """The first texts of every leaf that are built differently; among these, those of most parts come first.

    If the input has few texts, one of them comes again where the others are built differently, or later in a list.
    One word alone is left out: other listings change it.
    """
    found: dict[str, dict[str, Written]] = {}
    again: dict[str, dict[tuple[Any, ...], Written]] = {}
    for native in natives:
        texts = [(place, text) for place in inside.all(native) if (text := text_at(place)) is not None]
        beside = {place.key: shape(text) for place, text in reversed(texts)}
        for place, text in texts:
            if (built := shape(text)) == _WORD_ALONE:
                continue
            one = Written(native, place, text)
            if found.setdefault(place.key, {}).setdefault(built, one) is not one:
                others = [other for key, other in beside.items() if key != place.key]
                again.setdefault(place.key, {}).setdefault((built, *others), one)
    ordered = [sorted(some.values(), key=lambda one: richest(one.text), reverse=True) for some in found.values()]
    first = list(by_turns(some[:_MOST_TEXTS] for some in ordered))
    more = by_turns(some.values() for some in again.values())
    return [*first, *islice(more, max(0, _FEW - len(first)))]


def share(texts: Sequence[Written]) -> int:
    """How many inputs are made of these texts: many if the input is a text or two, fewer if it has many names."""
    leaves = len({one.place.key for one in texts}) or 1
    return max(_LEAST, _MOST // leaves)


def text_at(place: Place) -> str | None:
    """The text at a place, if it is one of parts: a string, or bytes that are a text and no CBOR item."""
    value = place.value
    if type(value) is bytes and place.type == Scalar("bytes") and len(value) <= _LONGEST and item_in(value) is None:
        return readable(value)
    return value if is_text(place) else None


def readable(data: bytes) -> str | None:
    """Bytes as a text; None if they are empty or none that people write."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text and all(letter.isprintable() or letter in "\t\r\n" for letter in text) else None


def shape(text: str) -> str:
    """How a text is built: its numbers and words without their letters."""
    return _WORD.sub("a", _NUMBER.sub("0", text))


def parts_in(text: str) -> list[re.Match[str]]:
    """The parts of a text: numbers, words, and letter by letter what is neither."""
    return [*_PART.finditer(text)]


def richest(text: str) -> tuple[int, int]:
    """A key to sort texts by: how many kinds of parts a text has, and how many parts."""
    built = shape(text)
    return len(set(built)), len(built)


def is_text(place: Place) -> bool:
    """Whether a place has a string, not empty and not too long to be changed part by part."""
    return place.type == Scalar("string") and place.is_there and 0 < len(place.value) <= _LONGEST


# -- numbers

_CALENDAR: Final = (12, 13, 24, 23, 60, 59, 61, 29, 30, 31, 32, 28, 1900, 1970, 2038, 2100)
_DATES: Final = [one.split("-") for one in (
    "2100-02-29", "2023-02-29", "2024-02-30", "2000-02-29", "1900-02-29", "2023-04-31", "9999-12-31", "2038-01-20",
)]  # fmt: skip
_POWERS: Final = (32, 64, 8, 63, 31, 16, 53, 7)
_DIGITS: Final = 100  # of the longest number
_DELTAS: Final = ((10, 9), (9, 10), (2**53 + 1, 2**53), (2**53, 2**53 + 1), (2**32, 1), (1, 2**32), (2**64, 1),
                  (1, 2**64), (2**64 + 1, 2**64), (2**63, 1), (1, 2**63), (256, 1), (1, 256), (2**16, 1),
                  (1, 2**16), (2**31, 1), (10**30, 9), (9, 10**30))  # fmt: skip


def other_numbers(run: str) -> Iterator[str]:
    """What may be where a text has these digits: what wraps to the same number, limits, a date, other forms."""
    number, width = int(run), len(run)
    yield from ("0", str(number + 2**32), str(number + 2**64), f"0{run}", "9" * width, str(number + 1).zfill(width))
    yield from (str(2**power - 1 if power in (31, 63) else 2**power) for power in _POWERS)
    yield from (run.translate(OTHER_DIGITS), f"{run}_0", f"+{run}", f"-{run}", "-0", "", f"{run}.5", f"{run}e1")
    yield from (f"0{number}0", "08", "0" * width, "0" * (width - 1) + "1", str(max(number - 1, 0)).zfill(width))
    yield from (str(number + 2**power) for power in (8, 16, 63))
    yield from (str(one).zfill(width) for one in _CALENDAR if len(str(one)) <= width)
    yield from (str(2**power + step) for power in (8, 32, 53, 63, 64) for step in (-1, 1))
    yield from ("99", "100", "1000", "32", "31", "33", "64", "65", "127", "128", run[:-1], f"{run}.")
    yield from ("9" * _DIGITS, "0" * _DIGITS + run)
    yield from (f" {run}", f"{run} ", run.translate(WIDE), f"0x{run}", f"{run}.0", run * 2, f"{run}\u00b2")


def numbers_replaced(text: str) -> Iterator[str]:
    """A text with each of its numbers replaced, and with several of them, by turns."""
    runs = some_of([*_NUMBER.finditer(text)])
    yield from by_turns([*map(_renumbered, [text] * len(runs), runs), _together(text, runs)])


def _together(text: str, runs: Sequence[re.Match[str]]) -> Iterator[str]:
    """A text with other numbers where they are one value: a date, a carry, the digits of one large number."""
    for k in range(len(runs)):
        if [len(run[0]) for run in runs[k : k + 3]] == [4, 2, 2]:
            yield from (_replaced(text, runs[k : k + 3], date) for date in _DATES)
    for k in range(len(runs) - 1):
        others = [str(int(runs[k][0]) + 1).zfill(len(runs[k][0])), *("0" * len(run[0]) for run in runs[k + 1 :])]
        yield _replaced(text, runs[k:], others)
    for number in (2**power - less for power in (63, 64, 31, 32) for less in (0, 1)) if len(runs) > 1 else ():
        yield from (sign + _spread(text, runs, str(number)) for sign in ("", "-"))
    for one, other in combinations(runs, 2):
        for two in (("9" * len(one[0]), "9" * len(other[0])), ("0", "0"), (other[0], one[0])):
            yield _replaced(text, (one, other), two)


def _replaced(text: str, runs: Sequence[re.Match[str]], others: Sequence[str]) -> str:
    for run, other in reversed([*zip(runs, others, strict=True)]):
        text = at_part(text, run, other)
    return text


def _renumbered(text: str, run: re.Match[str]) -> Iterator[str]:
    yield from (at_part(text, run, other) for other in other_numbers(run[0]))


def _spread(text: str, runs: Sequence[re.Match[str]], digits: str) -> str:
    """A text with these digits in its numbers: as many as before in all but the first, the others in the first."""
    for run in runs[:0:-1]:
        width = len(run[0])
        text, digits = at_part(text, run, digits[-width:] or "0"), digits[:-width]
    return at_part(text, runs[0], digits or "0")


def _with_numbers(one: Written) -> Iterator[Native]:
    yield from (one.made(other) for other in numbers_replaced(one.text))


def _beside(one: Written, other: Written, text: str) -> Iterator[Native]:
    """An input with a text at both places: once with two numbers that fewer bits confuse, then beside a near text."""

    def both(first: str, second: str) -> Native:
        changed: Native = put(one.made(first), other.place.path, second)
        return changed

    runs = some_of([*_NUMBER.finditer(text)])
    for first, second in _DELTAS:
        yield from (both(at_part(text, run, str(first)), at_part(text, run, str(second))) for run in runs)
    for near in (text.swapcase(), text.upper(), f"0{text}", f"{text}0", f"{text}.0", text[:-1]):
        yield from (both(text, near), both(near, text))


def at_part(text: str, part: re.Match[str], other: str) -> str:
    """A text with another part in place of this one."""
    return text[: part.start()] + other + text[part.end() :]


def some_of(parts: Sequence[Any]) -> Sequence[Any]:
    """The first and the last of many parts."""
    half = _MOST_PARTS // 2
    return parts if len(parts) <= _MOST_PARTS else [*parts[:half], *parts[-half:]]


# -- lines, separators, words, escapes

_SEPARATORS: Final = (";", ",", "/", "\\", ":", "=", "&", ".", "-", "_", "+", "|", "\t", " ", "\n", "#")
_LINE_ENDS: Final = ("\r\n", "\r", "\n\n", " \n", "\n ", "\t\n", "\n\t", "\n \n", "\x0b", "\x0c", "\u0085", "\u2028",
                     "\u00a0\n", "\n#", "")  # fmt: skip
_INSERTED: Final = ("\n", "\r\n", "\r", "\0", "\ufeff", '"', '""', "'", "\\", "%", "%00", "#", "\u0085", ASTRAL,
                    "\u1112\u1161\u11ab", "\ud55c", "q\u0307\u0323", "\u212b", "\ufb01", "\u0958")  # fmt: skip
_WORDS: Final = ("..", "...", ".", '""', '"a,b"', '"a\nb"', '""""', "*")
_CODES: Final = ("00", "25", "2541", "80", "ff", "C0%80", "ED%A0%80", "EF%BB%BFx", "F0%9F%98%80", "+1", " 1", "0a",
                 "2f", "2B", "7f", "e9")  # fmt: skip
_OCTETS: Final = ("80", "00", "ff", "7f", "0123456789abcdefABCDEF", "ABCDEFabcdef", "0", "")
_NO_TEXT: Final = (b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xe2\x82")


def parts_replaced(text: str) -> Iterator[str]:
    """A text with its lines, separators, words and escapes written in other ways, by turns."""
    yield from by_turns((_lines(text), _separators(text), _words(text), _inserted(text), _escapes(text)))


def _lines(text: str) -> Iterator[str]:
    if "\n" in text:
        plain = text.replace("\r\n", "\n")
        for end in _LINE_ENDS:
            yield plain.replace("\n", end)
            yield plain.replace("\n", end, 1)
        yield plain.rstrip("\n")
    yield from (text + end for end in ("\r\n", "\r", "\n\n", "\t"))


def _separators(text: str) -> Iterator[str]:
    """Every kind of separator that the text has: doubled, left out, with blanks, another one, at begin and end."""
    found: dict[str, re.Match[str]] = {}
    for part in _PART.finditer(text):
        if not part[0].isalnum():
            found.setdefault(part[0], part)
    yield from by_turns(_separated(text, part) for part in found.values())


def _separated(text: str, part: re.Match[str]) -> Iterator[str]:
    mark = part[0]
    yield from (at_part(text, part, mark * 2), text + mark, mark + text, at_part(text, part, ""))
    yield from (text.replace(mark, mark * 2), at_part(text, part, f" {mark}"), at_part(text, part, f"{mark} "))
    yield from (at_part(text, part, f"{mark}\t"), at_part(text, part, mark * 3), text + mark * 2)
    for other in _SEPARATORS:
        yield from (at_part(text, part, other), at_part(text, part, mark + other))
    yield from (text.replace(mark, other) for other in _SEPARATORS)


def _words(text: str) -> Iterator[str]:
    """Each word or number: left out, twice, in another case, replaced; the pieces before and behind a separator."""
    parts = [part for part in _PART.finditer(text) if part[0].isalnum()]
    yield from (text.upper(), text.lower())
    yield from by_turns(map(_reworded, [text] * len(parts), some_of(parts)))


def _reworded(text: str, part: re.Match[str]) -> Iterator[str]:
    word = part[0]
    start, end = part.span()
    yield from (at_part(text, part, ""), text[:start], text[start:], text[:end], text[end:])
    yield from (at_part(text, part, word.swapcase()), at_part(text, part, word * 2))
    separator = text[start - 1 : start] or text[end : end + 1]
    yield from (at_part(text, part, f"{word}{separator}{other}") for other in (word, word.swapcase()))
    yield text + separator + text[start:]
    yield from (at_part(text, part, other) for other in _WORDS)


def _inserted(text: str) -> Iterator[str]:
    middle = len(text) // 2
    for letters in _INSERTED:
        yield from (text[:middle] + letters + text[middle:], text + letters, letters + text)
    for letters in _INSERTED[:9]:
        yield from (text[: part.end()] + letters + text[part.end() :] for part in some_of([*_PART.finditer(text)])[:-1])
    yield unicodedata.normalize("NFC", text)
    yield unicodedata.normalize("NFKC", text)


def _escapes(text: str) -> Iterator[str]:
    """Escapes with other codes, and hex digits with other bytes, in both cases."""
    for escape in some_of([*_ESCAPE.finditer(text)])[:2]:
        yield "".join(f"{escape[1]}{code}" for code in ("EF", "BB", "BF")) + text
        yield from (at_part(text, escape, f"{escape[1]}{code.replace('%', escape[1])}") for code in _CODES)
        yield from (at_part(text, escape, escape[0].swapcase()), at_part(text, escape, escape[0][:-1]))
    for run in some_of([*_HEX.finditer(text)])[:2]:
        size = len(run[0])
        for octets in _OCTETS:
            yield from (at_part(text, run, octets + run[0][2:]), at_part(text, run, (octets * size)[:size]))
            yield at_part(text, run, run[0] + octets)


def _with_parts(one: Written) -> Iterator[Native]:
    lines: list[Iterator[str | bytes]] = [iter(parts_replaced(one.text))]
    if type(one.place.value) is bytes:
        lines.append(broken_texts(one.place.value))
    yield from (one.made(other) for other in by_turns(lines))


def broken_texts(data: bytes) -> Iterator[bytes]:
    """Bytes that are no text any more at one point."""
    middle = len(data) // 2
    for broken in _NO_TEXT:
        yield from (data[:middle] + broken + data[middle:], data.rstrip(b"\r\n") + broken, data + broken)
        yield broken + data


def near_text(data: bytes, most: int) -> Iterator[bytes]:
    """Bytes that are a text of several parts, with its numbers and parts changed; nothing if they are none."""
    text = readable(data[: 4 * _LONGEST])
    if text is not None and len(text) <= _LONGEST and shape(text) != _WORD_ALONE:
        edited = (one.encode() for one in by_turns((parts_replaced(text), numbers_replaced(text))))
        yield from islice(by_turns((edited, broken_texts(data))), most)
