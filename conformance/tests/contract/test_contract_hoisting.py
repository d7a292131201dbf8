"""Calls that a macro repeats with the same arguments are made once, and no expression has another value for that."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract.cel.expression import environment
from conformance.contract.cel.functions import FUNCTIONS, Function
from conformance.contract.cel.syntax import hoisted
from conformance.contract.types import Field, ListOf, Scalar, Struct

INPUTS = Struct((Field("rows", ListOf(Scalar("uint64"))), Field("others", ListOf(Scalar("uint64")))))


def value(text: str, functions: Any = FUNCTIONS, **inputs: Any) -> Any:
    """What an expression answers, None where it does not evaluate."""
    found = environment(INPUTS, None, (), functions)
    return found.compile(text).evaluate(found.bind({"rows": [], "others": [], **inputs}))


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("rows.all(r, total(others) == r)", "[total(others)].all(fixed_1, rows.all(r, fixed_1 == r))"),
        (
            "rows.all(r, others.exists(o, r == o && total([r]) == o))",
            "rows.all(r, [total([r])].all(fixed_1, others.exists(o, r == o && fixed_1 == o)))",
        ),
        (
            "rows.all(r, gather(unique(others), [0])[0] == r && size(unique(others)) > 0)",
            "[gather(unique(others), [0])].all(fixed_1, rows.all(r, fixed_1[0] == r && size(unique(others)) > 0))",
        ),
        ("rows.all(r, total([r]) > 0u) && total(others) > 0u", None),
        ("rows.all(r, size(others) > 0)", None),
        ("rows.map(r, others.map(o, total([r]))) == []", None),
        ('rows.all(r, "total(others)" != "")', None),
    ],
)
def test_a_call_moves_to_the_body_whose_variable_it_needs(text: str, moved: str | None) -> None:
    found = hoisted(text, {"total", "gather", "unique"} - ({"unique"} if "gather" in text else set()))

    assert found == (text if moved is None else moved)


def test_a_call_that_does_not_change_is_made_once_for_all_items() -> None:
    calls: list[list[int]] = []

    def sum_of(items: list[int]) -> int:
        calls.append(list(items))  # the engine's copy is emptied behind the call
        return sum(items)

    counted = [Function("total", one.parameters, one.returns, sum_of) for one in FUNCTIONS if one.name == "total"]
    others = [one for one in FUNCTIONS if one.name != "total"]

    assert value("rows.all(r, total(others) > r)", [*others, *counted], rows=[1, 2, 3], others=[2, 2]) is True
    assert calls == [[2, 2]]


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        ("rows.all(r, gather(others, [0])[0] == r)", [], True),  # the moved call alone is an error
        ("rows.all(r, gather(others, [0])[0] == r)", [1], None),
        ("rows.all(r, r > 1u && gather(others, [0])[0] == r)", [1], False),
        ("rows.exists(r, r == 1u || gather(others, [0])[0] == r)", [1], True),
        ("rows.filter(r, r > 1u && total(others) == 0u) == [2u]", [1, 2], True),
        ("!rows.exists(r, total(others) > r)", [1], True),
    ],
)
def test_a_moved_call_changes_no_answer(text: str, rows: list[int], expected: bool | None) -> None:
    assert value(text, rows=rows) is expected


def test_so_many_different_calls_in_a_macro_are_an_expression_like_any_other() -> None:
    """Each moved call is a level of the expression, and the engine takes 32 levels."""
    known = environment(INPUTS, None, ())
    text = " && ".join(f"min({k}u, total(others)) <= r" for k in range(60))
    assert known.compile(f"rows.all(r, {text})").holds(known.bind({"rows": [99], "others": [99]}))
    deep = "rows.all(a, rows.all(b, rows.all(c, rows.all(d, rows.all(e, total(others) + total([a]) > 0u)))))"
    assert known.compile(deep).holds(known.bind({"rows": [99], "others": [99]}))
