"""The reader of expressions finds the spans of comparisons, conjuncts, equations and names."""

from __future__ import annotations

import pytest
from cel_expr_python import cel

from conformance.contract.cel.engine import variables_of
from conformance.contract.cel.expression import environment
from conformance.contract.cel.syntax import comparisons, conjuncts, dotted_names, equation, parse
from conformance.contract.types import Field, Scalar, Struct
from conformance.tests.shipped import shipped_library

UINT, STRING = cel.Type.UINT, cel.Type.STRING


def pairs(text: str) -> list[tuple[str, str, str]]:
    return [(one.left, one.sign, one.right) for one in comparisons(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("m <= 4294967296u", [("m", "<=", "4294967296u")]),
        ("block_id <= (cardinality - 1u) / block_size", [("block_id", "<=", "(cardinality - 1u) / block_size")]),
        ("!(a < b) || c == d && e != f", [("a", "<", "b"), ("c", "==", "d"), ("e", "!=", "f")]),
        ("(a) > (b)", [("a", ">", "b")]),
        ("x ? a >= b : c < d", [("a", ">=", "b"), ("c", "<", "d")]),
        ("min(a, b < c ? d : e) <= f", [("min(a, b < c ? d : e)", "<=", "f"), ("b", "<", "c")]),
        ('a in ["x < y", "z"]', []),
        ("items.all(item, item < 5u)", []),
        ("items.all(item, item < 5u) && n < 6u", [("n", "<", "6u")]),
        ('m["a"].b == -1', [('m["a"].b', "==", "-1")]),
        ("a ==\n  b", [("a", "==", "b")]),
        ("f({'k': a < b}) == 1.5e3", [("f({'k': a < b})", "==", "1.5e3"), ("a", "<", "b")]),
        ("true", []),
    ],
)
def test_comparisons_outside_macros_are_found_with_both_sides(text: str, found: list[tuple[str, str, str]]) -> None:
    assert pairs(text) == found


def test_a_comparison_can_be_replaced_in_its_place() -> None:
    (first, second) = comparisons("x && (a < b || c == d)")
    assert first.text == "a < b"
    assert first.replaced("true") == "x && (true || c == d)"
    assert second.replaced("false") == "x && (a < b || false)"


def test_conjuncts_are_those_at_the_top() -> None:
    assert conjuncts("a && (b && c) && (d || e && f)") == ("a", "b", "c", "d || e && f")
    assert conjuncts("a || b && c") == ("a || b && c",)


def test_an_equation_is_one_only_as_a_whole() -> None:
    assert equation("result.half == whole / 2u") == ("result.half", "whole / 2u")
    assert equation("(a == b)") == ("a", "b")
    assert equation("a == b && c") is None
    assert equation("a != b") is None


def test_names_keep_their_dots_and_functions_are_none() -> None:
    assert dotted_names('f(a.b, "c") + m.x[key] > n') == {"a.b", "m.x", "key", "n"}
    assert dotted_names("result.record.t == context.t") == {"result.record.t", "context.t"}


@pytest.mark.parametrize("text", ["", "a <", "a b", "(a", "f(a", "a ? b", "'open", "a # b"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


def test_every_expression_of_the_shipped_contracts_can_be_read() -> None:
    for contract in shipped_library().contracts.values():
        texts = [clause.expression.text for clause in (*contract.requires, *contract.ensures)]  # type: ignore[attr-defined]
        texts += [edge.when.text for edge in contract.edge_cases] + list(contract.source.value.get("let", {}).values())
        for text in texts:
            assert contract.result_environment.compile(parse(text).text(text), expected=None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("count + salt_size > 3u", {"count", "salt_size"}),
        ("label == 'count'", {"label"}),
        ("cursor.epoch == 1u", {"cursor.epoch"}),
        ("sizes[label] == size(numbers)", {"sizes", "label", "numbers"}),
        ("numbers.all(n, n < count)", {"numbers", "n", "count", "@result"}),
        ("true", set()),
    ],
)
def test_the_checked_tree_names_the_variables_and_neither_functions_nor_parts_of_strings(
    text: str, names: set[str]
) -> None:
    types = {"count": UINT, "salt_size": UINT, "label": STRING, "cursor.epoch": UINT, "numbers": cel.Type.List(UINT)}
    engine = cel.NewEnv(variables={**types, "sizes": cel.Type.Map(STRING, cel.Type.INT)}, functions=[])
    assert variables_of(engine.compile(text)) == names


def test_a_let_needs_the_variables_of_its_text_alone() -> None:
    inputs = Struct((Field("count", Scalar("uint64")), Field("counter", Scalar("uint64"))))
    known = environment(inputs, None, [("twice", "counter * 2u"), ("named", "'count' + string(twice)")])
    assert [(let.name, let.needs) for let in known.lets] == [
        ("twice", frozenset({"counter"})),
        ("named", frozenset({"twice"})),
    ]
