"""Long lists as markers, what equals them, and where something differs."""

from __future__ import annotations

import hashlib
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.codec.cbor import encode_canonical
from conformance.contract.types import Field, ListOf, MapOf, Scalar, Struct, Tensor
from conformance.vectors.compact import compact, compact_tensor
from conformance.vectors.conversation.difference import Difference, first_difference
from conformance.vectors.draft import to_wire
from conformance.vectors.jsontext import digest_of

UINTS = ListOf(Scalar("uint64"))
OUT = Struct((Field("order", UINTS), Field("t", Scalar("uint64"))))
LONG = [str(k) for k in range(100)]


def test_a_marker_matches_exactly_the_list_it_stands_for() -> None:
    expected = compact({"order": LONG, "t": "1"}, OUT)
    assert first_difference(expected, {"order": LONG, "t": "1"}, OUT) is None
    for wrong in (LONG[:-1], [*LONG, "0"], [*LONG[:50], "0", *LONG[51:]]):
        assert first_difference(expected, {"order": wrong, "t": "1"}, OUT) is not None
    assert first_difference(expected, {"order": LONG}, OUT) is not None


def differing(expected: Any, observed: Any) -> Difference:
    found = first_difference(compact(expected, OUT), observed, OUT)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("observed", "path", "expected", "actual"),
    [
        ({"order": ["0", "9"], "t": "1"}, "order[1]", "1", "9"),
        ({"order": ["0"], "t": "1"}, "order[1]", "3 elements", "1 elements"),
        ({"order": LONG, "t": "1"}, "order[3]", "3 elements", "100 elements"),
        ({"order": ["0", "1", "2"], "t": "2"}, "t", "1", "2"),
    ],
)
def test_the_first_difference_of_a_short_list_is_exact(observed: Any, path: str, expected: Any, actual: Any) -> None:
    found = differing({"order": ["0", "1", "2"], "t": "1"}, observed)
    assert (found.path, found.expected, found.actual) == (path, expected, actual)


@pytest.mark.parametrize("as_marker", [False, True])
@pytest.mark.parametrize(
    ("index", "path", "note"),
    [(3, "order[3]", ""), (50, "order", "between index 8 and 91"), (95, "order", "indices 0..7 agree")],
)
def test_the_first_difference_of_a_long_list_is_as_exact_as_its_marker(
    index: int, path: str, note: str, as_marker: bool
) -> None:
    wrong: Any = {"order": [*LONG[:index], "7777", *LONG[index + 1 :]], "t": "1"}
    found = differing({"order": LONG, "t": "1"}, compact(wrong, OUT) if as_marker else wrong)
    assert found.path == path
    assert note in found.note


def test_a_longer_list_against_a_marker_differs_in_length() -> None:
    found = differing({"order": LONG, "t": "1"}, {"order": [*LONG, "0"], "t": "1"})
    assert (found.path, found.expected) == ("order[100]", "100 elements")


def test_a_field_that_is_there_on_one_side_only_differs() -> None:
    found = first_difference({"a": "1"}, {}, MapOf(Scalar("uint64")))
    assert found is not None
    assert (found.path, repr(found.actual)) == ("a", "nothing")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=300), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_the_fast_canonical_encoder_equals_the_strict_one(value: Any) -> None:
    assert cbor2.dumps(value, canonical=True) == encode_canonical(value)
    assert digest_of(value) == hashlib.sha256(encode_canonical(value)).hexdigest()


# -- tensors


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
def test_the_first_different_element_is_named(expected: Any, observed: Any, path: str, left: Any, right: Any) -> None:
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
    assert first_difference(known, tensor("uint16", [4], [1, 2, 3, 4]), ROW) == Difference("cells.shape", [2, 2], [4])
