"""Values with arrays in them are compared, and results that are frozen as a digest are known to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.contract.types import Field, ListOf, Struct, Tensor
from conformance.lint.corruption import alike, corruptions

PAIR = np.array([1, 2], dtype=np.int32)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (PAIR, PAIR.copy(), True),
        (PAIR, PAIR.astype(np.int64), False),
        (PAIR, PAIR.reshape(2, 1), False),
        (PAIR, PAIR + 1, False),
        (PAIR, [1, 2], False),
        (np.array([np.nan]), np.array([np.nan]), True),
        ({"a": [PAIR]}, {"a": [PAIR.copy()]}, True),
        ({"a": [PAIR]}, {"a": [PAIR + 1]}, False),
        ({"a": [PAIR]}, {"b": [PAIR]}, False),
        ([PAIR, PAIR], [PAIR], False),
        (1, 1, True),
        ("a", "b", False),
    ],
)
def test_arrays_are_alike_in_dtype_shape_and_bytes(one: Any, other: Any, expected: bool) -> None:
    assert alike(one, other) is expected


def test_lists_of_structs_with_arrays_are_torn() -> None:
    type_ = ListOf(Struct((Field("rows", Tensor("int32")),)))
    wrongs = [wrong for _, wrong in corruptions(type_, [{"rows": PAIR}, {"rows": PAIR + 1}])]
    assert any([row["rows"].tolist() for row in wrong] == [[2, 3], [1, 2]] for wrong in wrongs)
