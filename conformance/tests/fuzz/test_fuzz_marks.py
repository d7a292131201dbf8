"""Fuzzing of texts with other marks, and of two texts that are nearly one: a wrong program differs at one of them."""

from __future__ import annotations

import base64
import fnmatch
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from conformance.contract.types import Field, ListOf, MapOf, Scalar, Struct
from conformance.trial.fuzz.listings.marks import marks_of_texts, texts_alike
from conformance.trial.fuzz.listings.written import parts_of_texts, written
from conformance.trial.fuzz.seed import InputPlaces

TEXT = Scalar("string")
ONE = Struct((Field("text", TEXT),))
TWO = Struct((Field("one", TEXT), Field("other", TEXT)))
LISTS = Struct((Field("old", ListOf(TEXT)), Field("new", ListOf(TEXT))))
Program = Callable[[dict[str, Any]], Any]


def answer(program: Program, native: dict[str, Any]) -> Any:
    try:
        return program(native)
    except (ValueError, KeyError):
        return "refused"


def differ(right: Program, wrong: Program, natives: list[dict[str, Any]]) -> bool:
    return any(answer(right, native) != answer(wrong, native) for native in natives)


# -- one text


def decoded(text: str) -> bytes:
    data = base64.b32decode(text)
    if base64.b32encode(data).decode() != text:
        raise ValueError(text)
    return data


def padded_in_pairs(text: str) -> bytes:
    """Takes two padding letters, which no number of bytes gives."""
    if re.fullmatch("[A-Z2-7]{6}==", text):
        return decoded(text[:5] + "===")
    return decoded(text)


def padded_anywhere(text: str) -> bytes:
    letters = text.replace("=", "")
    return decoded(letters + "=" * (len(text) - len(letters)))


def few_padded(text: str) -> bytes:
    if text.endswith("======"):
        raise ValueError(text)
    return decoded(text)


def globbed(text: str) -> str:
    return fnmatch.translate(text)


BASE32 = "MZXW6YQ=", decoded
ONE_TEXT: dict[str, tuple[str, Callable[[str], Any], Callable[[str], Any]]] = {
    "two padding letters": (*BASE32, padded_in_pairs),
    "padding anywhere": (*BASE32, padded_anywhere),
    "no long padding": (*BASE32, few_padded),
    "zeros at the end cut": (*BASE32, lambda text: decoded(text).rstrip(b"\0")),
    "a comment begins with another mark": ("a = 1", str, lambda text: "" if text.startswith(";") else text),
    "escapes of a page, in a word": ("Ada", str, lambda text: text.replace("&", "&amp;").replace("<", "&lt;")),
    "a percent sign kept, in a word": ("Ada", lambda text: text.replace("%", "%25"), str),
    "a set that begins with its end": ("x[a-b]", globbed, lambda text: globbed(text.replace("[]", "[\\]"))),
    "a mark alone": ("*.a", str, lambda text: "" if text == "*" else text),
    "a word where a number was": ("rc.1", str, lambda text: "" if re.fullmatch("[a-z]+[.][a-z]+", text) else text),
}


@pytest.mark.parametrize("mistake", ONE_TEXT)
def test_a_program_that_reads_a_mark_wrongly_differs_at_a_text_that_is_asked(mistake: str) -> None:
    text, right, wrong = ONE_TEXT[mistake]
    assert answer(lambda native: right(native["text"]), {"text": text}) == wrong(text)
    natives = [*marks_of_texts(InputPlaces(ONE), [{"text": text}])]
    assert differ(lambda native: right(native["text"]), lambda native: wrong(native["text"]), natives)


# -- two texts


def same(native: dict[str, Any]) -> bool:
    return bool(native["one"] == native["other"])


def same_after(change: Callable[[str], str]) -> Program:
    return lambda native: change(native["one"]) == change(native["other"])


def labels(text: str) -> list[str]:
    return text.split(".")


TWO_TEXTS: dict[str, tuple[Program, Program]] = {
    "composed": (same, same_after(lambda text: unicodedata.normalize("NFC", text))),
    "letters of other scripts in lower case": (
        same_after(lambda text: re.sub("[A-Z]", lambda found: found[0].lower(), text)),
        same_after(str.lower),
    ),
    "the first letters": (same, same_after(lambda text: text[:64])),
    "what is longer comes first": (
        lambda native: labels(native["one"]) < labels(native["other"]),
        lambda native: [*labels(native["one"]), "~"] < [*labels(native["other"]), "~"],
    ),
    "blanks at the end": (same, same_after(str.rstrip)),
}


@pytest.mark.parametrize("mistake", TWO_TEXTS)
def test_a_program_that_compares_two_texts_wrongly_differs_at_two_that_are_asked(mistake: str) -> None:
    right, wrong = TWO_TEXTS[mistake]
    natives = [{"one": "a.example", "other": "some words"}]
    assert right(natives[0]) == wrong(natives[0])
    assert differ(right, wrong, [*texts_alike(InputPlaces(TWO), natives)])


def test_the_texts_of_two_lists_are_made_alike() -> None:
    natives = [{"old": ["the", "fox"], "new": ["the", "dog"]}]

    def added(native: dict[str, Any], change: Callable[[str], str] = str) -> list[str]:
        old = {change(word) for word in native["old"]}
        return [word for word in native["new"] if change(word) not in old]

    found = [*texts_alike(InputPlaces(LISTS), natives)]
    assert differ(added, lambda native: added(native, str.casefold), found)
    assert differ(added, lambda native: added(native, lambda word: word[:255]), found)


def test_two_texts_of_one_list_are_made_alike() -> None:
    type_ = Struct((Field("words", ListOf(TEXT)),))
    found = [*texts_alike(InputPlaces(type_), [{"words": ["the", "quick", "fox"]}])]
    assert differ(
        lambda native: len(set(native["words"])),
        lambda native: len({word.casefold() for word in native["words"]}),
        found,
    )


def test_a_text_is_compared_with_each_of_its_beginnings() -> None:
    text = "1.20-x.3"
    found = [*texts_alike(InputPlaces(TWO), [{"one": text, "other": "word"}])]
    begun = {"1", "1.", "1.20", "1.20-", "1.20-x", "1.20-x."}
    assert begun <= {native["other"] for native in found if native["one"] == text}
    assert begun <= {native["one"] for native in found if native["other"] == text}


# -- which texts are changed


def test_a_text_later_in_a_list_is_changed_too() -> None:
    type_ = Struct((Field("lines", ListOf(TEXT)),))
    natives = [{"lines": ["a = 1", "b", "# c", "d = 2"]}]
    changed = {k for native in parts_of_texts(InputPlaces(type_), natives) for k in range(4)
               if native["lines"][k] != natives[0]["lines"][k]}  # fmt: skip
    assert changed == {0, 2, 3}


def test_a_text_is_changed_beside_each_way_to_build_the_other() -> None:
    natives = [{"one": pattern, "other": "src/a.py"} for pattern in ("src/*.py", "src/?.py", "**", "src/[a-b].py")]
    beside = {one.native["one"] for one in written(InputPlaces(TWO), natives) if one.place.key == "other"}
    assert len(beside) > 1


def test_a_single_word_gets_a_few_marks_only() -> None:
    type_ = Struct((Field("values", MapOf(TEXT)),))
    found = [*marks_of_texts(InputPlaces(type_), [{"values": {"name": "Ada"}}])]
    assert 0 < len(found) < 10
