"""Strict canonical CBOR in the JavaScript backend: what is encoded, and the first violation of what is not."""

import hashlib
import math
from collections.abc import Callable, Iterator

import cbor2
import pytest

from impl.tests.javascript_checkpoint import ENCODE_CANONICAL, VALIDATE_CANONICAL
from impl.tests.javascript_process import Backend, Native, Value

DEPTH = 256


@pytest.fixture(scope="module", params=["json", "cbor"])
def backend(request: pytest.FixtureRequest, tool: Callable[[str], str]) -> Iterator[Backend]:
    tool("node")
    started = Backend(request.param)
    yield started
    assert started.finish() == 0


@pytest.fixture(scope="module")
def json_backend(tool: Callable[[str], str]) -> Iterator[Backend]:
    tool("node")
    started = Backend("json")
    yield started
    assert started.finish() == 0


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (1.0, "fb3ff0000000000000"),
        (-0.0, "fb8000000000000000"),
        (5e-324, "fb0000000000000001"),
        (0, "00"),
        (23, "17"),
        (24, "1818"),
        (255, "18ff"),
        (256, "190100"),
        (65536, "1a00010000"),
        (2**32, "1b0000000100000000"),
        (2**53 + 1, "1b0020000000000001"),
        (2**64 - 1, "1bffffffffffffffff"),
        (-1, "20"),
        (-(2**64), "3bffffffffffffffff"),
        (None, "f6"),
        (True, "f5"),
        (b"\x00\xff", "4200ff"),
        ("\u00fc\x00", "63c3bc00"),
        ({"aa": 1, "b": 2}, "a2616202626161" + "01"),
        ({}, "a0"),
        ([[], {}], "8280a0"),
    ],
)
def test_an_item_has_one_canonical_encoding(backend: Backend, item: Native, expected: str) -> None:
    encoded = bytes.fromhex(expected)
    result = backend.call(ENCODE_CANONICAL, {"item": Value(item)})
    assert result == backend.form({"canonical": encoded, "digest": hashlib.sha256(encoded).digest()})


def test_the_order_of_insertion_is_irrelevant(backend: Backend) -> None:
    ascending = {f"key {number}": number for number in range(300)}
    descending = dict(reversed(ascending.items()))
    first, second = (backend.call(ENCODE_CANONICAL, {"item": Value(item)}) for item in (ascending, descending))
    assert first == second


@pytest.mark.parametrize("item", [math.nan, math.inf, [-math.inf], {"a": {"b": math.nan}}, {1: 2}, {b"a": 2}])
def test_an_item_outside_the_profile_is_refused(backend: Backend, item: Native) -> None:
    expected = {"failure_code": "CONTRACT_VIOLATION", "failure_operator": ENCODE_CANONICAL}
    failure = backend.refuse(ENCODE_CANONICAL, {"item": Value(item)})
    assert failure == {"code": 1801, "message": "CONTRACT_VIOLATION", "data": expected}


@pytest.mark.parametrize("item", [(("a", 1), ("a", 1)), 2**64, -(2**64) - 1, "\ud800", [(("\udfff", 1),)]])
def test_an_item_without_a_cbor_form_is_refused(json_backend: Backend, item: Native) -> None:
    failure = json_backend.refuse(ENCODE_CANONICAL, {"item": Value(item)})
    assert failure["data"] == {"failure_code": "CONTRACT_VIOLATION", "failure_operator": ENCODE_CANONICAL}


def nested(levels: int) -> Native:
    item: Native = 0
    for _ in range(levels):
        item = [item]
    return item


def test_nesting_is_bounded_for_items(backend: Backend) -> None:
    result = backend.call(ENCODE_CANONICAL, {"item": Value(nested(DEPTH))})
    assert result["canonical"] == backend.form(b"\x81" * DEPTH + b"\x00")
    refused = backend.refuse(ENCODE_CANONICAL, {"item": Value(nested(DEPTH + 1))})
    assert refused["message"] == "CONTRACT_VIOLATION"


def test_an_item_far_too_deep_is_answered_on_both_wires() -> None:
    levels = 100_000
    backend = Backend("json")
    item = '{"array":[' * levels + '{"int":"0"}' + "]}" * levels
    line = f'{{"jsonrpc":"2.0","id":1,"method":"{ENCODE_CANONICAL}","params":{{"item":{item}}}}}\n'
    backend.send(line.encode())
    assert backend.receive()["error"]["code"] == 1801
    assert backend.finish() == 0
    backend = Backend("cbor")
    template = backend.request(1, ENCODE_CANONICAL, {"item": Value("here")})
    deep = b"\x81" * levels + b"\x82\x9f\x00\xff\xbf\x61a\x5f\x41\x00\xff\xff"
    backend.send(template.replace(cbor2.dumps("here"), deep))
    assert backend.receive()["error"]["code"] == 1801
    assert backend.finish() == 0


