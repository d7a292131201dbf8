"""Where two tensors part is an index and two elements, not a place in their encoding."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract.types import Field, Struct, Tensor
from conformance.vectors.compact import compact_tensor
from conformance.vectors.difference import Difference, first_difference
from conformance.vectors.draft import to_wire

ROW = Struct((Field("cells", Tensor()),))


def tensor(dtype: str, shape: list[int], data: list[Any]) -> dict[str, Any]:
    return {"cells": to_wire(Tensor(), {"dtype": dtype, "shape": shape, "data": data})}


PAIR = tensor("uint16", [2, 2], [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("expected", "observed", "path", "left", "right"),
    [
        (PAIR, tensor("uint16", [2, 2], [1, 2, 9, 8]), "[1][0]", 3, 9),
        (PAIR, tensor("uint16", [4], [1, 2, 3, 4]), ".shape", [2, 2], [4]),
        (PAIR, tensor("int16", [2, 2], [1, 2, 3, 4]), ".dtype", "uint16", "int16"),
        (tensor("int64", [1], [2**53 + 1]), tensor("int64", [1], [2**53]), "[0]", str(2**53 + 1), str(2**53)),
        (tensor("bool", [1, 2], [0, 1]), tensor("bool", [1, 2], [0, 0]), "[0][1]", True, False),
        (tensor("float32", [1], [1.5]), tensor("float32", [1], [-0.0]), "[0]", "1.5 (3fc00000)", "-0.0 (80000000)"),
        (tensor("float16", [2], [0.0, 0.0]), tensor("float16", [2], [0.0, -0.0]), "[1]", "0.0 (0000)", "-0.0 (8000)"),
    ],
)
def test_the_first_different_element_is_named(
    expected: Any, observed: Any, path: str, left: Any, right: Any
) -> None:
    assert first_difference(expected, observed, ROW) == Difference(f"cells{path}", left, right)


def test_equal_tensors_have_no_difference() -> None:
    nan = tensor("float32", [1], ["nan"])
    assert first_difference(nan, nan, ROW) is None


def test_a_tensor_known_by_its_digest_differs_as_a_whole_or_in_its_shape() -> None:
    known = {"cells": compact_tensor(PAIR["cells"])}
    other = tensor("uint16", [2, 2], [1, 2, 9, 8])
    found = first_difference(known, other, ROW)
    assert found == Difference(
        "cells", known["cells"], compact_tensor(other["cells"]), "tensors known by their digests"
    )
    assert first_difference(known, PAIR, ROW) is None
    assert first_difference(known, tensor("uint16", [4], [1, 2, 3, 4]), ROW) == Difference(
        "cells.shape", [2, 2], [4]
    )
