"""The three forms of every type have the same value, and both wires carry it, wherever the bytes are cut."""

from __future__ import annotations

import json
from typing import Any

import cbor2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.laws.checkpoint import ENCODE
from conformance.backend.driver import Driver
from conformance.backend.outcome import Failure
from conformance.backend.resolve import resolve
from conformance.backend.scheduler import Call, Conversation
from conformance.codec.cbor import MAX_NESTING, decode, encode
from conformance.codec.codebook import codebook_of
from conformance.codec.form import form_of
from conformance.codec.framing import DIALECTS, Dialect
from conformance.codec.selfdescribing import MAX_DEPTH, from_native
from conformance.contract.types import ListOf, Scalar, Type, Value
from conformance.tests.processes import ROOT
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED
from conformance.tests.types_and_values import self_describing, typed_values

quick = settings(max_examples=60, deadline=None)
MESSAGES: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": 0, "result": {"text": "häß 😀", "list": [1, 2, 3], "empty": {}, "none": None}},
    {"jsonrpc": "2.0", "id": 2**40, "error": {"code": -32601, "message": "", "data": [[], [[True]], "x" * 300]}},
    {},
]


@pytest.fixture(params=["json", "cbor"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return DIALECTS[request.param]


@quick
@given(typed_values())
def test_a_native_value_survives_every_form(typed: tuple[Type, Any]) -> None:
    form = form_of(typed[0])
    wire = form.from_native(typed[1])
    assert form.check(json.loads(json.dumps(wire))) == wire
    assert form.from_native(form.to_native(wire)) == wire
    assert form.from_cbor(decode(encode(form.to_cbor(wire)))[0]) == wire


@quick
@given(typed_values(), st.integers(1, 9))
def test_a_value_crosses_both_wires_in_pieces(typed: tuple[Type, Any], piece: int) -> None:
    form = form_of(typed[0])
    wire = form.from_native(typed[1])
    for dialect in DIALECTS.values():
        data = dialect.dump({"id": 1, "params": dialect.outgoing(form, wire)})
        splitter = dialect.splitter()
        pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
        (message,) = [message for each in pieces for message in splitter.feed(each)]
        assert dialect.incoming(form, message["params"]) == wire


@quick
@given(self_describing())
def test_a_self_describing_value_is_encoded_as_another_encoder_does(value: Any) -> None:
    # cbor2 keeps neither repeated keys nor our tuple form, so those are left out.
    if "(" not in repr(value):
        assert repr(cbor2.loads(encode(value))) == repr(value)


def test_messages_come_out_at_every_byte_boundary(dialect: Dialect) -> None:
    data = b"".join(map(dialect.dump, MESSAGES))
    for cut in range(len(data) + 1):
        splitter = dialect.splitter()
        assert [*splitter.feed(data[:cut]), *splitter.feed(data[cut:])] == MESSAGES
        assert splitter.unfinished() == b""


def test_messages_come_out_byte_by_byte(dialect: Dialect) -> None:
    splitter = dialect.splitter()
    data = b"".join(map(dialect.dump, MESSAGES))
    assert [message for byte in data for message in splitter.feed(bytes([byte]))] == MESSAGES


def test_what_is_not_whole_yet_can_be_shown(dialect: Dialect) -> None:
    splitter = dialect.splitter()
    data = dialect.dump(MESSAGES[0])
    assert list(splitter.feed(data[:-1])) == []
    assert splitter.unfinished() == data[:-1][:200]


def test_a_long_plain_array_in_small_pieces_is_read_once() -> None:
    # Read again from its start at every piece, it would take minutes.
    data = encode({"id": 0, "result": [300] * 200_000})
    splitter = DIALECTS["cbor"].splitter()
    pieces = [data[at : at + 500] for at in range(0, len(data), 500)]
    (message,) = [message for each in pieces for message in splitter.feed(each)]
    assert len(message["result"]) == 200_000


@pytest.mark.parametrize("name", ["uint64", "uint32"])
@given(st.data())
@quick
def test_unsigned_lists_travel_as_typed_arrays_and_are_taken_plain_too(name: str, data: st.DataObject) -> None:
    form = form_of(ListOf(Scalar(name)))
    numbers = data.draw(st.lists(st.integers(0, 2 ** int(name[4:]) - 1), max_size=9))
    wire = form.from_native(numbers)
    raw = np.array(numbers, "<u8" if name == "uint64" else "<u4").tobytes()
    tag = 71 if name == "uint64" else 70
    assert encode(form.to_cbor(wire)) == cbor2.dumps(cbor2.CBORTag(tag, raw))
    assert form.from_cbor(numbers) == wire
    assert form.from_cbor(form_item(cbor2.dumps(cbor2.CBORTag(tag, raw)))) == wire


@given(st.lists(st.integers(0, 2**64 - 1), max_size=9))
@quick
def test_both_wires_give_the_same_bytes_of_a_uint64_list(numbers: list[int]) -> None:
    expected = np.array(numbers, "<u8").tobytes()
    form = form_of(ListOf(Scalar("uint64")))
    wire = form.from_native(numbers)
    assert DIALECTS["json"].uint64_bytes(wire) == expected
    assert DIALECTS["cbor"].uint64_bytes(form_item(encode(form.to_cbor(wire)))) == expected
    assert DIALECTS["cbor"].uint64_bytes(numbers) == expected


@given(self_describing())
@quick
def test_a_self_describing_value_keeps_the_order_and_the_repetition_of_its_keys(value: Any) -> None:
    wire = from_native(value)
    item, _ = decode(encode(value))
    assert from_native(item) == wire


def form_item(data: bytes) -> Any:
    item, end = decode(data)
    assert end == len(data)
    return item


# -- one limit of nesting: what the laws send and the page promises, both wires carry


def nested(kind: str, levels: int = MAX_DEPTH) -> Any:
    wire: Any = {"int": "1"}
    for _ in range(levels):
        wire = {"array": [wire]} if kind == "array" else {"map": [[{"text": ""}, wire]]}
    return wire


@pytest.mark.parametrize("wire", ["json", "cbor"])
@pytest.mark.parametrize("kind", ["array", "map"])
def test_the_deepest_value_crosses_both_wires_and_reaches_a_backend(wire: str, kind: str) -> None:
    dialect, form, value = DIALECTS[wire], form_of(Value()), nested(kind)
    data = dialect.dump({"id": 1, "params": {"item": dialect.outgoing(form, value)}})
    (message,) = dialect.splitter().feed(data)
    assert dialect.incoming(form, message["params"]["item"]) == value

    def talk() -> Any:
        return (yield [Call(ENCODE, {"item": value})])

    driver = Driver(resolve("reference", SHIPPED, wire), dialect, codebook_of(shipped_library()), 30.0)
    (finished,) = driver.run([Conversation("deep", talk)])
    assert finished.finding is not None, finished.lost
    (outcome,) = finished.finding
    assert isinstance(outcome, Failure)
    assert outcome.message == "CONTRACT_VIOLATION"


def test_the_laws_and_the_page_state_the_limit_of_the_wires() -> None:
    (use,) = [use for use in shipped_library().contracts[ENCODE].laws if use.law == "canonical-nesting"]
    assert max(use.over["levels"]) == MAX_DEPTH
    page = " ".join((ROOT / "docs" / "writing-a-backend.md").read_text(encoding="utf-8").split())
    assert f"nests at most {MAX_DEPTH} arrays and maps, and a whole message at most {MAX_NESTING:,}" in page
    assert f"at most {MAX_DEPTH} arrays and maps in one another" in (ROOT / "docs" / "language.md").read_text()