@pytest.mark.parametrize(
    "candidate", ["00", "f4", "f6", "3bffffffffffffffff", "fb8000000000000000", "a2616202626161" + "01", "6161", "40"]
)
def test_canonical_bytes_are_valid(backend: Backend, candidate: str) -> None:
    encoded = bytes.fromhex(candidate)
    result = backend.call(VALIDATE_CANONICAL, {"candidate": encoded})
    assert result == backend.form({"valid": True, "digest": hashlib.sha256(encoded).digest()})


INVALID = [
    ("1817", "NOT_SHORTEST", 0),
    ("8200190017", "NOT_SHORTEST", 2),
    ("5801ff", "NOT_SHORTEST", 0),
    ("1b00000000ffffffff", "NOT_SHORTEST", 0),
    ("9b0000000000000000", "NOT_SHORTEST", 0),
    ("8100" + "00", "TRAILING_BYTES", 2),
    ("00ff", "TRAILING_BYTES", 1),
    ("9f00ff", "INDEFINITE_LENGTH", 0),
    ("5f4100ff", "INDEFINITE_LENGTH", 0),
    ("a17f6161ff00", "INDEFINITE_LENGTH", 1),
    ("a2626161016162" + "02", "KEY_ORDER", 5),
    ("a3616100616200616100", "KEY_ORDER", 7),
    ("a2616100616101", "DUPLICATE_KEY", 4),
    ("81c000", "TAG", 1),
    ("d81800", "TAG", 0),
    ("f93c00", "FLOAT_NOT_BINARY64", 0),
    ("f97e00", "FLOAT_NOT_BINARY64", 0),
    ("fa3f800000", "FLOAT_NOT_BINARY64", 0),
    ("fb7ff8000000000000", "FLOAT_NOT_FINITE", 0),
    ("8200fbfff0000000000000", "FLOAT_NOT_FINITE", 2),
    ("61ff", "TEXT_NOT_UTF8", 0),
    ("8163eda080", "TEXT_NOT_UTF8", 1),
    ("62c080", "TEXT_NOT_UTF8", 0),
    ("", "TRUNCATED", 0),
    ("19", "TRUNCATED", 0),
    ("8200", "TRUNCATED", 2),
    ("814200", "TRUNCATED", 1),
    ("fb3ff0", "TRUNCATED", 0),
    ("1c", "RESERVED_LENGTH", 0),
    ("ff", "SIMPLE_VALUE", 0),
    ("1f", "RESERVED_LENGTH", 0),
    ("df", "TAG", 0),
    ("5e", "RESERVED_LENGTH", 0),
    ("fc", "SIMPLE_VALUE", 0),
    ("f7", "SIMPLE_VALUE", 0),
    ("e0", "SIMPLE_VALUE", 0),
    ("81f820", "SIMPLE_VALUE", 1),
    ("a10000", "KEY_NOT_TEXT", 1),
    ("a11c", "KEY_NOT_TEXT", 1),
    ("a17d", "RESERVED_LENGTH", 1),
    ("a1410000", "KEY_NOT_TEXT", 1),
    ("81" * 257 + "00", "TOO_DEEP", 257),
    ("81" * 100_000, "TOO_DEEP", 257),
    ("9b1000000000000000" + "00" * 11, "TRUNCATED", 20),
    ("bb1000000000000000" + "6161" + "00" * 9, "KEY_NOT_TEXT", 12),
    ("5b1000000000000000" + "00" * 11, "TRUNCATED", 0),
]


@pytest.mark.parametrize(("candidate", "reason", "offset"), INVALID, ids=lambda part: str(part)[:24])
def test_the_first_violation_is_named_with_its_offset(
    backend: Backend, candidate: str, reason: str, offset: int
) -> None:
    result = backend.call(VALIDATE_CANONICAL, {"candidate": bytes.fromhex(candidate)})
    assert result == backend.form({"valid": False, "reason": reason, "offset": offset})


def test_nesting_up_to_the_bound_is_valid(backend: Backend) -> None:
    assert backend.call(VALIDATE_CANONICAL, {"candidate": b"\x81" * DEPTH + b"\x00"})["valid"] is True
