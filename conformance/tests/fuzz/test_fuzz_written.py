"""Fuzzing of texts that a parser reads: wrong parsers differ from right ones at a text that is asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.types import Field, Scalar, Struct
from conformance.tests.shipped import shipped_library
from conformance.trial.fuzz.draw import DRAWN
from conformance.trial.fuzz.listings.near_frozen import LISTINGS, Origins
from conformance.trial.fuzz.listings.written import numbers_in_texts, parts_of_texts, texts_together
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.fuzz.seed import ACCEPTED, InputPlaces, Vocabulary, printed, seeds_of
from conformance.vectors.case import CallStep, Case, ExpectedFailure, ExpectedResult

TEXT = Struct((Field("text", Scalar("string")),))
BYTES = Struct((Field("text", Scalar("bytes")),))
TWO = Struct((Field("one", Scalar("string")), Field("other", Scalar("string"))))
Reader = Callable[[str], Any]


def asked(type_: Struct, *natives: dict[str, Any]) -> list[dict[str, Any]]:
    """The inputs that both listings of one text make."""
    inside = InputPlaces(type_, natives)
    return [*numbers_in_texts(inside, natives), *parts_of_texts(inside, natives)]


def answer(read: Reader, text: str) -> Any:
    try:
        return read(text)
    except (ValueError, AttributeError):
        return "refused"


def numbers(form: str, *readers: Reader) -> Reader:
    """A parser: a text that matches is the numbers of its groups."""

    def read(text: str) -> list[Any]:
        found = re.fullmatch(form, text)
        if found is None:
            raise ValueError(text)
        return [one(part) for one, part in zip(readers, found.groups(), strict=True)]

    return read


def octal(digits: str) -> int:
    return int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits)


def narrowed(bits: int) -> Reader:
    return lambda digits: int(digits) % 2**bits


def one_of_two(wrong: Reader) -> Reader:
    return numbers("PT([0-9]+)H([0-9]+)M", int, wrong)


DURATION = "PT2H30M", numbers("PT([0-9]+)H([0-9]+)M", int, int)
LINES = "a: 1\nb: 2\n", lambda text: [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
DATE = "1999-12-31", numbers("([0-9]{4})-([0-9]{2})-([0-9]{2})", int, int, int)


def leap(digits: str) -> str:
    return "wrong" if digits == "2100-02-29" else digits


MISTAKES: dict[str, tuple[str, Reader, Reader]] = {
    "octal": (*DURATION, one_of_two(octal)),
    "8 bits": (*DURATION, one_of_two(narrowed(8))),
    "32 bits": (*DURATION, one_of_two(narrowed(32))),
    "64 bits": (*DURATION, one_of_two(narrowed(64))),
    "a float": (*DURATION, one_of_two(lambda digits: int(float(digits)))),
    "at most 59": (*DURATION, one_of_two(lambda digits: min(int(digits), 59))),
    "digits of any script": (*DURATION, numbers(r"PT([0-9]+)H(\d+)M", int, int)),
    "a sign": (*DURATION, numbers("PT([0-9]+)H([+-]?[0-9]+)M", int, int)),
    "an underscore": (*DURATION, numbers("PT([0-9]+)H([0-9_]+)M", int, int)),
    "the first number in 31 bits": (*DURATION, numbers("PT([0-9]+)H([0-9]+)M", narrowed(31), int)),
    "a leap day of 2100": ("1999-12-31", str, leap),
    "a day after the last second": ("23:59:59", str, lambda text: text.replace("24:00:00", "00:00:00")),
    "a year of five digits": (*DATE, numbers("([0-9]{4,})-([0-9]{2})-([0-9]{2})", int, int, int)),
    "a month of one digit": (*DATE, numbers("([0-9]{4})-([0-9]{1,2})-([0-9]{2})", int, int, int)),
    "no carriage return": (*LINES, lambda text: text.removesuffix("\n").split("\n")),
    "every line end": (*LINES, str.splitlines),
    "a lone carriage return": (*LINES, lambda text: text.replace("\r", "\n").removesuffix("\n").split("\n")),
    "a last newline": (*LINES, lambda text: [line.removesuffix("\r") for line in text.split("\n")[:-1]]),
    "blanks at the end of a line": (*LINES, lambda text: [one.rstrip() for one in LINES[1](text)]),
    "no empty part": ("a,b", lambda text: text.split(","), lambda text: [one for one in text.split(",") if one]),
    "a separator at the end": ("a,b", lambda text: text.split(","), lambda text: text.removesuffix(",").split(",")),
    "a separator at the begin": ("a,b", lambda text: text.split(","), lambda text: text.removeprefix(",").split(",")),
    "another separator": ("a&b", lambda text: text.split("&"), lambda text: re.split("[&;]", text)),
    "folded case of one word": ("Ab-Cd", str, lambda text: text.replace("cD", "Cd")),
    "a mark of the order of bytes": ("a b", str, lambda text: text.replace("\ufeff", "")),
    "NUL in the middle": ("a b", str, lambda text: text.split("\0")[0] if text[-1:] != "\0" else text),
    "decomposed letters": ("a b", str, lambda text: unicodedata.normalize("NFC", text)),
    "an escaped escape": ("a%20b", str, lambda text: text.replace("%25", "%")),
    "an escaped NUL": ("a%20b", str, lambda text: text.split("%00")[0]),
    "hex digits of one case": ("00ff7a", bytes.fromhex, lambda text: bytes.fromhex(text.replace("B", "8"))),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_parser_with_a_mistake_differs_at_a_text_that_is_asked(mistake: str) -> None:
    text, right, wrong = MISTAKES[mistake]
    assert answer(right, text) == answer(wrong, text)
    texts = [native["text"] for native in asked(TEXT, {"text": text})]
    assert [one for one in texts if answer(right, one) != answer(wrong, one)]


def test_each_number_of_a_text_is_replaced_and_the_rest_stays() -> None:
    texts = {native["text"] for native in numbers_in_texts(InputPlaces(TEXT), [{"text": "1.20-x3"}])}
    large = 2**64
    assert {f"{large}.20-x3", f"1.{large}-x3", f"1.20-x{large}", "1.20-x03", "01.20-x3", "1.00-x3"} <= texts


def test_the_digits_of_one_large_number_are_those_of_several() -> None:
    texts = {native["text"] for native in numbers_in_texts(InputPlaces(TEXT), [{"text": "12.34"}])}
    assert {"92233720368547758.08", "-92233720368547758.08", "21474836.47"} <= texts


def test_bytes_that_are_a_text_are_changed_as_one_and_broken_as_one() -> None:
    found = {native["text"] for native in asked(BYTES, {"text": b"Host: a1\nx: 2\n"})}
    assert {b"Host: a1\r\nx: 2\r\n", b"Host: a1\nx: 2", b"Host: a4294967297\nx: 2\n"} <= found
    assert any(b"\xed\xa0\x80" in one for one in found)
    assert asked(BYTES, {"text": b"\x00\x01\x02"}) == []


def test_a_text_of_one_word_and_an_empty_one_are_left_to_other_listings() -> None:
    assert asked(TEXT, {"text": "word"}, {"text": ""}, {"text": "a1" * 300}) == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda text: text.split("."),
        lambda text: [int(part) % 2**32 for part in text.split(".")],
        lambda text: [float(part) for part in text.split(".")],
    ],
    ids=["as text", "in 32 bits", "as floats"],
)
def test_two_texts_that_are_compared_differ_in_one_large_number(wrong: Reader) -> None:
    def right(text: str) -> list[int]:
        return [int(part) for part in text.split(".")]

    def order(key: Reader, native: dict[str, str]) -> Any:
        try:
            one, other = key(native["one"]), key(native["other"])
        except ValueError:
            return "refused"
        return (one > other) - (one < other)

    natives = [{"one": "1.2.3", "other": "1.2.4"}]
    made = [*texts_together(InputPlaces(TWO), natives)]
    assert [one for one in made if order(right, one) != order(wrong, one)]
    assert any(one["one"].split(".")[1:] == one["other"].split(".")[1:] for one in made)


def test_where_files_are_opened_no_text_gets_an_odd_part_of_a_path() -> None:
    natives = [{"text": "a/b.c"}]
    words = Vocabulary((), (), {}, InputPlaces(TEXT))

    def made(no_file: bool) -> set[str]:
        origins = Origins(words, {ACCEPTED: natives}, lambda _: ACCEPTED, no_file_opened=no_file)
        return {native["text"] for listing in LISTINGS[-5:] for native in listing.inputs(origins)}

    assert {"a//b.c", "/a/b.c", "a/b.c/"} <= made(no_file=True)
    parts = {part for one in made(no_file=False) if one for part in one.replace("\\", "/").split("/")}
    assert not parts & {"", ".", ".."}
    assert "a/b..c" in made(no_file=False)


# -- what the reference alone refuses


def test_calls_that_have_a_result_come_before_those_that_the_reference_alone_refuses() -> None:
    forms = codebook_of(shipped_library())["UML_OS.Error.Emit_v1"]
    context = {"t": "7", "rank": 3, "failure_operator": "", "replay_token": "00" * 32, "diagnostics": {"map": []}}

    def case(name: str, operator: str, failed: bool) -> Case:
        inputs = {"code_id": "REPLAY_DIVERGENCE", "context": {**context, "failure_operator": operator}}
        expected = ExpectedFailure("CONTRACT_VIOLATION", {}) if failed else ExpectedResult({})
        step = CallStep("call", forms.contract.operator, inputs, expected)
        return Case(name, forms.contract.operator, name, "", (), (), "quick", (step,))

    cases = [case("a", "", True), case("b", "Long.Name_v1", False), case("c", "x", True)]
    seeds = seeds_of(forms, cases)
    told = [native["context"]["failure_operator"] for native in seeds.by_side[ACCEPTED]]
    assert (told, seeds.failed) == (["Long.Name_v1", "", "x"], 2)
    assert [native["context"]["failure_operator"] for native in seeds.answered] == ["Long.Name_v1"]
    assert len(replace(seeds, failed=3).answered) == 3
    listed = [printed(call.native) for call in calls_for(forms, cases, 1) if call.why != DRAWN]
    assert any("Long.Name_v4294967297" in one for one in listed)
    assert "Long.Name_v1" in listed[0]
