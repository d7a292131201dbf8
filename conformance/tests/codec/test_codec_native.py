"""A Python backend gets native values whatever the wire, and what it returns is judged by the harness alone."""

from __future__ import annotations

import pickle
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.codec.cbor import Float
from conformance.codec.form import form_of
from conformance.codec.framing import DIALECTS, Dialect
from conformance.codec.native import NoWireForm, native_form
from conformance.codec.scalar import IllTyped
from conformance.codec.selfdescribing import from_native
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.tests.types_and_values import self_describing, typed_values, types

quick = settings(max_examples=80, deadline=None)


@pytest.fixture(params=["json", "cbor"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return DIALECTS[request.param]


def carried(dialect: Dialect, item: Any) -> Any:
    (message,) = dialect.splitter().feed(dialect.dump({"x": item}))
    return message["x"]


def given_to_backend(dialect: Dialect, type_: Type, value: Any, arrays: bool = False) -> Any:
    """What a backend is given where the harness asks with a native value."""
    form = form_of(type_)
    sent = carried(dialect, dialect.outgoing(form, form.from_native(value)))
    return native_form(type_, dialect.name, arrays).read(sent)


def judged(dialect: Dialect, type_: Type, value: Any) -> Any:
    """The JSON wire form that the harness makes of what a backend returned; raises IllTyped, NoWireForm."""
    return dialect.incoming(form_of(type_), carried(dialect, native_form(type_, dialect.name, False).write(value)))


@quick
@given(typed_values(), st.booleans())
def test_a_value_given_to_a_backend_and_returned_is_the_same(typed: tuple[Type, Any], arrays: bool) -> None:
    type_, value = typed
    for dialect in DIALECTS.values():
        assert judged(dialect, type_, given_to_backend(dialect, type_, value, arrays)) == form_of(type_).from_native(
            value
        )


@quick
@given(types, st.one_of(self_describing(), typed_values().map(lambda typed: typed[1])))
def test_what_is_not_of_the_declared_type_is_refused_by_the_harness(type_: Type, value: Any) -> None:
    try:
        expected = form_of(type_).from_native(value)
    except (IllTyped, TypeError, ValueError):
        expected = None
    for dialect in DIALECTS.values():
        try:
            assert judged(dialect, type_, value) == expected or has_lenient_form(value)
        except IllTyped:
            assert expected is None
        except NoWireForm:
            assert expected is None


def has_lenient_form(value: Any) -> bool:
    """Whether a value has a tuple or an array in it, which pass for lists."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, tuple | np.ndarray) or any(map(has_lenient_form, parts))


WRONG: list[tuple[Type, Any]] = [
    (Scalar("uint64"), -1),
    (Scalar("uint64"), 2**64),
    (Scalar("uint64"), 2**70),
    (Scalar("uint64"), "5"),
    (Scalar("uint64"), True),
    (Scalar("uint64"), 5.0),
    (Scalar("uint64"), None),
    (Scalar("uint64"), np.float64(5)),
    (Scalar("uint8"), 256),
    (Scalar("bytes"), "00ff"),
    (Scalar("bytes16"), b"short"),
    (Scalar("string"), b"text"),
    (Scalar("string"), "\ud800"),
    (Scalar("bool"), 1),
    (Scalar("float64"), 1),
    (Scalar("float64"), "3ff0000000000000"),
    (Scalar("float32"), 0.1),
    (Enum(("a", "b")), "c"),
    (ListOf(Scalar("uint64")), [1, "2"]),
    (ListOf(Scalar("uint64")), [1, -2]),
    (ListOf(Scalar("uint64")), np.array([1.0, 2.0])),
    (ListOf(Scalar("uint64")), np.array([-1])),
    (ListOf(Scalar("uint64")), np.array([[1], [2]])),
    (ListOf(Scalar("uint64")), np.array([True])),
    (ListOf(Scalar("uint64")), {"0": 1}),
    (ListOf(Scalar("uint64")), b"\1\2"),
    (ListOf(Scalar("string")), "abc"),
    (MapOf(Scalar("string")), "x"),
    (MapOf(Scalar("string")), [("a", "b")]),
    (MapOf(Scalar("string")), (("a", "b"), ("a", "b"))),
    (Struct((Field("text", Scalar("string")),)), "x"),
    (Struct((Field("text", Scalar("string")),)), {"text": "x", "more": 1}),
    (Struct((Field("text", Scalar("string")),)), {}),
    (Struct((Field("text", Scalar("string")),)), None),
    (Tensor("uint8"), [1, 2]),
    (Tensor("uint8"), np.array([1, 2])),
    (Tensor("uint8"), np.array(["a"])),
    (Tensor(), {"dtype": "uint8", "shape": [0], "data": ""}),
    (Value(), "\ud800"),
    (Value(), 2**64),
    (Value(), {"deep": "\ud800"}),
]


@pytest.mark.parametrize(("type_", "value"), WRONG)
def test_a_wrong_value_reaches_the_harness_and_is_refused(dialect: Dialect, type_: Type, value: Any) -> None:
    with pytest.raises(IllTyped):
        judged(dialect, type_, value)


RIGHT: list[tuple[Type, Any, Any]] = [
    (Scalar("uint64"), np.uint64(5), 5),
    (Scalar("uint8"), np.int64(5), 5),
    (Scalar("bool"), np.bool_(True), True),
    (Scalar("float32"), np.float32(0.1), float(np.float32(0.1))),
    (Scalar("bytes"), bytearray(b"ab"), b"ab"),
    (ListOf(Scalar("uint64")), np.array([1, 2**63], np.uint64), [1, 2**63]),
    (ListOf(Scalar("uint64")), np.array([1, 2], ">u4"), [1, 2]),
    (ListOf(Scalar("uint64")), np.arange(6)[::2], [0, 2, 4]),
    (ListOf(Scalar("uint32")), np.array([1, 2], np.uint32), [1, 2]),
    (ListOf(Scalar("uint64")), np.array([]).astype(np.uint64), []),
    (ListOf(Scalar("float64")), np.array([0.5]), [0.5]),
    (ListOf(Scalar("uint64")), (1, 2), [1, 2]),
    (Value(), {"n": np.int64(1), "list": np.array([1, 2])}, {"n": 1, "list": [1, 2]}),
    (Value(), (1, 2), [1, 2]),
    (Value(), {1: "a"}, ((1, "a"),)),
]


@pytest.mark.parametrize(("type_", "value", "meant"), RIGHT)
def test_what_numpy_returns_passes_for_the_native_value(dialect: Dialect, type_: Type, value: Any, meant: Any) -> None:
    assert judged(dialect, type_, value) == form_of(type_).from_native(meant)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Scalar("string"), object()),
        (Value(), {1, 2}),
        (Struct(()), {1: 2}),
        (MapOf(Scalar("bool")), {None: True}),
        (ListOf(Value()), [print]),
        (Tensor(), np.array([1j])),
    ],
)
def test_a_value_that_no_message_can_hold_is_named(dialect: Dialect, type_: Type, value: Any) -> None:
    with pytest.raises(NoWireForm):
        judged(dialect, type_, value)


@pytest.mark.parametrize(("name", "dtype"), [("uint64", np.uint64), ("uint32", np.uint32)])
def test_arrays_are_given_only_to_those_who_ask(dialect: Dialect, name: str, dtype: type) -> None:
    type_ = Struct((Field("a", ListOf(Scalar(name))), Field("b", ListOf(Scalar("int64")))))
    value = {"a": [1, 2, 2**32 - 1], "b": [-1]}
    plain = given_to_backend(dialect, type_, value)
    assert plain == value
    assert type(plain["a"]) is list
    arrays = given_to_backend(dialect, type_, value, arrays=True)
    assert arrays["a"].dtype == dtype
    assert arrays["a"].tolist() == value["a"]
    assert arrays["b"] == [-1]
    arrays["a"][0] = 7  # it is the backend's own


def test_tensors_are_arrays_of_their_own(dialect: Dialect) -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = given_to_backend(dialect, Tensor(), value)
    assert array.dtype == np.float32
    assert (array == value).all()
    array[0, 0] = 9


@pytest.mark.parametrize(
    ("width", "bits", "wide"),
    [
        (2, "3e00", "3ff8000000000000"),
        (2, "8001", "be70000000000000"),
        (2, "7e00", "7ff8000000000000"),
        (2, "fe01", "fff8040000000000"),
        (2, "7c01", "7ff0040000000000"),
        (4, "7f800001", "7ff0000020000000"),
        (4, "ffc00000", "fff8000000000000"),
        (4, "ff800000", "fff0000000000000"),
        (8, "7ff0000000000001", "7ff0000000000001"),
    ],
)
def test_a_short_float_of_a_value_is_the_same_number_and_a_nan_keeps_its_payload(
    width: int, bits: str, wide: str
) -> None:
    assert from_native(Float(width, bytes.fromhex(bits))) == {"float": wide}


@pytest.mark.parametrize("wire", ["json", "cbor"])
@pytest.mark.parametrize(
    ("name", "bits"),
    [
        (name, bits)
        for name, all_bits in {
            "float16": ["7e55", "fe01", "7c01", "7c00", "8000", "0001", "3e00"],
            "float32": ["7fc00123", "ff800001", "7f800001", "ff800000", "00000001", "3dcccccd"],
            "float64": ["7ff8000000000123", "fff0000000000001", "3fb999999999999a"],
        }.items()
        for bits in all_bits
    ],
)
def test_a_python_object_that_gives_a_float_back_gives_the_same_bits(wire: str, name: str, bits: str) -> None:
    form, native = form_of(Scalar(name)), native_form(Scalar(name), wire, arrays=False)
    message = form.to_cbor(bits) if wire == "cbor" else bits
    answer = native.write(native.read(message))
    assert (form.from_cbor if wire == "cbor" else form.check)(answer) == bits


@pytest.mark.parametrize(("width", "bits"), [(2, "fe00"), (4, "ffc00000")])
def test_a_nan_whose_payload_does_not_fit_stays_a_nan(width: int, bits: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex("fff0000000000001"))
    assert Float.of(width, number).bits.hex() == bits


def test_what_is_wrong_with_a_value_can_be_handed_over_by_a_child_process() -> None:
    wrong = IllTyped("a number", "x", ("items", 3))
    assert str(pickle.loads(pickle.dumps(wrong))) == str(wrong)
