"""A name with a letter that only looks like another is told apart from a word of another language."""

from __future__ import annotations

import pytest

from conformance.contract.suggest import nearest, with_sign


@pytest.mark.parametrize(
    ("text", "hint", "added"),
    [
        ("unknown base 't\u0435ns'", "did you mean tens?", " '\u0435' (U+0435) only looks like e"),
        ("unknown base 'tens'", "did you mean t\u0435ns?", " '\u0435' (U+0435) only looks like e"),
        ("unknown key 'a\\u200bb'", "remove it", "; '\\u200b' (U+200B) cannot be seen"),
        ("unknown key 'a\\xa0b'", "", "'\\xa0' (U+00A0) only looks like a blank"),
        ("unknown base 'tens'", "did you mean ten?", ""),
        ("no sentence: '\u0441\u043e\u0440 \u0438 \u0434\u043e\u043c'", "write one", ""),  # a word of Russian
        ("no sentence: 'na\u00efve \u2013 don\u2019t'", "write one", ""),
        ("'\u043e' (U+043E) only looks like o in 'l\u043ew'", "write o", ""),  # it is named already
    ],
)
def test_a_sign_that_is_not_what_a_reader_sees_is_named_once(text: str, hint: str, added: str) -> None:
    assert with_sign(text, hint) == hint + added


def test_every_suggestion_of_a_name_names_it() -> None:
    assert nearest("l\u043ew", ["low"]) == "did you mean low? '\u043e' (U+043E) only looks like o"
