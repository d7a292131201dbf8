"""Wire forms that no contract has, and how annotations become readers and writers."""

import json
from array import array
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from impl.types import UINT32, UINT64, ArrayOf, float16, float32, int8, uint8, uint64
from impl.wire.cbor_form import CborForm, decode_item, encode_item
from impl.wire.codec import compile_codec, compile_parameters, compile_result
from impl.wire.json_form import JsonForm, NativeForm

# The types of the contracts are in every run of `tally run`, over both wires.
CASES: list[tuple[Any, Any, Any, str]] = [
    (uint8, 200, 200, "18c8"),
    (int8, -1, -1, "20"),
    (float32, 1.5, "3fc00000", "fa3fc00000"),
    (float16, 1.5, "3e00", "f93e00"),
    (list[bytes], [b"\x01"], ["01"], "814101"),
    (dict[str, bool], {"b": True}, {"b": True}, "a16162f5"),
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


def operator(*, inner: Inner, count: uint64, note: str | None = None) -> Outer:
    return Outer(inner, [], {}, [count] if note is None else None)


def test_absent_parameters_and_absent_fields_are_missing_keys() -> None:
    read = compile_parameters(operator, JsonForm())
    write = compile_result(operator, JsonForm())
    assert read({"inner": {"n": "1"}, "count": "2"}) == {"inner": Inner(1), "count": 2}
    assert write(operator(inner=Inner(1), count=2)) == {"inner": {"n": "1"}, "many": [], "named": {}, "extra": ["2"]}
    assert "extra" not in write(operator(inner=Inner(1), count=2, note="x"))


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
