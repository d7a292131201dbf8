"""Wrong results are of the right type, differ from the right one, and include the mistakes that matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.codec.form import form_of
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.lint.corruption import corruptions, same_shape

CURSOR = Struct((Field("epoch", Scalar("uint64")), Field("global_index", Scalar("uint64"))), "cursor")
SAMPLES: list[tuple[Type, Any]] = [
    (Scalar("uint64"), 0),
    (Scalar("uint64"), 2**64 - 1),
    (Scalar("int8"), -128),
    (Scalar("bool"), True),
    (Scalar("string"), ""),
    (Scalar("string"), "Train"),
    (Scalar("bytes"), b""),
    (Scalar("bytes"), b"\0\1"),
    (Scalar("bytes16"), bytes(16)),
    (Scalar("float64"), 0.4),
    (Scalar("float32"), 1.5),
    (Enum(("train", "eval")), "eval"),
    (ListOf(Scalar("uint64")), []),
    (ListOf(Scalar("uint64")), [0, 7, 4, 3, 6, 2, 1, 5]),
    (ListOf(CURSOR), [{"epoch": 0, "global_index": 1}]),
    (MapOf(CURSOR), {"d": {"epoch": 0, "global_index": 1}}),
    (CURSOR, {"epoch": 3, "global_index": 4}),
    (Value(), {"d": 1}),
    (Tensor("uint32"), np.arange(6, dtype=np.uint32).reshape(2, 3)),
    (Tensor("bool"), np.array([True, False])),
    (Tensor("uint16"), np.array([65535], dtype=np.uint16)),
    (Tensor("int8"), np.array([127], dtype=np.int8)),
    (Tensor("float32"), np.array([np.inf, 3e38, 0.0], dtype=np.float32)),
]


@pytest.mark.parametrize(("type_", "value"), SAMPLES, ids=[f"{type_}-{k}" for k, (type_, _) in enumerate(SAMPLES)])
def test_every_corruption_is_well_typed_and_wrong(type_: Type, value: Any) -> None:
    form = form_of(type_)
    right = form.from_native(value)
    wrongs = [form.from_native(wrong) for _, wrong in corruptions(type_, value)]
    assert wrongs
    assert right not in wrongs


def wrong_values(type_: Type, value: Any) -> list[Any]:
    return [wrong for _, wrong in corruptions(type_, value)]


def test_a_number_is_wrong_by_one_on_both_sides_where_its_type_has_room() -> None:
    assert {6, 8} <= set(wrong_values(Scalar("uint64"), 7))
    assert -1 not in wrong_values(Scalar("uint64"), 0)
    assert max(wrong_values(Scalar("uint8"), 255)) == 254


def test_a_list_loses_doubles_swaps_and_replaces_elements_at_both_ends() -> None:
    wrongs = wrong_values(ListOf(Scalar("uint64")), [3, 1, 0, 2])
    for wrong in ([1, 0, 2], [3, 1, 0], [3, 3, 1, 0, 2], [1, 3, 0, 2], [1, 1, 0, 2], [1, 0, 2], [2, 0, 1, 3], []):
        assert wrong in wrongs


def test_dropping_the_greatest_of_a_permutation_leaves_a_shorter_permutation() -> None:
    assert [0, 1, 2] in wrong_values(ListOf(Scalar("uint64")), [0, 3, 1, 2])


def test_bytes_change_in_their_first_and_last_byte() -> None:
    wrongs = wrong_values(Scalar("bytes32"), bytes(32))
    assert b"\1" + bytes(31) in wrongs
    assert bytes(31) + b"\1" in wrongs
    assert {len(wrong) for wrong in wrongs} == {32}


def test_a_struct_is_wrong_in_one_field_at_a_time_and_says_which() -> None:
    value = {"epoch": 3, "global_index": 4}
    for path, wrong in corruptions(CURSOR, value):
        assert [name for name in value if wrong[name] != value[name]] == [path]


def test_an_optional_field_can_be_missing_and_a_volatile_one_is_left_alone() -> None:
    struct = Struct((Field("a", Scalar("bool"), optional=True), Field("b", Scalar("bool"), volatile=True)))
    assert wrong_values(struct, {"a": True, "b": True}) == [{"a": False, "b": True}, {"b": True}]
    assert wrong_values(struct, {"b": True}) == []


# -- what is alike


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
    assert same_shape(one, other) is expected


def test_lists_of_structs_with_arrays_are_torn() -> None:
    type_ = ListOf(Struct((Field("rows", Tensor("int32")),)))
    wrongs = [wrong for _, wrong in corruptions(type_, [{"rows": PAIR}, {"rows": PAIR + 1}])]
    assert any([row["rows"].tolist() for row in wrong] == [[2, 3], [1, 2]] for wrong in wrongs)
