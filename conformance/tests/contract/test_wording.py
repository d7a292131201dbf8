"""One thing is in the singular."""

from __future__ import annotations

import re

import pytest

from conformance.contract.wording import counted
from conformance.tests.processes import ROOT
from conformance.tests.sources import modules, text_of


@pytest.mark.parametrize(
    ("number", "word", "said"),
    [
        (1, "case", "1 case"),
        (0, "case", "0 cases"),
        (1, "entry", "1 entry"),
        (2, "more entry", "2 more entries"),
        (2, "day", "2 days"),
        (1, "EXPECTED FAILURE", "1 EXPECTED FAILURE"),
        (3, "EXPECTED FAILURE", "3 EXPECTED FAILURES"),
    ],
)
def test_a_word_is_in_the_singular_behind_one(number: int, word: str, said: str) -> None:
    assert counted(number, word) == said


# What commands count and print; their words are made by `counted`.
WORDS = "case|check|contract|failure|finding|guard|mutant|operator|problem|record|sequence|vector"
PLURAL = re.compile(rf"\{{(?:len|sum)\([^{{}}]*\)\}} (?:{WORDS})s\b|\}}\}} (?:{WORDS})s\b")


def test_no_output_counts_with_a_plural_alone() -> None:
    files = [*modules("conformance/cli"), *modules("conformance/report")]
    files += sorted((ROOT / "conformance" / "report" / "page").glob("*.html"))
    found = {str(file): PLURAL.findall(text_of(file)) for file in files}
    assert {file: said for file, said in found.items() if said} == {}
