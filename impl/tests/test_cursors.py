"""The cursors of a checkpoint: one map, one byte string."""

import pytest

from impl.reference import backend
from impl.reference.canonical_cbor import encode_canonical
from impl.tests.batch_calls import failure_of

ENCODE = "UML_OS.Data.EncodeCursors_v1"
DECODE = "UML_OS.Data.DecodeCursors_v1"
CURSOR = "a26565706f6368" + "{epoch}" + "6c676c6f62616c5f696e646578" + "{index}"


def cursor_hex(epoch: str, index: str) -> str:
    return CURSOR.format(epoch=epoch, index=index)


def encode(cursors: dict[str, dict[str, int]]) -> str:
    encoded: bytes = backend.call(ENCODE, {"cursors": cursors})["cursors_cbor"]
    return encoded.hex()


@pytest.mark.parametrize(
    ("cursors", "expected"),
    [
        ({}, "a0"),
        ({"d": {"epoch": 0, "global_index": 4}}, "a16164" + cursor_hex("00", "04")),
        (
            {"aa": {"epoch": 1, "global_index": 2}, "b": {"epoch": 2**64 - 1, "global_index": 24}},
            "a26162" + cursor_hex("1bffffffffffffffff", "1818") + "626161" + cursor_hex("01", "02"),
        ),
    ],
)
def test_cursors_encode_and_decode(cursors: dict[str, dict[str, int]], expected: str) -> None:
    assert encode(cursors) == expected
    assert backend.call(DECODE, {"cursors_cbor": bytes.fromhex(expected)})["cursors"] == cursors


def test_the_order_of_the_keys_given_does_not_matter() -> None:
    one, two = {"epoch": 1, "global_index": 1}, {"epoch": 2, "global_index": 2}
    assert encode({"one": one, "two": two}) == encode({"two": two, "one": one})


@pytest.mark.parametrize(
    "refused",
    [
        b"",
        encode_canonical([]),
        encode_canonical(None),
        encode_canonical(((1, {"epoch": 0, "global_index": 0}),)),
        encode_canonical({"d": []}),
        encode_canonical({"d": {}}),
        encode_canonical({"d": {"epoch": 0}}),
        encode_canonical({"d": {"epoch": 0, "global_index": 0, "rank": 0}}),
        encode_canonical({"d": {"epoch": -1, "global_index": 0}}),
        encode_canonical({"d": {"epoch": 0, "global_index": True}}),
        encode_canonical({"d": {"epoch": 0.0, "global_index": 0}}),
        encode_canonical({"d": {"epoch": "0", "global_index": 0}}),
        encode_canonical({"d": {"epoch": None, "global_index": 0}}),
        encode_canonical({}) + b"\x00",
        bytes.fromhex("a16164" + cursor_hex("00", "1804")),
        bytes.fromhex("a16164" + cursor_hex("00", "04")[:-2]),
        bytes.fromhex("a16164" + "a26c676c6f62616c5f696e646578046565706f636800"),
        bytes.fromhex("a26162" + cursor_hex("00", "04") + "6161" + cursor_hex("00", "04")),
        bytes.fromhex("a26161" + cursor_hex("00", "04") + "6161" + cursor_hex("00", "04")),
        bytes.fromhex("bf6164" + cursor_hex("00", "04") + "ff"),
    ],
)
def test_anything_but_the_canonical_bytes_is_refused(refused: bytes) -> None:
    assert failure_of(DECODE, {"cursors_cbor": refused}) == {
        "failure_code": "CONTRACT_VIOLATION",
        "failure_operator": DECODE,
    }
