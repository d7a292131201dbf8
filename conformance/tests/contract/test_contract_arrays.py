"""What expressions see of tensors and long lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.contract.cel.expression import environment
from conformance.contract.types import Field, ListOf, Scalar, Struct, Tensor

COLUMN = Struct((Field("values", Tensor()), Field("is_null", Tensor("bool"))))
INPUTS = Struct(
    (
        Field("cells", Tensor("uint16")),
        Field("columns", ListOf(COLUMN)),
        Field("ids", ListOf(ListOf(Scalar("uint64")))),
        Field("names", ListOf(Scalar("string"))),
    )
)
ENVIRONMENT = environment(INPUTS, None, ())
CELLS = np.array([[3, 256, 0], [1, 1, 2]], dtype=np.uint16)
NUMBERS = {"values": np.array([1.5, np.nan, 1e308]), "is_null": np.array([False, True, False])}
FLAGS = {"values": np.array([True, False]), "is_null": np.zeros(2, dtype=bool)}
VALUES = {"cells": CELLS, "columns": [NUMBERS, FLAGS], "ids": [[4, 0], [], [9]], "names": ["b", "a"]}
BOUND = ENVIRONMENT.bind(VALUES)


def value(text: str) -> Any:
    """What an expression answers, None where it does not evaluate."""
    return ENVIRONMENT.compile(text, expected=None).evaluate(BOUND)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("integers(cells.dtype, cells.data)", [3, 256, 0, 1, 1, 2]),
        ("integers(columns.values.dtype[1], columns.values.data[1])", [1, 0]),
        ("numbers(columns.is_null.dtype[0], columns.is_null.data[0])", [0.0, 1.0, 0.0]),
        ("parts(integers(cells.dtype, cells.data), cells.shape[0])", [[3, 256, 0], [1, 1, 2]]),
        ("parts([], 0)", []),
        ("parts([], 2)", [[], []]),
        ("flattened(ids)", [4, 0, 9]),
        ("indices(names)", [0, 1]),
        ("where([5, 6, 7], [1, 0, 2])", [5, 7]),
        ("where_not([5, 6, 7], [1, 0, 2])", [6]),
        ("blanked([5, 6, 7], [1, 0, 2])", [0, 6, 0]),
        ("members(ids[0], [9, 4])", [1, 0]),
        ("quotients(13u, [1u, 5u, 14u])", [13, 2, 0]),
        ("remainders(13u, [1u, 5u, 14u])", [0, 3, 13]),
        ("differences([5u, 7u], [5u, 1u])", [0, 6]),
        ("differences([5u], [6u])", None),
        ("quotients(13u, [0u])", None),
        ("gather(names, [1, 1, 0])", ["a", "a", "b"]),
        ("unique([3, 1, 3, 2, 1])", [3, 1, 2]),
        ("scores([5.0, 1.0], 1.0, 8.0)", [0.5, 0.0]),
        ("scores([5.0], 1.0, 0.0)", [0.0]),
        ("scores([0.1], 0.0, 1.0)", [float(np.float32(0.1))]),
    ],
)
def test_whole_lists_are_looked_at(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("is_permutation([2, 0, 1])", True),
        ("is_permutation([0, -1])", False),
        ("distinct(names)", True),
        ("distinct([-1, -1])", False),
        ("is_ascending([1, 1, 2])", True),
        ("is_ascending([1, 2, 1])", False),
        ("is_grouped([2, 2, 1])", True),
        ("is_grouped([2, 1, 2])", False),
        ("is_grouped(gather(cells.shape, []))", True),
        ("all_within(flattened(ids), 0, 10u)", True),
        ("all_within(flattened(ids), 0, 9u)", False),
        ("all_within([-1, 0], -1, 1u)", True),
        ("all_within([-2], -1, 1u)", False),
        ("all_finite(numbers(columns.values.dtype[0], columns.values.data[0]))", False),
        ("all_finite(where_not(numbers(columns.values.dtype[0], columns.values.data[0]), [0, 1, 0]))", True),
        ("all_finite(scores([1e308], 0.0, 1.0))", False),
        ("all_finite(scores([3.4028235677973366e38], 0.0, 1.0))", False),
        ("all_finite(scores([3.4028235677973362e38], 0.0, 1.0))", True),
    ],
)
def test_bulk_questions_are_answered(text: str, expected: bool) -> None:
    assert value(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "integers(columns.values.dtype[0], columns.values.data[0])",
        "parts([1], 0)",
        "parts([1, 2, 3], 2)",
        "parts([], -1)",
        "where([1], [])",
        "gather(names, [2])",
        "gather(names, [-1])",
    ],
)
def test_what_does_not_fit_has_no_value(text: str) -> None:
    assert value(text) is None
