"""The wire forms of every type, in JSON and in CBOR."""

import json
from array import array
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from impl.types import (
    UINT32,
    UINT64,
    ArrayOf,
    Tensor,
    Value,
    bytes16,
    float16,
    float32,
    float64,
    int8,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from impl.wire.cbor_form import CborForm, decode_item, encode_item
from impl.wire.codec import compile_codec, compile_parameters, compile_result
from impl.wire.json_form import JsonForm, NativeForm


@dataclass(frozen=True, slots=True)
class Inner:
    n: uint64
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner
    many: list[Inner]
    named: dict[str, Inner]
    extra: list[uint64] | None = None


CASES: list[tuple[Any, Any, Any, str]] = [
    (bool, True, True, "f5"),
    (str, "\u00fc\x00", "\u00fc\x00", "63c3bc00"),
    (Literal["a", "b"], "a", "a", "6161"),
    (uint8, 200, 200, "18c8"),
    (uint16, 500, 500, "1901f4"),
    (uint32, 2**32 - 1, 2**32 - 1, "1affffffff"),
    (int8, -1, -1, "20"),
    (uint64, 2**64 - 1, "18446744073709551615", "1bffffffffffffffff"),
    (uint64, 0, "0", "00"),
    (int64, -(2**63), "-9223372036854775808", "3b7fffffffffffffff"),
    (bytes, b"", "", "40"),
    (bytes16, bytes(range(16)), "000102030405060708090a0b0c0d0e0f", "50000102030405060708090a0b0c0d0e0f"),
    (float64, 0.4, "3fd999999999999a", "fb3fd999999999999a"),
    (float64, -0.0, "8000000000000000", "fb8000000000000000"),
    (float32, 1.5, "3fc00000", "fa3fc00000"),
    (float16, 1.5, "3e00", "f93e00"),
    (list[uint64], [1, 2**64 - 1], ["1", "18446744073709551615"], "d847500100000000000000ffffffffffffffff"),
    (list[uint64], [], [], "d84740"),
    (list[uint32], [1, 2], [1, 2], "d846480100000002000000"),
    (list[int64], [-1, 2], ["-1", "2"], "822002"),
    (list[str], ["a"], ["a"], "816161"),
    (list[bytes], [b"\x01"], ["01"], "814101"),
    (dict[str, uint64], {"b": 1, "a": 2}, {"b": "1", "a": "2"}, "a2616201616102"),
    (dict[str, bool], {"b": True}, {"b": True}, "a16162f5"),
    (Value, None, None, "f6"),
    (Value, False, False, "f4"),
    (Value, "x", {"text": "x"}, "6178"),
    (Value, -5, {"int": "-5"}, "24"),
    (Value, 1.0, {"float": "3ff0000000000000"}, "fb3ff0000000000000"),
    (Value, b"\x00\xff", {"bytes": "00ff"}, "4200ff"),
    (Value, [1, "a"], {"array": [{"int": "1"}, {"text": "a"}]}, "82016161"),
    (Value, {}, {"map": []}, "a0"),
    (Value, {"b": 1, "a": None}, {"map": [[{"text": "b"}, {"int": "1"}], [{"text": "a"}, None]]}, "a26162016161f6"),
    (
        Value,
        ((1, "int"), (True, "bool"), (1.0, "float")),
        {
            "map": [
                [{"int": "1"}, {"text": "int"}],
                [True, {"text": "bool"}],
                [{"float": "3ff0000000000000"}, {"text": "float"}],
            ]
        },
        "a30163696e74f564626f6f6cfb3ff000000000000065666c6f6174",
    ),
    (
        Value,
        (("a", 1), ("a", 2)),
        {"map": [[{"text": "a"}, {"int": "1"}], [{"text": "a"}, {"int": "2"}]]},
        "a2616101616102",
    ),
    (
        Tensor,
        Tensor("uint8", (2, 1), b"\x01\xff"),
        {"dtype": "uint8", "shape": [2, 1], "data": "Af8="},
        "a365647479706565" + "75696e7438" + "657368617065820201" + "64646174614201ff",
    ),
    (Inner, Inner(7), {"n": "7"}, "a1616e07"),
    (Inner, Inner(7, "x"), {"n": "7", "label": "x"}, "a2616e07656c6162656c6178"),
    (
        Outer,
        Outer(Inner(1), [Inner(2)], {"k": Inner(3)}, [4]),
        {"inner": {"n": "1"}, "many": [{"n": "2"}], "named": {"k": {"n": "3"}}, "extra": ["4"]},
        "a465696e6e6572a1616e01646d616e7981a1616e02656e616d6564a1616ba1616e03656578747261d847480400000000000000",
    ),
]


def apply(convert: Any, item: Any) -> Any:
    return item if convert is None else convert(item)


@pytest.mark.parametrize(("annotation", "native", "in_json", "in_cbor"), CASES)
def test_json_form(annotation: Any, native: Any, in_json: Any, in_cbor: str) -> None:
    codec = compile_codec(annotation, JsonForm())
    assert json.dumps(apply(codec.write, native)) == json.dumps(in_json)
    read = apply(codec.read, json.loads(json.dumps(in_json)))
    assert read == native
    assert type(read) is type(native)


@pytest.mark.parametrize(("annotation", "native", "in_json", "in_cbor"), CASES)
def test_cbor_form(annotation: Any, native: Any, in_json: Any, in_cbor: str) -> None:
    codec = compile_codec(annotation, CborForm())
    assert encode_item(apply(codec.write, native)).hex() == in_cbor
    item, end = decode_item(bytes.fromhex(in_cbor))
    assert end == len(in_cbor) // 2
    read = apply(codec.read, item)
    assert read == native
    assert type(read) is type(native)


def test_a_plain_cbor_array_is_a_list_of_integers_too() -> None:
    item, _ = decode_item(bytes.fromhex("8201 1bffffffffffffffff"))
    assert apply(compile_codec(list[uint64], CborForm()).read, item) == [1, 2**64 - 1]


@pytest.mark.parametrize(
    ("mark", "typecode", "expected"),
    [(UINT64, "Q", "d8475001000000000000000200000000000000"), (UINT32, "I", "d846480100000002000000")],
)
def test_an_array_object_may_stand_for_a_list_of_integers(mark: Any, typecode: str, expected: str) -> None:
    annotation = Annotated["array[int]", ArrayOf(mark)]
    for items in (array(typecode, [1, 2]), array("H", [1, 2])):
        assert encode_item(apply(compile_codec(annotation, CborForm()).write, items)).hex() == expected
    written = apply(compile_codec(annotation, JsonForm()).write, array(typecode, [1, 2]))
    assert written == (["1", "2"] if mark is UINT64 else [1, 2])


def test_an_empty_array_object_is_an_empty_list() -> None:
    annotation = Annotated["array[int]", ArrayOf(UINT64)]
    assert encode_item(apply(compile_codec(annotation, CborForm()).write, array("Q"))).hex() == "d84740"
    assert apply(compile_codec(annotation, JsonForm()).write, array("Q")) == []


def operator(*, inner: Inner, count: uint64, note: str | None = None) -> Outer:
    return Outer(inner, [], {}, [count] if note is None else None)


def test_absent_parameters_and_absent_fields_are_missing_keys() -> None:
    read = compile_parameters(operator, JsonForm())
    write = compile_result(operator, JsonForm())
    assert read({"inner": {"n": "1"}, "count": "2"}) == {"inner": Inner(1), "count": 2}
    assert write(operator(inner=Inner(1), count=2)) == {"inner": {"n": "1"}, "many": [], "named": {}, "extra": ["2"]}
    assert "extra" not in write(operator(inner=Inner(1), count=2, note="x"))


def test_a_missing_required_parameter_is_an_error() -> None:
    with pytest.raises(KeyError):
        compile_parameters(operator, JsonForm())({"count": "2"})


def test_the_native_form_changes_structs_only() -> None:
    codec = compile_codec(Outer, NativeForm())
    native = {"inner": {"n": 1}, "many": [{"n": 2, "label": "x"}], "named": {}, "extra": [4]}
    struct = Outer(Inner(1), [Inner(2, "x")], {}, [4])
    assert apply(codec.read, native) == struct
    assert apply(codec.write, struct) == native


@pytest.mark.parametrize("annotation", [int, float, object, set[str], str | int])
def test_an_annotation_without_a_wire_form_is_refused(annotation: Any) -> None:
    with pytest.raises(TypeError, match="no wire form"):
        compile_codec(annotation, JsonForm())
