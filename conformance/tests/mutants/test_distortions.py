"""Leaves of values, and what careless carriers make of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.contract.types import Field, ListOf, MapOf, Scalar, Struct, Tensor, Value
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED
from conformance.trial.committed_reports import DISTORTIONS_FILE
from conformance.trial.mutants.distortions import OPEN, read_unnoticed
from conformance.vectors.compact import expanded
from conformance.vectors.distortion import distortions
from conformance.vectors.leaf import INTEGER, KEY, Optional, rewritten, spots
from conformance.vectors.notable import AXES, notable_values

RUN = Struct(
    (
        Field("t", Scalar("uint64")),
        Field("names", ListOf(Scalar("string"))),
        Field("sizes", MapOf(Scalar("int32"))),
        Field("seed", Scalar("bytes16"), optional=True),
        Field("header", Value()),
    )
)
WIRE = {
    "t": "7",
    "names": ["a", "b"],
    "sizes": {"x": 1},
    "header": {"map": [[{"text": "t"}, {"int": "5"}], [{"text": "tags"}, {"array": [{"text": "q"}]}]]},
}


def test_every_leaf_has_a_place() -> None:
    assert [spot.place for spot in spots(RUN, WIRE)] == [
        "t", "names", "names[]", "names[]", "sizes", "sizes{key}", "sizes{}", "seed?",
        "header~map", "header~{key}", "header.t~int", "header.tags~array", "header.tags[]~text",
    ]  # fmt: skip


def test_a_leaf_is_changed_wherever_it_occurs() -> None:
    assert rewritten(RUN, WIRE, "names[]", str.upper)["names"] == ["A", "B"]
    changed = rewritten(RUN, WIRE, "header.t~int", lambda wire: f"{wire}0")
    assert changed["header"]["map"][0] == [{"text": "t"}, {"int": "50"}]
    assert rewritten(RUN, WIRE, "t", lambda wire: wire) is WIRE


@pytest.mark.parametrize(
    ("type_", "name", "wire", "made"),
    [
        (Scalar("uint64"), "binary64", "9007199254740993", "9007199254740992"),
        (Scalar("uint64"), "low-16", "65537", "1"),
        (Scalar("uint64"), "most-16", "65537", "65535"),
        (Scalar("uint64"), "sign-32", "2147483648", str(2**64 - 2**31)),
        (Scalar("uint64"), "signed", "18446744073709551615", str(2**63 - 1)),
        (Scalar("int64"), "low-8", "-257", "-1"),
        (Scalar("uint32"), "low-31", 2**31, 0),
        (INTEGER, "low-32", str(2**32), "0"),
        (Scalar("string"), "nul", "a\0b", "a"),
        (Scalar("string"), "cut-64", "a" * 65, "a" * 64),
        (Scalar("string"), "plane-0", "\U00010000", "\ufffd\ufffd"),
        (Scalar("string"), "composed", "e\u0301", "\u00e9"),
        (Scalar("string"), "cut-65535", {"letters": 200_000, "sha256": "", "head": "a", "tail": "a"},
         {"letters": 65_535, "sha256": "", "head": "a", "tail": "a"}),
        (KEY, "key-lower", {"A": 1, "a": 2}, {"a": 2}),
        (Scalar("bytes"), "block-4096", "00" * 8192, "00" * 4096),
        (Scalar("bytes32"), "nul", "a500" + "ff" * 30, "a5" + "00" * 31),
        (Scalar("float64"), "nan", "7ff8000000000123", "7ff8000000000000"),
        (Scalar("float64"), "zero", "8000000000000000", "0000000000000000"),
        (Scalar("float16"), "subnormal", "8001", "8000"),
        (Scalar("float64"), "binary32", "3fb999999999999a", "3fb99999a0000000"),
        (ListOf(Scalar("bool")), "room-8", [True] * 9, [True] * 8),
        (MapOf(Scalar("bool")), "room-8", {str(k): True for k in range(9)}, {str(k): True for k in range(8)}),
        (Optional("n", Scalar("string")), "absent-as-empty", {}, {"n": ""}),
        (Optional("n", Scalar("string")), "empty-as-absent", {"n": ""}, {}),
        (Tensor("int32"), "low-16", {"dtype": "int32", "shape": [1], "data": "AAABAA=="},
         {"dtype": "int32", "shape": [1], "data": "AAAAAA=="}),
    ],
)  # fmt: skip
def test_a_distortion_does_what_it_says(type_: Any, name: str, wire: Any, made: Any) -> None:
    assert distortions(type_)[name](wire) == made


@pytest.mark.parametrize(
    "type_",
    [Scalar("uint64"), Scalar("int64"), Scalar("uint32"), Scalar("string"), Scalar("bytes32"), Scalar("float64")],
)
def test_the_axes_hold_a_value_for_every_distortion(type_: Scalar) -> None:
    """What the score asks for, the axes give: no class of a scalar is without a value that it changes."""
    plain = {"uint32": 7, "string": "a", "bytes32": "a5" * 32, "float64": "3ff8000000000000"}
    (spot,) = spots(type_, plain.get(type_.name, "7"))
    values = [expanded(value) for axis in AXES for _, value in notable_values(axis, spot)]
    missing = [name for name, change in distortions(type_).items() if all(change(one) == one for one in values)]
    assert missing == []


def test_the_committed_score_names_every_shipped_operator_and_adds_up() -> None:
    """Whoever adds an operator scores it: `tally mutants --wire --write`."""
    record = json.loads((SHIPPED.reports / DISTORTIONS_FILE).read_text("utf-8"))
    library = shipped_library()
    scored = {name for name, one in library.contracts.items() if one.own_machine is None}
    assert record["operators"].keys() <= scored
    assert {name for name in scored if library.contracts[name].method is None} <= record["operators"].keys()
    unnoticed = read_unnoticed(SHIPPED.reports / DISTORTIONS_FILE)
    sides = [side for one in record["operators"].values() for side in one.values()]
    assert sum(side["noticed"] for side in sides) == record["total"]["noticed"] > 0
    assert len(unnoticed) == record["total"]["unnoticed"]
    assert record["total"]["open"] == sum(reason == OPEN for reason in unnoticed.values())
