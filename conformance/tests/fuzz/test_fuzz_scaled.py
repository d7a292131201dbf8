"""What fuzzing asks far away from the frozen sizes: one leaf grown, and numbers that meet moved far up together."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import numpy as np

from conformance.codec.codebook import codebook_of
from conformance.codec.form import form_of
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct, Tensor, Value
from conformance.tests.shipped import shipped_library
from conformance.trial.fuzz.listings.growth import large, middle_changed, near_long
from conformance.trial.fuzz.listings.inputs import exchanged, leaf_origins, neighbours, of_same_length, pair_variants
from conformance.trial.fuzz.listings.programs import degenerate, long_leaves
from conformance.trial.fuzz.near_bytes import degenerate_items
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.fuzz.program import ProgramCall
from conformance.trial.fuzz.program_draw import may_be_asked, pool_of
from conformance.trial.fuzz.seed import InputPlaces, longest_of, printed
from conformance.vectors.frozen.corpus import load_corpus
from conformance.vectors.place import Place, degenerates

INPUTS = Struct(
    (
        Field("name", Scalar("string")),
        Field("blob", Scalar("bytes")),
        Field("hash", Scalar("bytes32")),
        Field("levels", ListOf(Scalar("uint64"))),
        Field("counts", MapOf(Scalar("uint64"))),
        Field("size", Scalar("uint64")),
        Field("rank", Scalar("uint32")),
        Field("item", Value()),
    )
)
NATIVE: dict[str, Any] = {
    "name": "n",
    "blob": b"\1",
    "hash": bytes(32),
    "levels": [1, 8],
    "counts": {"k": 40},
    "size": 40,
    "rank": 70,
    "item": None,
}

SIZES = (2**20 + 1, 2**17 + 1)  # of texts: the largest, and the largest of those that are asked again


def test_a_leaf_is_grown_beyond_the_frozen_sizes_alone_and_its_items_differ() -> None:
    largest = [grown.natives[0] for grown in large(InputPlaces(INPUTS), [NATIVE])]
    found: dict[str, list[Any]] = {}
    for one in largest:
        (name,) = [name for name in one if one[name] is not NATIVE[name]]
        found.setdefault(name, []).append(one[name])
    assert set(found) == {"name", "blob", "levels", "counts"}
    assert len(found["name"][0]) == len(found["blob"][0]) == 2**20 + 1
    assert found["name"][1][1:] == "\U0001f600" * (2**18 - 1)
    different, alike = found["levels"]
    assert len(set(different)) == len(alike) == 4_999
    assert set(alike) == {1}
    assert len(found["counts"][0]) == 5_000


def test_what_a_guard_may_refuse_is_tried_again_with_the_sizes_that_the_contract_mentions() -> None:
    ways = [grown.natives for grown in large(InputPlaces(INPUTS), [NATIVE], [3, 64, 4_096])]
    assert [len(one["name"]) for one in ways[0]] == [2**20 + 1, 2**17 + 1, 4_096, 64, 300]
    assert [len(one["levels"]) for one in next(some for some in ways if some[0]["levels"] != [1, 8])] == [
        4_999, 4_096, 64, 300,
    ]  # fmt: skip


def test_a_list_of_structs_is_grown_with_other_texts_and_numbers_in_each() -> None:
    item = Struct((Field("id", Scalar("string")), Field("row", Scalar("uint8")), Field("on", Scalar("bool"))))
    natives: list[dict[str, Any]] = [{"items": [{"id": "a", "row": 250, "on": True}]}]
    grown = large(InputPlaces(Struct((Field("items", ListOf(item)),))), natives)
    different, alike, *_ = (one.natives for one in grown)
    assert len({one["id"] for one in different[0]["items"]}) == 300
    assert {one["row"] for one in different[0]["items"]} == {*range(256)}
    assert {one["on"] for one in different[0]["items"]} == {True}
    assert alike[0]["items"] == natives[0]["items"] * 300


def test_what_a_self_describing_value_holds_is_grown_once_for_each_kind() -> None:
    items: list[dict[str, Any]] = [{"item": {"a": "text", "b": ["x"]}}, {"item": "another text"}]
    grown = [ways.natives[0]["item"] for ways in large(InputPlaces(Struct((Field("item", Value()),))), items)]
    assert [type(one) for one in grown] == [dict] * 6
    assert [(len(one), len({*map(repr, one.values())})) for one in grown[:2]] == [(5_001, 5_001), (5_001, 2)]
    assert len(grown[2]["a"]) == 2**20 + 1
    assert len(grown[3]["a"]) == 2**18
    assert len(set(grown[4]["b"])) == len(grown[5]["b"]) == 4_999


def test_a_map_is_grown_with_its_shortest_item() -> None:
    item = {"a": [{"name": "a row of a schema", "shape": []}], "b": 2}
    ways = [one.natives[0]["item"] for one in large(InputPlaces(Struct((Field("item", Value()),))), [{"item": item}])]
    assert [len(one) for one in ways[:2]] == [5_001, 5_001]
    assert all(type(one) is int for key, one in ways[0].items() if key != "a")


def test_a_long_leaf_comes_with_other_middles_alone() -> None:
    others: dict[str, list[Any]] = {}
    for place, natives in large(InputPlaces(INPUTS), [NATIVE]):
        for one in middle_changed(place, natives[0]):
            (name,) = [name for name in one if one[name] is not natives[0][name]]
            others.setdefault(name, []).append((natives[0][name], one[name]))
    for name in ("name", "blob"):
        for long, other in others[name]:
            assert len(long) == len(other)
            assert [k for k in range(len(long)) if long[k] != other[k]] == [len(long) // 2]
    middle = 4_999 // 2 - 1
    parts = [(long[middle : middle + 2], other[middle : middle + 2]) for long, other in others["levels"][:3]]
    assert parts == [([2499, 2500], changed) for changed in ([2500, 2499], [1, 2500], [7498, 2500])]
    assert all(long[:middle] == other[:middle] for long, other in others["levels"])
    assert any([*long.values()] != [*other.values()] for long, other in others["counts"])


def test_a_text_of_a_megabyte_is_asked_once_and_a_shorter_one_again_with_another_middle() -> None:
    shipped = shipped_library()
    forms = codebook_of(shipped)["UML_OS.Error.Emit_v1"]
    calls = calls_for(forms, load_corpus(shipped.suite).cases[forms.contract.operator], 1)
    places = [place for call in calls for place in InputPlaces(forms.contract.inputs).all(call.native)]
    texts = {place.value for place in places if type(place.value) is str and len(place.value) in SIZES}
    ends = Counter((len(text), text[:1_000], text[-1_000:]) for text in texts)
    assert {(size, count) for (size, *_), count in ends.items()} == {(SIZES[0], 1), (SIZES[1], 2)}


def test_a_machine_is_asked_its_frozen_inputs_and_long_ones_with_other_middles() -> None:
    shipped = shipped_library()
    stream = shipped.contracts["Stream"]
    pool = pool_of(stream, load_corpus(shipped.suite).cases["Stream"], codebook_of(shipped))
    pushed = [turn.native for program in long_leaves(pool) for turn in program if turn.operator == "Stream.Push"]
    long = [one["tokens"] for one in pushed if len(one["tokens"]) == 4_999]
    ends: dict[str, set[str]] = {}
    for one in long:
        ends.setdefault(repr((one[:2_000], one[-2_000:])), set()).add(repr(one))
    assert any(len(some) > 1 for some in ends.values())
    asked = {(turn.operator, printed(turn.native)) for program in degenerate(pool) for turn in program}
    for operator in pool.inputs:
        first, *_ = seeds = pool.good[operator]
        alike = [seed.native for seed in seeds if seed.roots == first.roots]
        longest = longest_of(alike)
        assert longest is not None
        near = islice(near_long(pool.words[operator].inside, longest), 4)
        turns = [ProgramCall(operator, native, first.roots) for native in near]
        wanted = [one.native for one in turns if may_be_asked(pool, one)]
        wanted += leaf_origins(pool.words[operator].inside, alike)
        assert {(operator, printed(one)) for one in wanted} <= asked


def test_another_middle_keeps_the_type_of_every_value() -> None:
    fields = [Field(f"f{k}", Scalar("uint64") if k % 2 else Scalar("bool")) for k in range(20)]
    type_ = Struct(
        (
            Field("many", Struct(tuple(fields))),
            Field("choice", Enum(("a_choice_of_many_letters",))),
            Field("last", Scalar("string")),
            Field("below", Scalar("string")),
            Field("item", Value()),
        )
    )
    native: dict[str, Any] = {
        "many": {field.name: k if k % 2 else False for k, field in enumerate(fields)},
        "choice": "a_choice_of_many_letters",
        "last": "\U0010ffff" * 20,
        "below": "\ud7ff" * 20,  # the next number is no letter
        "item": {f"k{k}": k for k in range(20)},
    }
    form = form_of(type_)
    found = [one for place in InputPlaces(type_).first(native) for one in middle_changed(place, native)]
    assert {name for one in found for name in one if one[name] != native[name]} == {"last", "below", "item"}
    for one in found:
        assert form.to_native(form.from_native(one)) == one
        printed(one).encode()


def test_the_values_of_two_neighbours_are_exchanged() -> None:
    type_ = Struct(
        (
            Field("one", Scalar("uint64"), optional=True),
            Field("other", Scalar("uint64"), optional=True),
            Field("must", Scalar("uint64")),
            Field("items", ListOf(Scalar("string"))),
            Field("ids", Tensor("int32")),
            Field("none", Tensor("bool"), optional=True),
        )
    )
    native: dict[str, Any] = {"one": 5, "must": 7, "items": ["a", "a", "b"], "ids": np.array([4, 4, 9], dtype="int32")}
    itself, *found = [{**one, "ids": one["ids"].tolist()} for one in exchanged(InputPlaces(type_), [native, native])]
    plain = {**native, "ids": [4, 4, 9]}
    without = {name: part for name, part in plain.items() if name != "one"}
    assert sorted(found, key=repr) == sorted(
        [{**plain, "items": ["a", "b", "a"]}, {**plain, "ids": [4, 9, 4]}, {**without, "other": 5}], key=repr
    )
    assert itself == plain


def test_each_leaf_of_an_input_gets_a_value_of_the_same_length() -> None:
    native: dict[str, Any] = {**NATIVE, "levels": [4, 5, 8]}
    itself, *found = of_same_length(InputPlaces(INPUTS), native)
    assert itself is native
    assert {name for one in found for name in one if one[name] is not native[name]} == set(NATIVE) - {"item"}
    assert [5, 5, 8] in [one["levels"] for one in found] or [0, 5, 8] in [one["levels"] for one in found]
    assert all(len(repr(one)) == len(repr(native)) for one in found)


def test_numbers_that_meet_are_moved_together_and_one_beside_the_other() -> None:
    (moved,) = pair_variants(InputPlaces(INPUTS), [NATIVE])
    pairs = {(one["counts"]["k"], one["size"]) for one in moved}
    for scale in (2**53, 2**63):
        assert {(scale, scale), (scale + 1, scale), (scale, scale + 1)} <= pairs
    assert {(40 + 2**32, 40), (40, 40 + 2**32)} <= pairs
    assert all(one["rank"] == 70 for one in moved)


def test_a_cardinality_beside_2_to_63_is_held_against_the_registered_one() -> None:
    # That beside 2^53 is a frozen case, which is not drawn again.
    shipped = shipped_library()
    forms = codebook_of(shipped)["UML_OS.Data.NextBatch_v2"]
    calls = calls_for(forms, load_corpus(shipped.suite).cases[forms.contract.operator], 1)
    registered = {
        (next(iter(registry.values())), call.native["manifest"]["datasets"]["d"]["cardinality"])
        for call in calls
        if call.side == "cardinality-registered" and (registry := call.native.get("dataset_registry"))
        and "d" in call.native["manifest"]["datasets"]
    }  # fmt: skip
    assert {(2**63 + 1, 2**63), (2**63, 2**63 + 1)} <= registered


def test_two_elements_of_a_tensor_and_two_of_a_list_become_one_number_in_fewer_bits() -> None:
    type_ = Struct(
        (Field("ids", Tensor("int32")), Field("rates", Tensor("float64")), Field("levels", ListOf(Scalar("uint64"))))
    )
    native: dict[str, Any] = {"ids": np.arange(3, dtype="int32"), "rates": np.zeros(2), "levels": [1, 2, 3, 4]}
    found = list(neighbours(InputPlaces(type_), [native]))
    ids = {tuple(one["ids"].tolist()) for one in found}
    assert {(2**24 + 1, 2**24, 2), (2**24, 2**24 + 1, 2), (0, 2**24 + 1, 2**24), (2**16, 0, 2), (0, 2**16, 2)} <= ids
    assert any(one["rates"][0] > one["rates"][1] == 1.0 for one in found)
    levels = {tuple(one["levels"]) for one in found}
    assert {(2**53 + 1, 2**53, 3, 4), (1, 2, 2**53, 2**53 + 1)} <= levels
    assert native["ids"].tolist() == [0, 1, 2]


def test_columns_that_a_small_float_makes_one_are_asked_about() -> None:
    shipped = shipped_library()
    forms = codebook_of(shipped)["Batch.Permutations"]
    calls = calls_for(forms, load_corpus(shipped.suite).cases[forms.contract.operator], 1)
    pairs = [call.native["column_ids"].reshape(-1)[:2].tolist() for call in calls if call.native["column_ids"].size > 1]
    assert [2**24 + 1, 2**24] in pairs
    assert [2**24, 2**24 + 1] in pairs


def values(type_: Any, value: Any) -> list[Any]:
    return list(degenerates(Place(("x",), "x", type_, value)))


def test_what_an_object_of_javascript_inherits_is_a_key_and_a_text() -> None:
    assert "__proto__" in values(Scalar("string"), "d")
    assert any({"k", "__proto__", "constructor"} == one.keys() for one in values(MapOf(Scalar("uint64")), {"k": 1}))
    assert any("__proto__" in one for one in values(Value(), {"k": 1}) if isinstance(one, dict))


def test_a_signalling_nan_stays_one() -> None:
    for name, bits in (("float16", "017c"), ("float32", "0100807f"), ("float64", "010000000000f07f")):
        found = values(Tensor(name), np.ones(2, dtype=name))
        assert bytes.fromhex(bits) in [one.tobytes()[: len(bits) // 2] for one in found]


def test_bytes_with_a_line_end_behind_them_are_other_bytes() -> None:
    assert b"\1\n" in values(Scalar("bytes"), b"\1")
    heads = [made for place, some in degenerate_items(b"\xa0") if place.key == "head" for made in some]
    assert b"\xa0\n" in heads
