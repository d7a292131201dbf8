"""The operators of canonical CBOR: bytes and digest, and the first violation of bytes that are not canonical."""

import math
from hashlib import sha256
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.reference import backend
from impl.reference.serialization.canonical import VIOLATIONS, Violation
from impl.tests.batch_calls import failure_of

ENCODE = "UML_OS.Serialization.EncodeCanonical_v1"
VALIDATE = "UML_OS.Serialization.ValidateCanonical_v1"

SCALARS = st.none() | st.booleans() | st.integers(-(2**64), 2**64 - 1) | st.binary() | st.text()
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def encoded(item: object) -> str:
    canonical: bytes = backend.call(ENCODE, {"item": item})["canonical"]
    return canonical.hex()


def validation(candidate: str) -> dict[str, Any]:
    return backend.call(VALIDATE, {"candidate": bytes.fromhex(candidate)})


def nested(levels: int) -> str:
    return "81" * levels + "00"


def test_a_float_is_always_binary64() -> None:
    assert encoded(1.0) == "fb3ff0000000000000"


def test_negative_zero_keeps_its_sign() -> None:
    assert encoded(-0.0) == "fb8000000000000000"
    assert encoded(0.0) == "fb0000000000000000"


def test_a_shorter_key_precedes_a_longer_one_whatever_their_letters() -> None:
    assert encoded({"aa": 1, "b": 2}) == "a26162026261" + "6101"


@pytest.mark.parametrize(
    ("item", "canonical"),
    [
        (None, "f6"),
        (False, "f4"),
        (True, "f5"),
        (23, "17"),
        (24, "1818"),
        (2**64 - 1, "1bffffffffffffffff"),
        (-(2**64), "3bffffffffffffffff"),
        (b"\x00\xff", "4200ff"),
        ("a\x00\u00fc", "646100c3bc"),
        ([1, [2]], "82018102"),
        ({}, "a0"),
    ],
)
def test_a_value_has_one_encoding(item: object, canonical: str) -> None:
    answer = backend.call(ENCODE, {"item": item})
    assert answer == {"canonical": bytes.fromhex(canonical), "digest": sha256(bytes.fromhex(canonical)).digest()}


@pytest.mark.parametrize(
    "item",
    [
        math.nan,
        [math.inf],
        {"a": -math.inf},
        2**64,
        -(2**64) - 1,
        "\ud800",
        (("a", 1), ("a", 1)),
        ((1, 2),),
        ((None, 2), ("a", 1)),
        {"a": ((b"", 2),)},
    ],
)
def test_a_value_outside_the_profile_is_refused(item: object) -> None:
    record = failure_of(ENCODE, {"item": item})
    assert record == {"failure_code": "CONTRACT_VIOLATION", "failure_operator": ENCODE}


def test_nesting_is_refused_beyond_its_limit_on_both_sides() -> None:
    deepest: object = 0
    for _ in range(256):
        deepest = [deepest]
    assert encoded(deepest) == nested(256)
    assert validation(nested(256))["valid"]
    assert failure_of(ENCODE, {"item": [deepest]})["failure_code"] == "CONTRACT_VIOLATION"
    assert validation(nested(257)) == {"valid": False, "reason": "TOO_DEEP", "offset": 257}


@pytest.mark.parametrize(
    ("candidate", "reason", "offset"),
    [
        ("", "TRUNCATED", 0),
        ("8201", "TRUNCATED", 2),
        ("9b1000000000000000", "TRUNCATED", 9),
        ("5b1000000000000000ff", "TRUNCATED", 0),
        ("0000", "TRAILING_BYTES", 1),
        ("1817", "NOT_SHORTEST", 0),
        ("820018ff1800", "TRAILING_BYTES", 4),
        ("8200190000", "NOT_SHORTEST", 2),
        ("780161", "NOT_SHORTEST", 0),
        ("9f01ff", "INDEFINITE_LENGTH", 0),
        ("1f", "RESERVED_LENGTH", 0),
        ("1c", "RESERVED_LENGTH", 0),
        ("a10000", "KEY_NOT_TEXT", 1),
        ("a1416100", "KEY_NOT_TEXT", 1),
        ("a2616100616100", "DUPLICATE_KEY", 4),
        ("a2616200616100", "KEY_ORDER", 4),
        ("a262616100616200", "KEY_ORDER", 5),
        ("c000", "TAG", 0),
        ("f7", "SIMPLE_VALUE", 0),
        ("f818", "SIMPLE_VALUE", 0),
        ("ff", "SIMPLE_VALUE", 0),
        ("f93c00", "FLOAT_NOT_BINARY64", 0),
        ("fa3f800000", "FLOAT_NOT_BINARY64", 0),
        ("fb7ff8000000000000", "FLOAT_NOT_FINITE", 0),
        ("fbfff0000000000000", "FLOAT_NOT_FINITE", 0),
        ("62c328", "TEXT_NOT_UTF8", 0),
        ("63eda080", "TEXT_NOT_UTF8", 0),
        (nested(300), "TOO_DEEP", 257),
    ],
)
def test_the_first_violation_is_named_with_its_offset(candidate: str, reason: str, offset: int) -> None:
    assert validation(candidate) == {"valid": False, "reason": reason, "offset": offset}


def test_every_violation_has_a_name_of_its_own() -> None:
    assert sorted(VIOLATIONS.values()) == sorted(get_args(Violation))


@settings(deadline=None, max_examples=40)
@given(VALUES)
def test_what_is_encoded_is_canonical_under_the_same_digest(item: object) -> None:
    answer = backend.call(ENCODE, {"item": item})
    assert backend.call(VALIDATE, {"candidate": answer["canonical"]}) == {"valid": True, "digest": answer["digest"]}


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.text(), SCALARS, min_size=2, max_size=6))
def test_the_order_of_insertion_is_irrelevant(item: dict[str, object]) -> None:
    assert encoded(dict(reversed(item.items()))) == encoded(item)


@settings(deadline=None, max_examples=40)
@given(st.binary(max_size=40))
def test_any_bytes_are_either_canonical_or_have_a_violation(candidate: bytes) -> None:
    answer = backend.call(VALIDATE, {"candidate": candidate})
    if answer["valid"]:
        assert set(answer) == {"valid", "digest"}
    else:
        assert set(answer) == {"valid", "reason", "offset"}
        assert answer["offset"] <= len(candidate)
