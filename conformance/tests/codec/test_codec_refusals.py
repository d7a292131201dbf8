"""Each value has one form on each wire; every other is refused, with the path of what is wrong."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from itertools import repeat
from typing import Any

import pytest

from conformance.codec.cbor import MAX_ITEMS, MAX_NESTING, IllFormed, Incomplete, decode, encode_canonical
from conformance.codec.form import form_of
from conformance.codec.framing import DIALECTS, MAX_MESSAGE, Garbage, Splitter
from conformance.codec.scalar import IllTyped, is_hex, shorten, show_path
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value

POINT = Struct((Field("x", Scalar("uint64")), Field("note", Scalar("string"), optional=True)))
NESTED = Struct((Field("points", ListOf(POINT)), Field("by_name", MapOf(Scalar("bytes")))))


def tensor(dtype: object = "uint8", shape: object = (2,), data: object = "AAE=") -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape) if isinstance(shape, tuple) else shape, "data": data}


NOT_THE_FORM: list[tuple[Type, tuple[Any, ...]]] = [
    (
        Scalar("uint64"),
        ("007", "+1", "-1", "-0", "", " 1", "1 ", "1_0", "1.0", "0x1", "1e3", "٣", "²", str(2**64), 1, True),
    ),
    (Scalar("int64"), ("-0", "--1", "-", str(2**63), str(-(2**63) - 1), "9" * 5000, None)),
    (Scalar("uint32"), (-1, 2**32, "1", 1.0, True, None, [1])),
    (Scalar("int8"), (128, -129)),
    (Scalar("bool"), (0, 1, "true", None)),
    (Scalar("string"), (1, None, "\ud800", b"x")),
    (Scalar("bytes"), ("0", "AB", "0x00", "zz", " 00", "00\n", 0, None, b"")),
    (Scalar("bytes16"), ("", "00" * 15, "00" * 17)),
    (Scalar("float64"), (1.5, 1, "3ff", "3FF0000000000000", "3ff00000000000000", "1.5", None)),
    (Scalar("float32"), ("3ff0000000000000", "3f80000", 1.0)),
    (Enum(("train", "eval")), ("Train", "", None, 0, ["train"], {})),
    (
        ListOf(Scalar("uint64")),
        (["1", 2], ["1", "02"], ["1,2"], ["-1"], [""], [None], "1", {"0": "1"}, None, ["1\n"], [str(2**64)]),
    ),
    (ListOf(Scalar("int64")), (["-0"], ["1", "-"], [str(2**63)])),
    (ListOf(Scalar("uint8")), (["1"], [256], None, (1,))),
    (MapOf(Scalar("uint8")), ([], None, {"\udfff": 1}, {"a": "1"})),
    (POINT, ({}, {"x": None}, {"x": "1", "note": None}, {"x": "1", "z": 0}, [], None, "x")),
    (Tensor("uint8"), (tensor("uint16"), tensor(["uint8"]), tensor({}), tensor(shape=[1]), tensor(shape=["2"]))),
    (Tensor("uint8"), (tensor(shape=[-2]), tensor(shape=[2.0]), tensor(shape="2"), tensor(shape=[True, 2]))),
    (Tensor("uint8"), (tensor(shape=[1] * 32 + [2]), tensor(shape=[0, 2**70], data=""), [], None)),
    (Tensor("uint8"), (tensor(data="AAE"), tensor(data="AAF="), tensor(data="AA E="), tensor(data="AAE=\n"))),
    (
        Tensor("uint8"),
        (tensor(data="AA-_"), tensor(data=0), {**tensor(), "strides": [1]}, {"dtype": "uint8", "shape": [2]}),
    ),
    (Tensor("bool"), (tensor("bool", [1], base64.b64encode(b"\2").decode()),)),
    (Tensor(), (tensor("complex64", [1], "AAAAAAAAAAA="),)),
    (Value(), (1, "x", [], {}, {"tag": None}, {"text": "a", "int": "1"}, {"text": 1}, {"text": "\ud800"})),
    (Value(), ({"int": 5}, {"int": "05"}, {"int": "-0"}, {"int": str(2**64)}, {"int": str(-(2**64) - 1)})),
    (Value(), ({"float": "3ff0"}, {"float": 1.5}, {"bytes": "0G"}, {"bytes": "AB"}, {"array": {}}, {"array": [1]})),
    (Value(), ({"map": [["a"]]}, {"map": {"a": None}}, {"map": [[None, None, None]]})),
]


@pytest.mark.parametrize(("type_", "wire"), [(type_, wire) for type_, wires in NOT_THE_FORM for wire in wires])
def test_a_wire_value_in_another_form_is_refused(type_: Type, wire: Any) -> None:
    with pytest.raises(IllTyped):
        form_of(type_).check(wire)


@pytest.mark.parametrize(
    ("type_", "item"),
    [
        (Scalar("uint64"), "25"),  # -6
        (Scalar("uint64"), "f5"),
        (Scalar("uint64"), "6135"),  # the text "5"
        (Scalar("uint64"), "fb4014000000000000"),
        (Scalar("uint8"), "190100"),
        (Scalar("bytes"), "623030"),  # text in the place of bytes
        (Scalar("string"), "4130"),
        (Scalar("bool"), "f6"),
        (Scalar("bool"), "01"),
        (Scalar("float64"), "f93e00"),
        (Scalar("float64"), "fa3fc00000"),
        (Scalar("float32"), "fb3ff8000000000000"),
        (Scalar("float64"), "01"),
        (ListOf(Scalar("uint64")), "d84847" + "00" * 7),  # tag 72
        (ListOf(Scalar("uint64")), "d84747" + "00" * 7),  # seven bytes
        (ListOf(Scalar("uint64")), "d84700"),
        (ListOf(Scalar("uint32")), "d84748" + "ff" * 8),  # beyond uint32
        (ListOf(Scalar("uint8")), "d84644" + "00" * 4),  # typed arrays are for uint32 and uint64
        (ListOf(Scalar("uint64")), "8120"),
        (MapOf(Scalar("uint8")), "a10102"),  # a key that is not text
        (MapOf(Scalar("uint8")), "a2616101616101"),  # a key twice
        (POINT, "a2617801617801"),
        (POINT, "a0"),
        (POINT, "a16178f6"),
        (Tensor(), "a36564747970656575696e7438657368617065810164646174616130"),  # data as text
        (Tensor(), "a36564747970656575696e743865736861706581026464617461" + "4130"),  # a byte of two
        (Value(), "f7"),  # undefined
        (Value(), "c001"),
        (Value(), "e0"),
    ],
)
def test_an_item_in_another_form_is_refused(type_: Type, item: str) -> None:
    decoded, _ = decode(bytes.fromhex(item))
    with pytest.raises(IllTyped):
        form_of(type_).from_cbor(decoded)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Scalar("uint64"), -1),
        (Scalar("uint64"), True),
        (Scalar("uint64"), 1.0),
        (Scalar("float32"), 0.1),  # lies between two float32
        (Scalar("float32"), 1e300),
        (Scalar("float16"), 70000.0),
        (Scalar("float64"), 1),
        (Scalar("bytes16"), b"short"),
        (Scalar("bytes"), "00"),
        (ListOf(Scalar("uint64")), (1, 2)),
        (Tensor(), [1]),
        (Value(), {1, 2}),
        (Value(), "\ud800"),
    ],
)
def test_a_native_value_of_another_type_is_refused(type_: Type, value: Any) -> None:
    with pytest.raises(IllTyped):
        form_of(type_).from_native(value)


def test_a_refusal_names_the_path() -> None:
    wire = {"points": [{"x": "1"}, {"x": "01"}], "by_name": {}}
    with pytest.raises(IllTyped, match=r"points\[1\]\.x: expected uint64 as a decimal string, found '01'"):
        form_of(NESTED).check(wire)


def test_a_path_shows_no_control_characters() -> None:
    assert show_path(("map", "a\x1b[2J\ud800 b", 3)) == 'map["a\\u001b[2J\\ud800 b"][3]'


def test_a_volatile_field_is_held_to_its_type_and_left_out() -> None:
    form = form_of(Struct((Field("handle", Scalar("string"), volatile=True), Field("x", Scalar("bool")))))
    assert form.check({"handle": "h", "x": True}) == {"x": True}
    assert form.from_cbor({"handle": "h", "x": True}) == {"x": True}
    for wrong in ({"x": True}, {"handle": 1, "x": True}):
        with pytest.raises(IllTyped):
            form.check(wrong)


@pytest.mark.parametrize("depth", [301, 400, 900, 3000])
def test_a_value_nested_too_deeply_is_ill_typed_and_can_be_shown(depth: int) -> None:
    wire: Any = None
    for _ in range(depth):
        wire = {"array": [wire]}
    with pytest.raises(IllTyped) as refusal:
        form_of(Value()).check(wire)
    assert len(str(refusal.value)) < 5000
    assert len(shorten(wire)) < 200


@pytest.mark.parametrize(
    "item", ["9fff", "5fff", "7fff", "bfff", "1c", "1f", "ff", "f800", "f81f", "61ff", "62c328", "fc", "81" * 1001]
)
def test_bytes_that_no_more_bytes_can_mend_are_ill_formed(item: str) -> None:
    with pytest.raises(IllFormed):
        decode(bytes.fromhex(item))


@pytest.mark.parametrize(
    "item", ["", "18", "1b00", "41", "6261", "8201", "a161", "c1", "d847", "1b00000000000000", "fb00"]
)
def test_bytes_that_end_inside_an_item_are_incomplete(item: str) -> None:
    with pytest.raises(Incomplete):
        decode(bytes.fromhex(item))


def test_an_array_that_claims_too_many_items_is_refused_before_they_come() -> None:
    with pytest.raises(IllFormed, match="items"):
        decode(b"\x9a" + (MAX_ITEMS + 1).to_bytes(4, "big"))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"[]",
        b"1",
        b"null",
        b'"x"',
        b'{"id":1',
        b'{"id":1,}',
        b'{"id":1}{}',
        b'{"id":NaN}',
        b'{"id":-Infinity}',
        b'{"id":1,"id":1}',
        b'{"a":{"b":1,"b":2}}',
        b'{"id":"\xff"}',
        b"\xef\xbb\xbf{}",
        b"{'id':1}",
        b'{"id":' + b"9" * 5000 + b"}",
        b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":"\x01"}',
    ],
)
def test_a_line_that_is_no_message_is_garbage(line: bytes) -> None:
    with pytest.raises(Garbage) as garbage:
        list(DIALECTS["json"].splitter().feed(line + b"\n"))
    assert len(garbage.value.sample) <= 200
    assert len(garbage.value.reason) < 200


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_line_may_nest_as_deeply_as_any_value_and_no_deeper_than_the_harness_can_follow(
    opening: bytes, closing: bytes
) -> None:
    def message(nesting: int) -> bytes:
        return b'{"id":' + opening * (nesting - 1) + b"1" + closing * (nesting - 1) + b"}\n"

    assert len(list(DIALECTS["json"].splitter().feed(message(MAX_NESTING)))) == 1
    for nesting in (MAX_NESTING + 1, 2000, 5900, 5990):
        with pytest.raises(Garbage, match="nested too deeply"):
            list(DIALECTS["json"].splitter().feed(message(nesting)))


@pytest.mark.parametrize(
    "data",
    [b"\x01", b'{"id":0}\n', b"\x80", b"\xa1\x01\x02", b"\xa2\x61a\x01\x61a\x01", b"\xbf\xff", b"\xa1\x61\xff\x01"],
)
def test_an_item_that_is_no_message_is_garbage(data: bytes) -> None:
    with pytest.raises(Garbage):
        list(DIALECTS["cbor"].splitter().feed(data))


@pytest.mark.parametrize(
    ("wire", "data"),
    [
        ("cbor", b"\xa2\x62id\x00\x66result\x82\x01\x1f"),
        ("cbor", b"\xa2\x61a\x01\x61a\x01"),
        ("cbor", b'{"jsonrpc":'),
        ("json", b"Loading the model, please wait for a moment ...\n"),
    ],
)
def test_what_is_said_of_garbage_does_not_depend_on_how_it_was_cut(wire: str, data: bytes) -> None:
    said = set()
    for piece in range(1, len(data) + 1):
        splitter = DIALECTS[wire].splitter()
        with pytest.raises(Garbage) as garbage:
            feed_all(splitter, (data[at : at + piece] for at in range(0, len(data), piece)))
        said.add((garbage.value.reason, garbage.value.sample))
    assert len(said) == 1


def test_an_endless_line_is_refused_at_the_limit() -> None:
    splitter, piece = DIALECTS["json"].splitter(), b"x" * (1 << 20)
    feed_all(splitter, repeat(piece, MAX_MESSAGE // len(piece)))
    with pytest.raises(Garbage, match="more than"):
        list(splitter.feed(piece))


def test_a_string_longer_than_a_message_is_refused_at_its_head() -> None:
    head = b"\xa1\x61a\x5b" + (MAX_MESSAGE + 1).to_bytes(8, "big")
    with pytest.raises(Garbage, match="more than"):
        list(DIALECTS["cbor"].splitter().feed(head))


def test_a_line_of_too_many_items_is_refused_unread() -> None:
    with pytest.raises(Garbage, match="items"):
        list(DIALECTS["json"].splitter().feed(b'{"result":[' + b"[]," * (MAX_ITEMS // 2) + b"[]]}\n"))


def feed_all(splitter: Splitter, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        list(splitter.feed(piece))


@pytest.mark.parametrize("value", [-math.nan, [{"a": -math.nan}], (("a", 1), ("a", 2))])
def test_what_has_no_canonical_bytes_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (two different sentences)
        encode_canonical(value)


@pytest.mark.parametrize(("value", "bits"), [(math.nan, "7ff8"), (math.inf, "7ff0"), (-math.inf, "fff0")])
def test_infinities_and_the_one_nan_have_canonical_bytes(value: float, bits: str) -> None:
    assert encode_canonical(value).hex() == f"fb{bits}000000000000"


@pytest.mark.parametrize("wire", ["", "00", "ff", "0123456789abcdef"])
def test_lower_case_digits_of_whole_bytes_are_hex(wire: str) -> None:
    assert is_hex(wire)


@pytest.mark.parametrize("wire", ["0", "000", "FF", "aF", " ", "00 ", " 00", "00 11", "00\n", "zz", "0x00", "٠٠", "é"])
def test_no_other_text_is_hex(wire: str) -> None:
    assert not is_hex(wire)
