"""YAML-natural values in the wire form of every type."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.codec.scalar import IllTyped
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.vectors.draft import to_wire

POINT = Struct((Field("x", Scalar("int64")), Field("y", Scalar("uint8"), optional=True)))


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
