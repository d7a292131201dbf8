"""Fuzzing with other names: a name changes wherever it occurs, and two names become nearly one."""

from __future__ import annotations

from typing import Any

from conformance.contract.types import Field, ListOf, MapOf, Scalar, Struct, Value
from conformance.trial.fuzz.renamings import renamed_everywhere, renamings, twins
from conformance.trial.fuzz.seed import InputPlaces

INPUTS = Struct(
    (
        Field("tables", MapOf(Struct((Field("of", Scalar("string")),)))),
        Field("order", ListOf(Scalar("string"))),
        Field("meta", Value()),
    )
)
NATIVE: dict[str, Any] = {
    "tables": {"users": {"of": "items"}, "items": {"of": "users"}},
    "order": ["users", "items", "once"],
    "meta": {"users": 1},
}


def test_a_name_is_changed_in_keys_and_in_texts_at_once() -> None:
    found = list(renamings(InputPlaces(INPUTS), [NATIVE]))
    upper = next(one for one in found if "USERS" in one["tables"])
    assert upper == {
        "tables": {"USERS": {"of": "items"}, "items": {"of": "USERS"}},
        "order": ["USERS", "items", "once"],
        "meta": {"USERS": 1},
    }
    assert all("once" in one["order"] for one in found)  # it occurs once: other listings change it


def test_the_name_of_a_field_is_no_name_of_the_input() -> None:
    native = {**NATIVE, "order": ["of", "of", "of"]}
    assert all(one["order"] == ["of", "of", "of"] for one in renamings(InputPlaces(INPUTS), [native]))


def test_two_names_become_nearly_one_and_change_places() -> None:
    found = list(twins(InputPlaces(INPUTS), [NATIVE]))
    keys = [set(one["tables"]) for one in found]
    assert {"items", "ITEMS"} in keys
    assert {"items", "items\0"} in keys
    assert {"\U0001f600items", "\uff61users"} in keys
    assert all(len(one) == 2 for one in keys)
    assert any(one["order"][:2] == ["items", "users"] for one in found)


def test_a_map_of_pairs_is_renamed_too() -> None:
    pairs = (("a", 1), ("a", "a"), (0, ["a"]))
    assert renamed_everywhere(pairs, {"a": "b"}) == (("b", 1), ("b", "b"), (0, ["b"]))
