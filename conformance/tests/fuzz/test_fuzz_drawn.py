"""What fuzzing draws: places of an input, degenerate values of every leaf, changes near what a contract accepts."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from conformance.codec.cbor import encode_canonical
from conformance.codec.codebook import codebook_of
from conformance.contract.canonical import encode_item
from conformance.contract.cel.functions import registry_functions
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Type, Value
from conformance.tests.shipped import shipped_library
from conformance.trial.fuzz.draw import DEGENERATE, DRAWN, OPENING
from conformance.trial.fuzz.listings.inputs import leaf_variants
from conformance.trial.fuzz.mutation import mutated
from conformance.trial.fuzz.near_bytes import near_bytes
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.fuzz.seed import ACCEPTED, InputLimits, InputPlaces, Vocabulary, seeds_of
from conformance.vectors.frozen.corpus import load_corpus
from conformance.vectors.place import ABSENT, Place, at, degenerates, places, put

CELL = Struct((Field("name", Scalar("string")), Field("size", Scalar("uint32"), optional=True)))
INPUTS = Struct(
    (
        Field("cells", ListOf(CELL)),
        Field("counts", MapOf(Scalar("uint64"))),
        Field("header", Value()),
        Field("note", Scalar("string"), optional=True),
        Field("kind", Enum(("a", "b"))),
        Field("grid", Tensor("float32")),
    )
)
NATIVE: dict[str, Any] = {
    "cells": [{"name": "x"}, {"name": "y", "size": 3}],
    "counts": {"k": 7},
    "header": {"run": "r1", "t": 5, "parts": [b"\1" * 32]},
    "kind": "a",
    "grid": np.ones((2, 2), dtype=np.float32),
}
WORDS = Vocabulary((64,), ("word",), {}, InputPlaces(INPUTS))


def values(type_: Type, value: Any, optional: bool = False) -> list[Any]:
    return list(degenerates(Place(("x",), "x", type_, value, optional)))


# -- places


def test_every_place_of_an_input_is_found_and_can_be_changed_alone() -> None:
    keys = {place.key for place in places(INPUTS, NATIVE)}
    assert {"cells", "cells.*", "cells.*.name", "cells.*.size", "counts.*", "note", "grid", "header.parts.*"} <= keys
    for place in places(INPUTS, NATIVE):
        other = put(NATIVE, place.path, "changed")
        assert at(other, place.path) == "changed"
        assert {one for one in NATIVE if other.get(one) is not NATIVE.get(one)} <= {place.path[0]}


def test_what_is_absent_is_a_place_and_what_is_there_can_be_taken_away() -> None:
    (note,) = [place for place in places(INPUTS, NATIVE) if place.key == "note"]
    assert not note.is_there
    assert put(NATIVE, ("cells", 0), ABSENT)["cells"] == [{"name": "y", "size": 3}]
    assert put(NATIVE, ("header", "t"), ABSENT)["header"].keys() == {"run", "parts"}


# -- degenerate values


@pytest.mark.parametrize(
    ("type_", "value", "wanted"),
    [
        (Scalar("string"), "1.2", ["", "\u0661.\u0662", "\ufeff1.2", "1.2\0", "1.2e\u0301", "1.2\U0001f600"]),
        (Scalar("string"), "Ab", ["aB"]),
        (Scalar("uint64"), 9, [0, 1, 8, 10, 2**64 - 1, 2**53 + 1, 2**32, 2**63]),
        (Scalar("int8"), 9, [-128, 127, -1]),
        (Scalar("bytes"), b"ab", [b"", b"ab\0", b"a", b"\xef\xbb\xbfab"]),
        (Scalar("bytes16"), bytes(15) + b"\1", [bytes(16), b"\xff" * 16, b"\1" + bytes(15)]),
        (ListOf(Scalar("string")), ["b"], [[], ["b", "b"], ["b"] * 11, ["b"] * 13]),
        (MapOf(Scalar("uint8")), {"k": 1}, [{}, {"k": 1, "K": 1}, {"\u00e9": 1, "e\u0301": 1}]),
        (Value(), 5, [5.0, True, "5", None, 2**64 - 1]),
        (Value(), True, [False, 1, 1.0, None]),
        (Value(), {"a": 1}, [{}, {"A": 1}, {"a": 1, "A": 1}, (("a", 1), ("a", 1)), None]),
    ],
)
def test_a_type_has_the_values_that_programs_get_wrong(type_: Type, value: Any, wanted: list[Any]) -> None:
    found = [repr(one) for one in values(type_, value)]
    assert [one for one in wanted if repr(one) not in found] == []
    assert repr(value) not in found
    assert len(set(found)) == len(found)


def test_floats_are_both_zeros_subnormals_and_what_is_no_number() -> None:
    found = {repr(one) for one in values(Scalar("float32"), 1.0)}
    assert {"0.0", "-0.0", repr(2.0**-149), "inf", "-inf", "nan"} <= found


def test_what_may_be_absent_is_left_out_once_and_what_is_absent_is_there_and_empty() -> None:
    assert values(Scalar("string"), "a", optional=True)[0] is ABSENT
    assert values(Scalar("string"), ABSENT, optional=True)[0] == ""
    assert values(CELL, ABSENT, optional=True)[0] == {"name": ""}


def test_a_list_of_degenerate_inputs_begins_with_the_first_value_of_every_leaf() -> None:
    whole = list(leaf_variants(InputPlaces(INPUTS), [NATIVE]))
    leaves = {place.key for place in places(INPUTS, NATIVE)}
    first = whole[: 2 * len(leaves)]
    assert any("note" in one for one in first)
    assert any(not one["cells"] for one in first)
    assert any("t" not in one["header"] for one in first)
    assert len(whole) > 100


def test_parts_of_a_canonical_item_are_leaves_too_and_digests_inside_are_made_right() -> None:
    header = {"run": "r", "t": 5}
    blob = encode_canonical([header, hashlib.sha256(encode_canonical(header)).digest()])
    type_ = Struct((Field("blob", Scalar("bytes")),))
    made = [one["blob"] for one in leaf_variants(InputPlaces(type_), [{"blob": blob}])]
    other = {"run": "r", "t": 2**63}
    assert encode_canonical([other, hashlib.sha256(encode_canonical(other)).digest()]) in made


# -- changes


def test_a_change_is_of_one_place_and_the_same_state_of_chance_makes_it_again() -> None:
    for number in range(200):
        one, again = (mutated(NATIVE, Random(number), WORDS) for _ in range(2))
        assert repr(one) == repr(again)
        assert sum(repr(one.get(name)) != repr(NATIVE.get(name)) for name in {*one, *NATIVE}) <= 1


def test_changes_reach_every_leaf_and_relate_numbers_to_others() -> None:
    made = [mutated(NATIVE, Random(number), WORDS) for number in range(3000)]
    for name in NATIVE:
        assert any(repr(one.get(name)) != repr(NATIVE[name]) for one in made)
    counts = {one["counts"].get("k") for one in made}
    assert {6, 8, 63, 64, 65, 3, 5} <= counts  # beside it, the contract's literal, numbers that stand elsewhere


def test_bytes_near_an_item_are_often_an_item_with_one_head_that_is_not_the_shortest() -> None:
    data = encode_item({"a": 1})
    made = {near_bytes(data, Random(number), lambda value: value) for number in range(2000)}
    assert {b"\xa1\x61a\x18\x01", b"\xb8\x01\x61a\x01", b"\xa1\x78\x01a\x01"} & made
    assert any(b"\x7f" in one or b"\xbf" in one for one in made)


# -- the calls of a shipped operator


def test_an_index_and_the_sizes_that_bound_it_are_moved_far_up_together() -> None:
    """A product of two numbers below 2^32 wraps in 63 bits; a size that is a power of two would hide it."""
    shipped = shipped_library()
    forms = codebook_of(shipped)["UML_OS.Data.SeededIntraBlockMap_v1"]
    calls = calls_for(forms, load_corpus(shipped.suite).cases[forms.contract.operator], 1)
    found = [call.native for call in calls if call.side == ACCEPTED and call.native["local_pos"] > 2**31]
    assert any(one["block_size"] % 2 and one["local_pos"] + 1 == one["block_size"] for one in found)


def test_drawn_calls_are_distinct_unfrozen_and_as_many_as_wanted() -> None:
    shipped = shipped_library()
    forms = codebook_of(shipped)["UML_OS.Data.SeededIntraBlockMap_v1"]
    cases = load_corpus(shipped.suite).cases[forms.contract.operator]
    calls = calls_for(forms, cases, 120)
    told = [repr(call.native) for call in calls]
    assert len(set(told)) == len(told)
    frozen = {repr(native) for native in seeds_of(forms, cases).all}
    assert not any(repr(call.native) in frozen for call in calls if call.why == DRAWN)
    assert sum(call.why == DRAWN for call in calls) == 120
    assert sum(call.why == DEGENERATE for call in calls) > 50
    assert calls == calls_for(forms, cases, 120)


def test_a_guard_whose_record_tells_inputs_is_asked_degenerate_values_beside_its_mistake() -> None:
    shipped = shipped_library()
    forms = codebook_of(shipped)["UML_OS.Data.NextBatch_v2"]
    assert {"dataset_key", "data_replay_t"} <= {one.name for one in forms.contract.failure.fields}
    calls = calls_for(forms, load_corpus(shipped.suite).cases[forms.contract.operator], 1)
    smallest = {call.side: call.native for call in calls if call.why == OPENING}
    for side in smallest.keys() - {ACCEPTED}:
        alike = [call.native for call in calls if call.why == DEGENERATE and call.side == side]
        changed = [_changed(smallest[side], native) for native in alike]
        assert {"t"} in changed, side


def _changed(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return {name for name in {*one, *other} if repr(one.get(name)) != repr(other.get(name))}


def test_a_text_with_nul_lies_where_it_does_with_another_control_character() -> None:
    contract = codebook_of(shipped_library())["UML_OS.Error.Emit_v1"].contract
    context = {"t": 1, "rank": 0, "failure_operator": "a\0b", "replay_token": bytes(32), "diagnostics": {}}
    native = {"code_id": "QUEUE_TIMEOUT", "context": context}
    without = {**native, "context": {**context, "failure_operator": "a"}}
    bounds = InputLimits(contract)
    assert bounds.side(native) == bounds.side(without)


def test_every_degenerate_value_beside_a_huge_float_is_an_item_of_cbor() -> None:
    huge = Place((), "header", Value(), 4.768028144875251e182)
    assert [encode_item(one) for one in degenerates(huge)]
    assert 3 in degenerates(Place((), "header", Value(), 3.0))


# -- what earlier runs found


def test_a_later_run_knows_the_sides_of_the_same_inputs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """But not of a NaN, because all are printed alike, and not under another guard or other registered codes."""
    monkeypatch.setenv("TALLY_CACHE", str(tmp_path / "cache"))
    contract = shipped_library().contracts["UML_OS.Checkpoint.Serialize_v1"]
    known: list[dict[str, Any]] = [{"header": {"tenant_id": "t"}}, {"header": {"run": 1.5}}, {"header": {}}]
    first = InputLimits(contract).recall()
    sides = [first.side(native) for native in known]
    first.side({"header": {"run": float("nan")}})
    first.keep()

    def asked(*_: object) -> int:
        raise AssertionError("asked again")

    later = InputLimits(contract).recall()
    monkeypatch.setattr(InputLimits, "_side", asked)
    assert [later.side(native) for native in known] == sides
    fewer = InputLimits(replace(contract, requires=contract.requires[1:])).recall()
    over = replace(contract.environment, over=(registry_functions({})[0].over,))
    coded = InputLimits(replace(contract, environment=over)).recall()
    unknown: list[dict[str, Any]] = [{"header": {"run": float("nan")}}, {"header": {"t": 1}}]
    for bounds, native in (*((later, one) for one in unknown), (fewer, known[0]), (coded, known[0])):
        with pytest.raises(AssertionError, match="asked again"):
            bounds.side(native)
