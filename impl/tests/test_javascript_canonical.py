"""Strict canonical CBOR in JavaScript: equal to the reference, violation for violation and offset for offset."""

import math
import random
from collections.abc import Callable, Iterator

import cbor2
import pytest

from impl.reference.canonical_cbor import encode_canonical
from impl.tests.javascript_equality import Pair
from impl.tests.javascript_process import Backend, Native, Value

ENCODE_CANONICAL = "UML_OS.Serialization.EncodeCanonical_v1"
VALIDATE_CANONICAL = "UML_OS.Serialization.ValidateCanonical_v1"
DEPTH = 256
LEAVES: list[Native] = [None, True, "", "b", "aa", "\u00fc\x00", b"", b"\x00\xff", 0, 23, 24, -1, 2**64 - 1, -(2**64)]
NUMBERS: list[Native] = [1.0, -0.0, 5e-324, 2**32, 2**53 + 1, 65536, -25]


def some_item(rng: random.Random, depth: int = 3) -> Native:
    kind = rng.random() if depth else 1.0
    if kind < 0.25:
        return [some_item(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind < 0.5:
        keys = ["".join(rng.choices("ab\u00e9", k=rng.randrange(4))) for _ in range(rng.randrange(5))]
        return {key: some_item(rng, depth - 1) for key in keys}
    return rng.choice(LEAVES + NUMBERS)


def damaged(rng: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    match rng.randrange(4):
        case 0:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 1:
            del data[rng.randrange(len(data)) :]
        case 2:
            data.insert(rng.randrange(len(data) + 1), rng.randrange(256))
        case 3:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def test_items_are_encoded_as_the_reference_encodes_them(pair: Pair) -> None:
    rng = random.Random(11)
    for _ in range(200):
        item = some_item(rng)
        assert pair.agree(ENCODE_CANONICAL, {"item": item})["result"]["canonical"] == encode_canonical(item).hex()


def test_of_damaged_bytes_both_name_the_first_violation_and_its_offset(pair: Pair) -> None:
    rng = random.Random(12)
    reasons = set()
    for _ in range(700):
        candidate = damaged(rng, encode_canonical(some_item(rng)))
        reasons.add(pair.agree(VALIDATE_CANONICAL, {"candidate": candidate})["result"].get("reason"))
    assert len(reasons) > 8


@pytest.mark.parametrize(
    "candidate",
    [
        "81" * 257 + "00",
        "81" * 100_000,
        "9b1000000000000000" + "00" * 11,
        "bb1000000000000000" + "6161" + "00" * 9,
        "5b1000000000000000" + "00" * 11,
    ],
    ids=["too-deep", "far-too-deep", "long-array", "long-map", "long-bytes"],
)
def test_no_length_and_no_depth_is_believed(pair: Pair, candidate: str) -> None:
    answer = pair.agree(VALIDATE_CANONICAL, {"candidate": bytes.fromhex(candidate)})
    assert answer["result"]["valid"] is False


@pytest.mark.parametrize("item", [math.nan, math.inf, [-math.inf], {"a": {"b": math.nan}}])
def test_an_item_outside_the_profile_is_refused(pair: Pair, item: Native) -> None:
    assert pair.agree(ENCODE_CANONICAL, {"item": item})["error"]["code"] == 1801


@pytest.mark.parametrize(
    "item", [(("a", 1), ("a", 1)), 2**64, -(2**64) - 1, "\ud800", [(("\udfff", 1),)], ((1, 2),), ((b"a", 2),)]
)
def test_an_item_without_a_canonical_form_is_refused(javascript: Backend, item: Native) -> None:
    failure = javascript.refuse(ENCODE_CANONICAL, {"item": Value(item)})
    assert failure["data"] == {"failure_code": "CONTRACT_VIOLATION", "failure_operator": ENCODE_CANONICAL}


def nested(levels: int) -> Native:
    item: Native = 0
    for _ in range(levels):
        item = [item]
    return item


def test_nesting_is_bounded(pair: Pair) -> None:
    assert pair.agree(ENCODE_CANONICAL, {"item": nested(DEPTH)})["result"]["canonical"] == "81" * DEPTH + "00"
    assert "error" in pair.agree(ENCODE_CANONICAL, {"item": nested(DEPTH + 1)})


@pytest.fixture
def cbor_backend(tool: Callable[[str], str]) -> Iterator[Backend]:
    tool("node")
    backend = Backend("cbor")
    yield backend
    assert backend.finish() == 0


def test_an_item_far_too_deep_is_answered_on_both_wires(javascript: Backend, cbor_backend: Backend) -> None:
    levels = 100_000
    item = '{"array":[' * levels + '{"int":"0"}' + "]}" * levels
    line = f'{{"jsonrpc":"2.0","id":1,"method":"{ENCODE_CANONICAL}","params":{{"item":{item}}}}}\n'
    javascript.send(line.encode())
    assert javascript.receive()["error"]["code"] == 1801
    template = cbor_backend.request(1, ENCODE_CANONICAL, {"item": Value("here")})
    deep = b"\x81" * levels + b"\x82\x9f\x00\xff\xbf\x61a\x5f\x41\x00\xff\xff"
    cbor_backend.send(template.replace(cbor2.dumps("here"), deep))
    assert cbor_backend.receive()["error"]["code"] == 1801
