"""Framing: messages come out whole, wherever the input is cut."""

from typing import Any

import pytest

from impl.wire.cbor_form import Incomplete, decode_item, encode_item
from impl.wire.messages import CborSequence, JsonLines, Unreadable, Wire, wire_of

MESSAGES: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": 0, "method": "a", "params": {"text": "\u00fc\n", "long": "x" * 300}},
    {"jsonrpc": "2.0", "id": 1, "method": "b", "params": {"list": [1, 2, 3], "none": None}},
    {"jsonrpc": "2.0", "method": "tally.bye"},
]


@pytest.mark.parametrize("kind", [JsonLines, CborSequence])
@pytest.mark.parametrize("size", [1, 2, 7, 100, 10_000])
def test_messages_survive_any_cut(kind: type[Wire], size: int) -> None:
    wire = kind()
    stream = b"".join(wire.encode(message) for message in MESSAGES)
    received = [message for start in range(0, len(stream), size) for message in wire.feed(stream[start : start + size])]
    assert received == MESSAGES


@pytest.mark.parametrize("first", range(0xA0, 0xC0))
def test_a_cbor_map_head_starts_a_sequence(first: int) -> None:
    assert isinstance(wire_of(bytes([first, 0])), CborSequence)


@pytest.mark.parametrize("first", [b"{", b" ", b"\n", b"[", b"\x9f", b"\xc0"])
def test_anything_else_is_json(first: bytes) -> None:
    assert isinstance(wire_of(first), JsonLines)


@pytest.mark.parametrize("line", [b"{", b"\xff", b'{"a":}', b"[" * 100_000])
def test_a_bad_line_is_unreadable_and_the_next_one_is_not(line: bytes) -> None:
    bad, good = JsonLines().feed(line + b"\n{}\n")
    assert isinstance(bad, Unreadable)
    assert good == {}


def test_empty_lines_are_no_messages() -> None:
    assert list(JsonLines().feed(b"\n\r\n{}\n\n")) == [{}]


@pytest.mark.parametrize(
    "encoded", ["ff", "9f01ff", "f8ff", "c001", "d84701", "61ff", "d84743010203", "81" * 600 + "00"]
)
def test_bad_cbor_is_unreadable(encoded: str) -> None:
    (bad,) = CborSequence().feed(bytes.fromhex(encoded))
    assert isinstance(bad, Unreadable)


def test_an_unfinished_item_says_how_much_it_needs() -> None:
    whole = encode_item({"data": bytes(1000)})
    with pytest.raises(Incomplete) as unfinished:
        decode_item(b"\x00" + whole[:20], 1)
    assert unfinished.value.needed == len(whole)
