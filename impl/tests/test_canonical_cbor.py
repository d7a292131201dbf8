"""Canonical CBOR: one value, one byte string, and everything else refused."""

import math
from typing import Any

import pytest

from impl.reference.canonical_cbor import NotCanonical, decode_canonical, encode_canonical, encode_strictly

CASES: list[tuple[object, str]] = [
    (0, "00"),
    (23, "17"),
    (24, "1818"),
    (255, "18ff"),
    (256, "190100"),
    (65535, "19ffff"),
    (65536, "1a00010000"),
    (2**32 - 1, "1affffffff"),
    (2**32, "1b0000000100000000"),
    (2**64 - 1, "1bffffffffffffffff"),
    (-1, "20"),
    (-24, "37"),
    (-25, "3818"),
    (-(2**64), "3bffffffffffffffff"),
    (False, "f4"),
    (True, "f5"),
    (None, "f6"),
    (0.0, "fb0000000000000000"),
    (-0.0, "fb8000000000000000"),
    (1.5, "fb3ff8000000000000"),
    (1e300, "fb7e37e43c8800759c"),
    (b"", "40"),
    (b"\x01\x02", "420102"),
    ("", "60"),
    ("\u00fc", "62c3bc"),
    ("\U00010151", "64f0908591"),
    ("a\x00b", "63610062"),
    ("x" * 24, "7818" + "78" * 24),
    ([], "80"),
    ([1, [2, 3]], "8201820203"),
    ({}, "a0"),
    ({"a": 1, "b": [2]}, "a2616101616281" + "02"),
]


@pytest.mark.parametrize(("value", "encoded"), CASES)
def test_encodes_to_the_expected_bytes(value: object, encoded: str) -> None:
    assert encode_canonical(value).hex() == encoded


@pytest.mark.parametrize(("value", "encoded"), CASES)
def test_decodes_back_to_the_value(value: object, encoded: str) -> None:
    decoded = decode_canonical(bytes.fromhex(encoded))
    assert decoded == value
    assert type(decoded) is type(value)
    assert encode_canonical(decoded).hex() == encoded


def test_map_keys_are_sorted_by_their_encoding_not_by_their_text() -> None:
    assert encode_canonical({"aa": 1, "b": 2}).hex() == "a2616202" + "62616101"


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        2**64,
        -(2**64) - 1,
        "\ud800",
        (("a", 1), ("a", 2)),
        {1, 2},
        [math.nan],
    ],
)
def test_refuses_values_outside_the_profile(value: Any) -> None:
    with pytest.raises(NotCanonical):
        encode_canonical(value)


def test_keys_that_are_no_text_stand_in_the_order_of_their_bytes_and_cannot_be_read_back() -> None:
    value = ((10, 1), (100, 2), (-1, 3), ("z", 4), ("aa", 5), (False, 6))
    encoded = encode_canonical(value)
    assert encoded.hex() == "a60a011864022003617a0462616105f406"
    with pytest.raises(NotCanonical, match="map key not text"):
        decode_canonical(encoded)
    with pytest.raises(NotCanonical, match="map key not text"):
        encode_strictly(value)


@pytest.mark.parametrize("value", [math.nan, {"a": math.inf}, "\ud800", 2**64])
def test_a_strict_encoding_refuses_what_has_no_encoding(value: Any) -> None:
    with pytest.raises(NotCanonical):
        encode_strictly(value)


@pytest.mark.parametrize("around", [lambda value: [value], lambda value: {"k": value}], ids=["array", "map"])
def test_the_deepest_nesting_is_written_and_read_and_one_level_more_is_neither(around: Any) -> None:
    value: object = 0
    for _ in range(256):
        value = around(value)
    assert decode_canonical(encode_canonical(value)) == value
    with pytest.raises(NotCanonical, match="nested too deeply"):
        encode_canonical(around(value))


@pytest.mark.parametrize(
    ("encoded", "reason", "offset"),
    [
        ("", "truncated", 0),
        ("0000", "trailing bytes", 1),
        ("1817", "longer than the shortest form", 0),
        ("1900ff", "longer than the shortest form", 0),
        ("1a0000ffff", "longer than the shortest form", 0),
        ("1b00000000ffffffff", "longer than the shortest form", 0),
        ("3800", "longer than the shortest form", 0),
        ("580100", "longer than the shortest form", 0),
        ("19ff", "truncated", 0),
        ("4201", "truncated", 0),
        ("8201", "truncated", 2),
        ("a161", "truncated", 1),
        ("5f4101ff", "indefinite length", 0),
        ("9f01ff", "indefinite length", 0),
        ("bf616101ff", "indefinite length", 0),
        ("1c", "reserved length", 0),
        ("5d00", "reserved length", 0),
        ("a10000", "map key not text", 1),
        ("ff", "simple value", 0),
        ("f7", "simple value", 0),
        ("e0", "simple value", 0),
        ("f8ff", "simple value", 0),
        ("f93c00", "float not binary64", 0),
        ("fa3f800000", "float not binary64", 0),
        ("fb7ff0000000000000", "float not finite", 0),
        ("fb7ff8000000000000", "float not finite", 0),
        ("fb7ff000", "truncated", 0),
        ("c000", "tag", 0),
        ("d8478100", "tag", 0),
        ("61ff", "text not UTF-8", 0),
        ("63eda080", "text not UTF-8", 0),
        ("a2616101616102", "map key twice", 4),
        ("a2616201616101", "map keys out of order", 4),
        ("a262616101616202", "map keys out of order", 5),
        ("8200c000", "tag", 2),
    ],
)
def test_refuses_bytes_that_are_not_canonical(encoded: str, reason: str, offset: int) -> None:
    with pytest.raises(NotCanonical) as refusal:
        decode_canonical(bytes.fromhex(encoded))
    assert (refusal.value.reason, refusal.value.offset) == (reason, offset)


def test_refuses_a_length_far_beyond_the_input_without_reading_it() -> None:
    with pytest.raises(NotCanonical, match="truncated"):
        decode_canonical(bytes.fromhex("9bffffffffffffffff"))


def test_refuses_deep_nesting_instead_of_exhausting_the_stack() -> None:
    with pytest.raises(NotCanonical, match="nested too deeply"):
        decode_canonical(b"\x81" * 100_000 + b"\x00")
