"""A wrong example is written as choices, which Hypothesis shrinks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest

from conformance.codec.cbor import encode_canonical
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.tests.small_spec import SHIPPED
from conformance.trial.fuzz.seed import printed
from conformance.trial.fuzz.shrink import RecordedChoices, in_steps, random_remade, simpler, smallest_example
from conformance.trial.generator import known_generators

PART = Struct((Field("size", Scalar("uint32")), Field("name", Scalar("string"), optional=True)))
VALUES: tuple[tuple[Type, Any, Any], ...] = (
    (Scalar("uint64"), 2**64 - 1, 0),
    (Scalar("int64"), -7, 0),
    (Scalar("bool"), True, False),
    (Scalar("float64"), float("nan"), float("nan")),
    (Scalar("float64"), -2.5, 0.0),
    (Scalar("bytes16"), b"\1" * 16, bytes(16)),
    (Scalar("bytes"), b"\1\2", b""),
    (Scalar("string"), "a\ud7ff\0", ""),
    (Scalar("string"), "x" * 9000, ""),
    (Enum(("a", "b", "c")), "c", "a"),
    (ListOf(Scalar("uint32")), [1, 2], []),
    (ListOf(PART), [{"size": 3, "name": "x"}] * 300, []),
    (MapOf(Scalar("uint32")), {"a": 1}, {}),
    (PART, {"size": 3, "name": "x"}, {"size": 0}),
    (Tensor("int32"), np.array([[0, -3], [5, 0]], dtype=np.int32), np.zeros((2, 2), dtype=np.int32)),
    (Tensor("float16"), np.array([np.nan, 2.0], dtype=np.float16), np.zeros(2, dtype=np.float16)),
    (Tensor("uint8"), np.arange(200, dtype=np.uint8), np.zeros(200, dtype=np.uint8)),
    (Value(), {"a": [1, -2.5, None, b"x"], "b": (("k", 1), ("k", 2))}, {}),
    (Value(), (("k", 1), ("k", 2)), {}),
)


def small(type_: Type, value: Any, is_wrong: Callable[[Any], bool], most: int = 3000) -> Any:
    return smallest_example(value, in_steps(partial(simpler, type_)), is_wrong, most)


def shrunk(choices: RecordedChoices, is_wrong: Callable[[Any], bool]) -> Any:
    return smallest_example(None, [lambda _: choices], is_wrong)


@pytest.mark.parametrize(("type_", "value", "simplest"), VALUES)
def test_the_choices_begin_with_the_value_and_lead_to_the_simplest(type_: Type, value: Any, simplest: Any) -> None:
    choices = simpler(type_, value)
    assert printed(shrunk(choices, lambda one: printed(one) == printed(value))) == printed(value)
    assert printed(shrunk(choices, lambda one: True)) == printed(simplest)


def test_what_is_not_needed_goes_and_two_numbers_that_hang_together_fall_together() -> None:
    type_ = Struct((Field("parts", ListOf(PART)), Field("total", Scalar("uint32"))))
    value = {"parts": [{"size": size, "name": f"n{size}"} for size in (70, 80, 90)], "total": 80}
    found = small(
        type_, value, lambda one: one["total"] > 4 and any(p["size"] == one["total"] for p in one["parts"])
    )
    assert found == {"parts": [{"size": 5}], "total": 5}


def test_a_remainder_is_kept_while_the_number_falls() -> None:
    assert small(Scalar("uint64"), 64 * 10**9 + 60, lambda one: one % 64 == 60) == 60
    assert small(Scalar("uint64"), 6 * 10**9 + 4, lambda one: one >= 100 and one % 6 == 4) == 100


def test_an_item_in_bytes_is_made_small_from_within() -> None:
    data = encode_canonical({"run": "r1", "parts": [{"k": 1}, {"k": 900}], "t": 5})
    wrong = small(Scalar("bytes"), data, lambda one: b"k" in one and b"parts" in one)
    assert wrong == encode_canonical({"parts": [{"k": 0}]})


@pytest.mark.parametrize("around", [lambda inner: [inner], lambda inner: {"k": inner}])
def test_what_is_nested_deeply_is_made_small_at_its_surface(around: Callable[[Any], Any]) -> None:
    deep: Any = 7
    for _ in range(120):
        deep = around(deep)
    found = small(Value(), [deep, 5, 900], lambda one: isinstance(one, list) and deep in one)
    assert found == [deep]


def test_what_is_never_wrong_is_nothing_and_no_more_is_asked_than_is_allowed() -> None:
    asked: list[Any] = []

    def is_wrong(one: Any) -> bool:
        asked.append(one)
        return bool(one["size"] > 1000)

    assert small(PART, {"size": 3}, is_wrong) == {"size": 3}
    asked.clear()
    found = small(PART, {"size": 2**31}, is_wrong, most=5)
    assert len(asked) == 5
    assert 1000 < found["size"] <= 2**31


@pytest.mark.parametrize("name", sorted(known_generators(SHIPPED)))
def test_what_a_generator_made_is_made_again_by_its_choices(name: str) -> None:
    make = known_generators(SHIPPED)[name].make
    again: list[str] = []

    def is_wrong(one: Any) -> bool:
        again.append(printed(one))
        return False

    shrunk(random_remade(make, 7), is_wrong)
    assert again == [printed(make(Random(7)))]


def test_what_a_generator_makes_is_made_small_as_a_whole() -> None:
    """Its shape falls with what it has in it, which the value alone cannot show."""
    make = known_generators(SHIPPED)["relational-database"].make

    def rows(native: Any) -> int:
        return max(int(table["row_count"]) for table in native["database"]["tables"])

    number = next(n for n in range(99) if rows(make(Random(n))) > 4)
    found = shrunk(random_remade(make, number), lambda native: rows(native) > 1)
    assert rows(found) == 2
    assert printed(found) == printed(shrunk(random_remade(make, number), lambda native: rows(native) > 1))
    assert len(printed(found)) < len(printed(make(Random(number)))) / 2
