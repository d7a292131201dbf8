"""Fuzzing with other names: a name changes wherever it occurs, and two names become nearly one."""

from __future__ import annotations

from typing import Any

from conformance.codec.codebook import codebook_of
from conformance.contract.types import Field, ListOf, MapOf, Scalar, Struct, Value
from conformance.tests.shipped import shipped_library
from conformance.trial.fuzz.listings.renamings import renamed_everywhere, renamings, twins
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.fuzz.seed import ACCEPTED, InputPlaces
from conformance.vectors.frozen.corpus import load_corpus

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
    assert found[0] is NATIVE  # only both show a backend that takes one name for the other
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


def test_two_long_names_differ_in_the_middle_alone() -> None:
    names = {name for one in renamings(InputPlaces(INPUTS), [NATIVE]) for name in one["tables"] if len(name) > 9_000}
    users = sorted(name for name in names if name.startswith("users"))
    assert [len(name) for name in users] == [9_005, 9_005]
    assert [k for k in range(9_005) if users[0][k] != users[1][k]] == [4_505]


def test_a_map_of_pairs_is_renamed_too() -> None:
    pairs = (("a", 1), ("a", "a"), (0, ["a"]))
    assert renamed_everywhere(pairs, {"a": "b"}) == (("b", 1), ("b", "b"), (0, ["b"]))


def test_an_operator_is_asked_with_its_names_changed_everywhere() -> None:
    shipped = shipped_library()
    forms = codebook_of(shipped)["UML_OS.Data.NextBatch_v2"]
    calls = calls_for(forms, load_corpus(shipped.suite).cases[forms.contract.operator], 1)
    accepted = [call.native for call in calls if call.side == ACCEPTED]
    keys = {one["dataset_key"] for one in accepted if one["dataset_key"] in one["manifest"]["datasets"]}
    assert {"d\0", "d.x", "~d", "10", "null"} <= keys
    assert {"samples\0", "SAMPLES", "sample"} <= keys
