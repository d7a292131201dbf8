"""Suggestions for a misspelt word: the nearest known word, or the word here for one of another language."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

# Types as other languages call them, and the type here; `{}` is the item type of a list.
_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("str", "text", "char", "varchar", "utf8", "unicode"), "string"),
    **dict.fromkeys(("int", "integer", "long", "number", "i64", "bigint"), "int64 or uint64"),
    **dict.fromkeys(("uint", "unsigned", "u64", "size_t", "usize", "natural", "nat"), "uint64"),
    **dict.fromkeys(("float", "double", "f64", "real", "decimal"), "float64"),
    **dict.fromkeys(("boolean", "flag"), "bool"),
    **dict.fromkeys(("binary", "blob", "bytestring", "bytearray", "buffer", "hex"), "bytes"),
    **dict.fromkeys(("any", "json", "cbor", "object", "variant"), "value"),
    **dict.fromkeys(("list", "array", "vector", "tuple", "sequence", "set"), "list<uint64>, with the type of an item"),
    **dict.fromkeys(("dict", "map", "hash", "mapping", "table"), "map<string, uint64>, with the type of a value"),
    **dict.fromkeys(("record", "class", "dataclass", "message"), "struct, with `fields`"),
    **dict.fromkeys(("ndarray", "matrix", "numpy"), "tensor"),
    **dict.fromkeys(("path", "file", "dir", "directory", "folder"), "root"),
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32)},
}


def nearest(word: str, known: Collection[str], otherwise: str = "") -> str:
    """A hint that names the word that the user may have meant; else the hint `otherwise`."""
    close = close_to(word, known)
    return with_sign(word, f"did you mean {' or '.join(close)}?" if close else otherwise)


def close_to(word: str, known: Collection[str], cutoff: float = 0.65, most: int = 3) -> list[str]:
    """The known words that contain a word; else the most similar word and those almost as similar."""
    from difflib import SequenceMatcher, get_close_matches

    containing = [name for name in known if word.lower() in name.lower() and len(word) >= min(3, len(name))]
    if word.lower() in (low := [name.lower() for name in containing]):
        return [containing[low.index(word.lower())]]
    same = {name.lower(): name for name in known}
    if containing:
        return containing[:most]
    near = get_close_matches(word.lower(), list(same), most, cutoff)
    like = [SequenceMatcher(None, one, word.lower()).ratio() for one in near]
    return [same[one] for one, ratio in zip(near, like, strict=True) if ratio > like[0] - _APART]


_APART: Final = 0.1  # difference between two likenesses, each from 0 to 1


def type_meant(text: str, known: Collection[str]) -> str:
    """The type that an unknown type name probably means, worded for a hint; empty if nothing is like it."""
    word = text.strip().lower()
    if word in _TYPES:
        return f"did you mean {_TYPES[word]}?"
    outer = re.fullmatch(r"(?:list|array|vector|vec)\s*[\[<(]\s*(.+?)\s*[\])>]", word)
    outer = outer or re.fullmatch(r"(.+)\[\]", word)
    if outer:
        return f"did you mean list<{_TYPES.get(outer[1], outer[1])}>?"
    if pair := re.fullmatch(r"(?:map|dict)\s*[\[<(]\s*\w+\s*,\s*(.+?)\s*[\])>]", word):
        return f"did you mean map<string, {_TYPES.get(pair[1], pair[1])}>? the key of a map is a string"
    close = close_to(text, known, 0.6, 2)
    return f"did you mean {' or '.join(close)}?" if close else ""


# Signs that a word processor or web page puts in place of typed ones.
_TYPED: Final = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u00a0\u2007\u202f\u3000", " "),
        "\uff1a": ": ",
        "\uff1d": "=",
        "\u00d7": "*",
    }
)


# Letters of other alphabets that a reader takes for ASCII letters, blanks, and signs that cannot be seen.
_LETTERS: Final = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0261\u03bf\u03bd\u03b1\u03c1\u0131"
    "\u0410\u0412\u0421\u0415\u041d\u041a\u041c\u041e\u0420\u0422\u0425\u0423\u0406\u0408\u0405"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u00a0\u2007\u202f\u3000",
    "aceopxyijshdqwgovapi" "ABCEHKMOPTXYIJS" "ABEZHIKMNOPTYX" "    ",
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff",
)


def typed(text: str) -> str:
    """The text with keyboard signs in place of look-alike dashes, quotes and blanks."""
    return text.translate(_TYPED)


def look_alike(text: str) -> str:
    """A sentence about the first sign that only looks like a keyboard sign; empty if there is none."""
    return next((sign_named(one) for one in text if typed(one) != one), "")


def typed_name(name: str) -> str:
    """The name with ASCII letters in place of look-alike ones, and without signs that cannot be seen."""
    found = typed(name).translate(_LETTERS)
    return found if found.isascii() else name


def with_sign(text: str, hint: str) -> str:
    """The hint, and which sign of a name in the text or the hint is another than the reader sees.

    A name in ASCII letters with one look-alike letter is meant; a word of another alphabet is not.
    """
    shown = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), f"{text} {hint}")
    for name in [] if shown.isascii() or "(U+" in shown else shown.split(" "):
        plain = name.translate(_LETTERS)
        if plain != name and plain.isascii() and re.search("[0-9A-Za-z]", name):
            sign = next(one for one in name if one.translate(_LETTERS) != one)
            return f"{hint}{_JOINED.get(hint[-1:], '; ')}{sign_named(sign)}"
    return hint


_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4}))")  # of a sign that `repr` does not print
_JOINED: Final = {"": "", "?": " "}


def sign_named(sign: str) -> str:
    """A sentence about one sign that is another than the reader sees; empty about others."""
    plain = typed_name(sign)
    seen = f"only looks like {plain.strip() or 'a blank'}" if plain else "cannot be seen"
    return f"{sign!r} (U+{ord(sign):04X}) {seen}" if plain != sign else ""


def fitting(value: Any, pattern: str) -> str:
    """A text similar to `value` that matches a pattern; empty if no usual change makes it match."""
    return next((one for one in _changed(str(value)) if re.search(pattern, one)), "")


def _changed(text: str) -> Iterator[str]:
    words = [word for word in re.split(r"[^A-Za-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)) if word]
    yield text.strip()
    yield typed_name(text)
    yield from (word[:1].upper() + word[1:] for word in words[-1:])
    yield "-".join(words).lower()
    yield "_".join(words).lower()
    yield "_".join(words).upper()
    yield "".join(words).upper()
    yield ".".join(word[:1].upper() + word[1:] for word in words)
    if re.fullmatch(r"v?\d+(\.\d+)*", text.strip()):
        yield ".".join([*text.strip().lstrip("v").split("."), "0", "0"][:3])
