"""Which comparisons decide the value of an expression: the same as if the whole were evaluated for each, but sooner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.contract.cel.expression import environment
from conformance.contract.cel.syntax import comparisons, conjuncts, dotted_names, parse
from conformance.contract.types import Field, ListOf, Scalar, Struct
from conformance.lint.deciding import MOST_INSIDE, deciding, tangles
from conformance.tests.small_corpus import found, halved, subject
from conformance.tests.small_spec import spoilt

INPUTS = Struct((Field("a", Scalar("uint64")), Field("b", Scalar("uint64")), Field("many", ListOf(Scalar("uint64")))))
KNOWN = environment(INPUTS, None, [])


class Asked:
    """Evaluates parts of an expression for one call, and counts them."""

    def __init__(self, a: int, b: int) -> None:
        self.bound = KNOWN.bind({"a": a, "b": b, "many": [1, 2]})
        self.texts: list[str] = []

    def __call__(self, text: str) -> Any:
        self.texts.append(text)
        return KNOWN.compile(text, None).evaluate(self.bound)


@pytest.mark.parametrize(
    "text",
    [
        "a < 3u",
        "a < 3u && b < 3u",
        "a < 3u || !(b < 3u) || a == b",
        "a < 3u ? b < 3u : b > 5u",
        "(a < 3u) == (b < 3u)",
        "a - b < 3u || b < 3u",  # below zero there is no value
        "a - b < 3u && b < 3u",
        "!(a - b < 3u) || b / a == 1u || a < 1u",
        "a - b < 3u ? a == b : a < b",
        "[a < 3u, b < 3u].all(one, one) || a == 9u",
        "many.all(one, one < a) || a < b",
        "!!(a < 3u && (b < 3u || (a == b)))",
        "many[int(a)] == 1u || b == 0u",
    ],
)
@pytest.mark.parametrize(("a", "b"), [(0, 0), (1, 4), (4, 1), (3, 3), (9, 8)])
def test_a_comparison_decides_if_the_whole_changes_with_it(text: str, a: int, b: int) -> None:
    expected = set()
    for one in comparisons(text):
        yes, no = Asked(a, b)(one.replaced("true")), Asked(a, b)(one.replaced("false"))
        if yes != no:
            expected.add((one.start, one.end))
    assert deciding(text, Asked(a, b)) == expected


@pytest.mark.parametrize("sign", ["||", "&&"])
def test_each_term_is_evaluated_once(sign: str) -> None:
    terms = [f"a != {k}u" for k in range(2000)]
    asked = Asked(2001, 0)
    assert len(deciding(f" {sign} ".join(terms), asked)) == (0 if sign == "||" else 2000)
    assert sorted(asked.texts) == sorted(terms)


def test_no_reader_of_a_long_expression_counts_its_terms_in_levels() -> None:
    text = " && ".join(f"(a != {k}u)" for k in range(12_000))
    assert len(comparisons(text)) == len(conjuncts(text)) == 12_000
    assert dotted_names(text) == {"a"}
    with pytest.raises(ValueError, match="nested too deeply"):
        parse(f"{'!' * 30_000}(a < 3u)")  # the engine takes it


def test_too_many_comparisons_inside_one_part_are_told_once_and_not_tried(tmp_path: Path) -> None:
    some = " || ".join(f"whole == {k}u" for k in range(MOST_INSIDE - 1))
    assert list(tangles(f"({some}) == (whole < 99u)")) == []
    asked = Asked(0, 0)
    many = " || ".join(f"a == {k}u" for k in range(3000))
    whole = f"({many}) == true && a == 5u"
    assert deciding(whole, asked) == {(whole.index("a == 5u", len(many)), len(whole))}
    assert len(asked.texts) == 2

    judged = subject(tmp_path, spoilt('"rest == 0u"', f'"({some}) == (whole < 99u || whole == 7u)"'), [halved(6)])
    told = f"guard 'even': {MOST_INSIDE + 1} comparisons are inside '({some:.56}...'"
    first, *others = found("L303", judged)
    assert first == f"{told}: with more than {MOST_INSIDE}, none is tried"
    assert [one.partition(" '(whole == 0u || ")[0] for one in others] == ["guard 'even': no case decides"]
