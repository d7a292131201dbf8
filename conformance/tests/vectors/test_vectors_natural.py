"""YAML-natural values in the wire form of every type."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.codec.scalar import IllTyped
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.vectors.draft import Reference, to_wire

POINT = Struct((Field("x", Scalar("int64")), Field("y", Scalar("uint8"), optional=True)))


@pytest.mark.parametrize(
    ("type_", "natural", "wire"),
    [
        (Scalar("uint64"), 2**64 - 1, "18446744073709551615"),
        (Scalar("int64"), -(2**63), "-9223372036854775808"),
        (Scalar("uint64"), "7", "7"),
        (Scalar("uint32"), 7, 7),
        (Scalar("bool"), True, True),
        (Scalar("float64"), 1.5, "3ff8000000000000"),
        (Scalar("float64"), 1, "3ff0000000000000"),
        (Scalar("float64"), "7ff8000000000000", "7ff8000000000000"),
        (Scalar("float16"), 1.0, "3c00"),
        (Scalar("bytes"), "00ff", "00ff"),
        (Enum(("a", "b")), "b", "b"),
        (ListOf(Scalar("uint64")), [1, 2], ["1", "2"]),
        (MapOf(POINT), {"k": {"x": -1}}, {"k": {"x": "-1"}}),
        (POINT, {"x": Reference("a.b"), "y": 2}, {"x": {"from": "a.b"}, "y": 2}),
        (Value(), "null", None),
        (Value(), {"int": 5}, {"int": "5"}),
        (Value(), {"float": 1}, {"float": "3ff0000000000000"}),
        (
            Value(),
            {"fields": {"b": {"int": 1}, "a": True}},
            {"map": [[{"text": "b"}, {"int": "1"}], [{"text": "a"}, True]]},
        ),
        (
            Value(),
            {"map": [[{"text": "k"}, {"array": [{"int": -1}, "null"]}]]},
            {"map": [[{"text": "k"}, {"array": [{"int": "-1"}, None]}]]},
        ),
        (
            Tensor("uint16"),
            {"dtype": "uint16", "shape": [2], "data": [1, 256]},
            {"dtype": "uint16", "shape": [2], "data": "AQAAAQ=="},
        ),
    ],
)
def test_a_natural_value_becomes_its_wire_form(type_: Type, natural: Any, wire: Any) -> None:
    assert to_wire(type_, natural) == wire


@pytest.mark.parametrize(
    ("type_", "natural", "path"),
    [
        (Scalar("uint64"), -1, ()),
        (Scalar("uint64"), True, ()),
        (Scalar("uint64"), "007", ()),
        (Scalar("uint8"), 256, ()),
        (Scalar("string"), 5, ()),
        (Scalar("bytes16"), "00", ()),
        (Scalar("float16"), 1e9, ()),
        (Enum(("a",)), "c", ()),
        (ListOf(Scalar("uint64")), [1, "x"], (1,)),
        (MapOf(POINT), {"k": {"x": 1, "z": 1}}, ("k", "z")),
        (POINT, {"y": 1}, ("x",)),
        (Value(), 5, ()),
        (Tensor("uint8"), {"dtype": "uint8", "shape": [1], "data": [256]}, ("data",)),
        (Tensor("uint8"), {"dtype": "uint8", "shape": [3], "data": [1]}, ("data",)),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(type_: Type, natural: Any, path: tuple[object, ...]) -> None:
    with pytest.raises(IllTyped) as caught:
        to_wire(type_, natural)
    assert caught.value.path == path
