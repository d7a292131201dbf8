"""The named functions that expressions may call."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract.cel.expression import environment
from conformance.contract.cel.functions import FUNCTIONS, registry_functions
from conformance.contract.family import ErrorCode
from conformance.contract.types import Field, ListOf, MapOf, Scalar, Struct, Value
from conformance.contract.yaml.source import Position

INPUTS = Struct(
    (
        Field("data", Scalar("bytes")),
        Field("numbers", ListOf(Scalar("uint64"))),
        Field("epoch", MapOf(Scalar("uint64"))),
        Field("index", MapOf(Scalar("uint64"))),
        Field("item", Value()),
    )
)
ERRORS = {
    "SIZE_WRONG": ErrorCode(
        "SIZE_WRONG", 1101, "data", "ERROR", "A size is wrong.", {"size": "uint64"}, Position("errors.yaml", 1, 1)
    )
}
ENVIRONMENT = environment(INPUTS, None, (), (*FUNCTIONS, *registry_functions(ERRORS)))
EMPTY: dict[str, Any] = {"data": b"", "numbers": [], "epoch": {}, "index": {}, "item": None}


def value(text: str, **inputs: Any) -> Any:
    """What an expression answers, None where it does not evaluate."""
    return ENVIRONMENT.compile(text, expected=None).evaluate(ENVIRONMENT.bind({**EMPTY, **inputs}))


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("cbor(23u)", "17"),
        ("cbor(24u)", "1818"),
        ("cbor(18446744073709551615u)", "1bffffffffffffffff"),
        ("cbor(true)", "f5"),
        ("cbor(0.5)", "fb3fe0000000000000"),
        ('cbor("d")', "6164"),
        ("cbor(data)", "43000100"),
        ('cbor_array([cbor("d"), cbor(data)])', "82616443000100"),
        ('cbor_map({"aa": cbor(1u), "b": cbor(2u)})', "a261620262616101"),
    ],
)
def test_preimages_are_written_byte_for_byte_and_keep_their_zeros(text: str, encoded: str) -> None:
    assert bytes(value(text, data=b"\0\1\0")).hex() == encoded


def test_rows_hold_every_column_under_its_key() -> None:
    rows = value('cbor_rows(["epoch", "global_index"], [epoch, index])', epoch={"d": 0}, index={"d": 4})
    assert bytes(rows).hex() == "a16164a26565706f6368006c676c6f62616c5f696e64657804"


def test_columns_with_different_keys_make_no_rows() -> None:
    assert value('cbor_rows(["epoch", "global_index"], [epoch, index])', epoch={"d": 0}, index={"e": 4}) is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("a0", True),
        ("a16164a26565706f6368006c676c6f62616c5f696e64657804", True),
        ("a16164a26c676c6f62616c5f696e646578046565706f636800", True),  # the order is another function's business
        ("80", False),
        ("a16164a16565706f636800", False),
        ("a16164a26565706f6368f46c676c6f62616c5f696e64657804", False),
        ("a16164a26565706f6368206c676c6f62616c5f696e64657804", False),
        ("a100a26565706f6368006c676c6f62616c5f696e64657804", False),
    ],
)
def test_rows_are_told_from_everything_else(data: str, expected: bool) -> None:
    found = value('is_cbor_rows(data, ["epoch", "global_index"])', data=bytes.fromhex(data))
    assert found is expected


@pytest.mark.parametrize(
    "data", ["1800", "bf616100ff", "a2616201616100", "a2616100616100", "0000", "c100", "f97e00", "f7", "61ff", "", "a1"]
)
def test_only_canonical_bytes_are_their_own_canonical_form(data: str) -> None:
    canonical = "canonical(data) == data"
    assert not ENVIRONMENT.compile(canonical).holds(ENVIRONMENT.bind({**EMPTY, "data": bytes.fromhex(data)}))
    assert value(canonical, data=bytes.fromhex("a2616100616201")) is True


def test_prefix_refuses_what_is_too_short() -> None:
    assert bytes(value("prefix(data, 2u)", data=b"\0ab")) == b"\0a"
    assert value("prefix(data, 4u)", data=b"\0ab") is None


def test_hex_is_lowercase_and_whole() -> None:
    assert value("hex(data)", data=b"\0\xab") == "00ab"


def test_count_below_counts_elements() -> None:
    assert value("count_below(numbers, 3u)", numbers=[0, 5, 2, 3]) == 2


@pytest.mark.parametrize(("numbers", "ascends"), [([], True), ([0, 3, 3, 8], True), ([3, 8, 7], False)])
def test_an_ascending_list_may_repeat_a_number(numbers: list[int], ascends: bool) -> None:
    assert value("is_ascending(numbers)", numbers=numbers) is ascends


@pytest.mark.parametrize(("numbers", "fits"), [([2**64 - 2, 1], True), ([2**64 - 1, 1], False)])
def test_a_total_fits_up_to_the_last_number_of_uint64(numbers: list[int], fits: bool) -> None:
    assert value("total_fits(numbers)", numbers=numbers) is fits
    assert (value("total(numbers)", numbers=numbers) is not None) is fits


def test_the_registry_answers_for_its_codes_only() -> None:
    assert value('error_number("SIZE_WRONG")') == 1101
    assert value('error_message("SIZE_WRONG")') == "A size is wrong."
    assert value('error_severity("SIZE_WRONG")') == "ERROR"
    assert value('error_subsystem("SIZE_WRONG")') == "data"
    assert value('error_number("UNKNOWN")') is None


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"size": 3}, True),
        ({"size": -1}, False),
        ({"size": True}, False),
        ({}, False),
        ({"size": 3, "more": 3}, False),
        ((("size", 3), ("size", 3)), False),
        ([], False),
    ],
)
def test_diagnostics_are_exactly_the_declared_ones(item: Any, expected: bool) -> None:
    assert value('diagnostics_match("SIZE_WRONG", item)', item=item) is expected


@pytest.mark.parametrize(
    ("data", "canonical", "has_canonical"),
    [
        ("a2616200626161f6", True, True),
        ("a2626161f6616200", False, True),
        ("a2616100616100", False, False),
        ("a10000", False, False),
        ("1817", False, False),
        ("f93c00", False, False),
        ("fb7ff8000000000000", True, True),
        ("fb7ff8000000000001", False, False),
        ("9fff", False, False),
        ("c000", False, False),
        ("f7", False, False),
        ("61ff", False, False),
        ("0000", False, False),
        ("8201", False, False),
        ("", False, False),
        ("81" * 256 + "00", True, True),
        ("81" * 257 + "00", False, False),
        ("9b1000000000000000", False, False),
    ],
)
def test_bytes_keep_the_profile_or_could(data: str, canonical: bool, has_canonical: bool) -> None:
    assert value("is_canonical(data)", data=bytes.fromhex(data)) is canonical
    assert value("has_canonical(data)", data=bytes.fromhex(data)) is has_canonical


def test_null_is_a_value_like_any_other() -> None:
    assert value("hex(item)", item=None) == "f6"


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (None, "null"),
        (True, "bool"),
        (2**64 - 1, "uint64"),
        (-1, "integer"),
        (1.0, "float"),
        ("", "text"),
        (b"", "bytes"),
        ([], "array"),
        ({}, "map"),
    ],
)
def test_an_item_is_of_one_kind(item: Any, kind: str) -> None:
    assert value("item_kind(item)", item=item) == kind


def test_a_map_is_looked_into_by_name() -> None:
    item = {"b": "text", "a": [1]}
    assert value("member_names(item)", item=item) == ["b", "a"]
    assert value('hex(member(item, "a"))', item=item) == "8101"
    assert value('item_text(member(item, "b"))', item=item) == "text"
    assert value('has_member(item, "b")', item=item) is True
    assert value('has_member(item, "c")', item=item) is False
    assert value('has_member(item, "c")', item=[]) is False


def test_a_member_is_replaced_in_canonical_bytes() -> None:
    assert value('hex(with_member(item, "a", cbor(2u)))', item={"b": None, "a": [1]}) == "a26161026162f6"
    assert value('with_member(item, "a", cbor(2u))', item=[]) is None


def test_an_array_is_looked_into_by_number() -> None:
    assert value("hex(element(item, 1u))", item=[b"", "a"]) == "6161"


@pytest.mark.parametrize(
    "text", ["element(item, 0u)", 'member(item, "c")', "member_names(item)", "item_text(item)"]
)
def test_what_is_not_there_has_no_value(text: str) -> None:
    assert value(text, item=((1, 2),)) is None


def test_the_largest_of_a_list_longer_than_a_comprehension_may_be() -> None:
    assert value("largest(numbers)", numbers=[3, *range(20_000), 2**64 - 1, 7]) == 2**64 - 1
    assert value("largest(numbers)", numbers=[5]) == 5
