"""What fuzzing lists before it draws: versions, temporary files, other axes of arrays, limits, calls wrong twice."""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.codec.cbor import decode, encode_canonical
from conformance.codec.codebook import codebook_of
from conformance.contract.types import Enum, Field, ListOf, MapOf, Scalar, Struct
from conformance.tests.shipped import shipped_library
from conformance.trial.fuzz.file_example import Snapshots
from conformance.trial.fuzz.files import keeps_files
from conformance.trial.fuzz.listings.files import (
    degenerate_inputs,
    inputs_at_limits,
    leftovers,
    limits_in_words,
    losses,
)
from conformance.trial.fuzz.listings.growth import large, near_long
from conformance.trial.fuzz.listings.inputs import is_version, near_versions, versions
from conformance.trial.fuzz.listings.refusals import competing, damaged_twice
from conformance.trial.fuzz.near_bytes import item_in, middle_parts_changed
from conformance.trial.fuzz.seed import InputPlaces, printed
from conformance.vectors.case import CallStep, Case, Expected, ExpectedFailure, ExpectedResult, FileStep, Step
from conformance.vectors.files.damage import RESHAPES, retyped
from conformance.vectors.place import Place, degenerates

FILES = {"COMMITTED": 9, "wal/00000000000000000000.rec": 9, "objects/" + "ab" * 32: 1}


def test_a_version_has_three_numbers() -> None:
    assert [one for one in ("1.2.3", "1.2", "1.02.3", "v1.2.3", "1.2.3\n", "١.2.3", 1) if is_version(one)] == ["1.2.3"]


def test_each_part_of_a_known_version_is_moved_alone_and_none_is_negative() -> None:
    near = near_versions(["1.0.0"])
    assert {"1.0.0", "1.0.1", "1.1.0", "2.0.0", "0.0.0"} <= {*near}
    assert not [one for one in near if "-" in one]


def test_a_leaf_takes_what_lies_beside_the_versions_of_all_examples() -> None:
    type_ = Struct((Field("since", Scalar("string")), Field("name", Scalar("string"))))
    natives = [{"since": "1.0.0", "name": "a"}, {"since": "1.4.0", "name": "b"}]
    found = [native["since"] for native in versions(InputPlaces(type_), natives, ["3.0.0", "word"])]
    assert {"1.0.1", "1.4.1", "3.0.1"} <= {*found}
    assert {native["name"] for native in versions(InputPlaces(type_), natives, [])} == {"a"}


def test_a_version_inside_a_canonical_item_is_changed_and_its_digest_made_right() -> None:
    inner = {"v": "1.1.0"}
    blob = encode_canonical([inner, hashlib.sha256(encode_canonical(inner)).digest()])
    type_ = Struct((Field("blob", Scalar("bytes")),))
    found = [native["blob"] for native in versions(InputPlaces(type_), [{"blob": blob}], [])]
    items = [item[0] for data in found if (item := item_in(data)) is not None]
    assert "1.1.1" in {item[0]["v"] for item in items}
    assert all(item[1] == hashlib.sha256(encode_canonical(item[0])).digest() for item in items)


def test_leftovers_are_the_names_that_a_contract_owns_and_that_frozen_steps_plant() -> None:
    contract = shipped_library().contracts["UML_OS.Checkpoint.RecoverRun_v1"]
    steps = [FileStep("put", {"root": "a", "path": ".mine.tmp", "text": ""})]
    paths = {edit[0].body["path"] for edit in leftovers(contract, "a", FILES, steps)}
    assert {".COMMITTED.tmp", ".mine.tmp", "wal/.00000000000000000000.rec.tmp"} <= paths
    assert any(path.startswith("objects/.") for path in paths)


def test_trees_lose_one_file_or_folder_and_then_two() -> None:
    lost = [{edit[0].body["path"] for edit in edits} for edits in losses("a", FILES)]
    assert {"wal"} in lost
    assert {"COMMITTED", "wal"} in lost
    assert not any({"wal", "wal/00000000000000000000.rec"} <= one for one in lost)


@pytest.mark.parametrize(
    ("kind", "axes", "wanted"),
    [
        ("unit-axis-last", [4], [4, 1]),
        ("unit-axis-inside", [4, 3], [4, 1, 3]),
        ("axes-swapped", [5, 2, 3], [5, 3, 2]),
        ("axes-merged", [5, 2, 3], [5, 6]),
        ("axis-split", [5, 6], [5, 2, 3]),
    ],
)
def test_other_axes_keep_the_size(kind: str, axes: list[int], wanted: list[int]) -> None:
    assert RESHAPES[kind](axes) == wanted


@pytest.mark.parametrize("value", [[], "12", [1.0], [{"a": 1}], [[2, 2]]])
def test_what_is_no_list_of_axes_is_not_reshaped(value: Any) -> None:
    with pytest.raises(TypeError):
        RESHAPES["axes-swapped"](value)


def test_another_type_is_as_wide() -> None:
    assert [retyped(one) for one in ("<i4", "|u1", "uint8", "float32")] == ["<u4", "|i1", "int8", "int32"]
    with pytest.raises(TypeError):
        retyped("bool")


def test_a_limit_that_is_told_is_met_from_both_sides_in_letters_of_each_width() -> None:
    assert list(limits_in_words("No path, at most 1,024 bytes of UTF-8.")) == [(1024, "bytes")]
    assert list(limits_in_words("At most 9 characters; at most 3 files.")) == [(9, "characters")]
    type_ = Struct((Field("name", Scalar("string"), doc="At most 7 bytes."), Field("free", Scalar("string"))))
    names = [inputs["name"] for inputs in inputs_at_limits(type_, {"name": "x", "free": "y"})]
    sizes = {(len(name), len(name.encode())) for name in names}
    assert {(7, 7), (8, 8), (4, 7), (4, 8), (7, 14), (8, 16)} <= sizes
    assert any(size == 7 and letters < 5 for letters, size in sizes)


WRITE = "UML_OS.Checkpoint.WriteContainer_v1"
THERE = FileStep("put", {"root": "a", "path": "c/x", "bytes": "00"})
REFUSED = ExpectedFailure("CONTRACT_VIOLATION", {})


def _case(group: str, expected: Expected, *before: FileStep, **inputs: Any) -> Case:
    given = {"root": {"root": "a"}, "name": "c", "header": {"map": []}, "files": {}, **inputs}
    steps: tuple[Step, ...] = (*before, CallStep("write", WRITE, given, expected))
    return Case(f"{WRITE}::{group}::one", WRITE, group, "", (), (), "quick", steps)


def test_a_call_that_files_make_fail_is_asked_with_inputs_that_are_refused_anywhere() -> None:
    library = shipped_library()
    taken = _case("taken", REFUSED, THERE)
    cases = [
        _case("fine", ExpectedResult({})),
        taken,
        _case("no-header", REFUSED, header="null", name="d", root={"root": "b"}),
        _case("from-elsewhere", REFUSED, files={"a": {"from": "other.blob"}}),
    ]
    seen = Snapshots({"write": {"a": {"c/x": 1}}})
    bases = [(case, seen if case is taken else Snapshots()) for case in cases]
    examples = list(competing(library.contracts[WRITE], codebook_of(library), bases, cases))
    # The name of what is there and the own root stay; the inputs that the files alone make fail are no others.
    assert [(one.before, one.after[0]) for one in examples] == [((THERE,), _case("", REFUSED, header="null").steps[0])]


def test_an_operator_of_files_is_asked_degenerate_inputs_in_its_own_root() -> None:
    library = shipped_library()
    read = "UML_OS.Checkpoint.ReadContainer_v1"
    inputs = {"root": {"root": "a"}, "name": "c", "stage": "train", "expected": {"map": []}}
    call = CallStep("read", read, inputs, ExpectedResult({}))
    case = Case(f"{read}::fine::one", read, "fine", "", (), (), "quick", (THERE, call))
    listed = [*degenerate_inputs(library.contracts[read], codebook_of(library), [case])]
    asked = [example.after[0].inputs for example in listed if isinstance(example.after[0], CallStep)]
    assert {"", "c\n", " c", "c\0", "C"} <= {one["name"] for one in asked}
    assert [one for one in asked if one["root"] != {"root": "a"}] == []
    assert all(example.before == (THERE,) for example in listed)
    assert keeps_files(library.contracts[read], [replace(case, steps=(call,))])  # there is no tree to edit
    # The inputs that depend on another step's answer are no start.
    bound = replace(case, steps=(THERE, replace(call, inputs={**inputs, "name": {"from": "write.name"}})))
    assert [*degenerate_inputs(library.contracts[read], codebook_of(library), [bound])] == []


def test_an_operator_of_files_is_asked_with_every_kind_of_input_and_with_neighbours_exchanged() -> None:
    library = shipped_library()
    read = "UML_OS.Checkpoint.ReadContainer_v1"
    inputs = {"root": {"root": "a"}, "name": "c", "stage": "train", "expected": {"map": []}}
    plain = CallStep("read", read, inputs, ExpectedResult({}))
    written = CallStep("write", WRITE, {"root": {"root": "a"}, "name": "c"}, ExpectedResult({}))
    long = [f"{k}.bin" for k in range(16)]
    full = replace(plain, inputs={**inputs, "shards": ["one.bin", "two.bin", "three.bin"]})
    longest = replace(plain, inputs={**inputs, "shards": long})
    traces = [(THERE, plain), (THERE, written, full), (THERE, written, longest)]
    cases = [Case(f"{read}::fine::{k}", read, "fine", "", (), (), "quick", one) for k, one in enumerate(traces)]
    listed = [*degenerate_inputs(library.contracts[read], codebook_of(library), cases)]
    asked = [(example.before, step.inputs) for example in listed if isinstance(step := example.after[0], CallStep)]
    shards = [one.get("shards") for before, one in asked if before == (THERE, written)]
    # Both frozen inputs, each where its case has it; the lists are changed where a case has one.
    assert ((THERE,), inputs) in asked
    wanted: tuple[Any, ...] = (["one.bin", "two.bin", "three.bin"], ["two.bin", "one.bin", "three.bin"], [], None)
    assert [some for some in wanted if some not in shards] == []
    assert {len(before) for before, one in asked if one["name"] == "C"} == {1}
    another_middle = [*long[:7], long[8], long[7], *long[9:]]
    assert ((THERE, written), {**inputs, "shards": another_middle}) in asked


def test_two_kinds_of_failure_meet_in_some_pair_of_damages() -> None:
    def damaged(k: int, reason: str) -> Case:
        edit = {"root": "a", "path": "c", "format": "container", "edit": f"manifest.field{k:02} changed"}
        failed = ExpectedFailure("WAL_CORRUPTION", {"reason": reason, "field_path": f"manifest.field{k:02}"})
        return replace(_case("damaged", failed, FileStep("damage", edit)), id=f"damaged-{k:02}")

    # Of 1,176 pairs, two have the reasons of the rare ones; no even choice has both.
    rare = {17: "rare", 31: "rarer"}
    cases = [damaged(k, rare.get(k, "common")) for k in range(49)]
    found = list(damaged_twice(shipped_library().contracts[WRITE], cases))
    fields = [{edit[0].body["edit"][14:16] for edit in one.edits} for one in found]
    assert {"17", "31"} in fields
    assert any("17" in two and "31" not in two for two in fields)
    assert len(found) < 65


def test_files_are_damaged_twice_where_each_damage_alone_fails_in_another_way() -> None:
    def damage(edit: str) -> FileStep:
        return FileStep("damage", {"root": "a", "path": "c", "format": "container", "edit": edit})

    hash_of, sizes, other = damage("manifest.hash changed"), damage("manifest.size changed"), damage("link absent")
    missing = ExpectedFailure("WAL_CORRUPTION", {})
    cases = [
        _case("damaged", REFUSED, hash_of),
        _case("damaged", REFUSED, damage("manifest.hash null")),
        _case("damaged", missing, sizes),
        _case("damaged", ExpectedResult({}), damage("manifest.note absent")),
        _case("damaged", missing, THERE, other),
        _case("damaged-otherwise", missing, other),
    ]
    named = [replace(case, id=f"{case.id}-{k}") for k, case in enumerate(cases)]
    (example,) = damaged_twice(shipped_library().contracts[WRITE], named)
    assert example.edits == ((hash_of,), (sizes,))
    assert (example.before, example.after) == ((), cases[2].steps[1:])


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_long_list_of_floats_has_another_sum_in_another_order(name: str) -> None:
    type_ = Struct((Field("items", ListOf(Scalar(name))), Field("by_key", MapOf(Scalar(name)))))
    natives = [ways.natives[0] for ways in large(InputPlaces(type_), [{"items": [3.0], "by_key": {"k": -2.0}}])]
    same_sign, both_signs, in_map, _ = natives
    assert {one < 0 for one in same_sign["items"]} == {False}
    assert {one < 0 for one in in_map["by_key"].values()} == {True}
    added = np.dtype(name).type
    for items in (same_sign["items"], both_signs["items"], [*in_map["by_key"].values()]):
        assert all(float(added(item)) == item for item in items)
        assert len({*items}) > 4_000
    items = both_signs["items"]
    by_two = _added(items[::2], added) + _added(items[1::2], added)
    others = (_added(items[::-1], added), by_two, np.sum(np.array(items, name)), added(math.fsum(items)))
    assert _added(items, added) not in others


@pytest.mark.parametrize(("name", "item", "low", "high"), [("uint8", 250, 0, 255), ("int16", 32_767, -32_768, 32_767)])
def test_a_long_list_of_small_integers_stays_in_their_range(name: str, item: int, low: int, high: int) -> None:
    (_, (native, *_)), _ = large(InputPlaces(Struct((Field("items", ListOf(Scalar(name))),))), [{"items": [item]}])
    assert low <= min(native["items"]) < max(native["items"]) <= high
    assert len({*native["items"]}) > 250


def test_a_long_list_of_choices_has_only_choices() -> None:
    (_, (native, *_)), _ = large(InputPlaces(Struct((Field("items", ListOf(Enum(("a", "b")))),))), [{"items": ["b"]}])
    assert {*native["items"]} == {"b"}


def test_a_cbor_item_in_bytes_grows_stays_canonical_and_has_different_parts() -> None:
    item = {"a": {"n": 1}, "list": [[1, 2]], "text": "t"}
    natives = [{"blob": b""}, {"blob": encode_canonical({})}, {"blob": encode_canonical(item)}]
    found = [way.natives[0]["blob"] for way in large(InputPlaces(Struct((Field("blob", Scalar("bytes")),))), natives)]
    items = [decode(blob)[0] for blob in found[1:]]  # the first are no item
    assert [encode_canonical(one) for one in items] == found[1:]
    assert max(len({*map(repr, one.values())}) for one in items) > 4_999
    assert max(len({*map(repr, one["list"])}) for one in items) == 4_999
    assert {len(one["text"]) for one in items} >= {1, 2**20 + 1}


def test_structs_in_a_grown_map_differ_and_so_do_those_in_a_list() -> None:
    cursor = Struct((Field("name", Scalar("string")), Field("index", Scalar("uint8"))))
    type_ = Struct((Field("items", ListOf(cursor)), Field("by_key", MapOf(cursor))))
    one = {"name": "a", "index": 255}
    ways = [way.natives[0] for way in large(InputPlaces(type_), [{"items": [one], "by_key": {"k": one}}])]
    items, equal = (way["items"] for way in ways if len(way["items"]) > 1)
    by_key, _ = (way["by_key"] for way in ways if len(way["by_key"]) > 1)
    assert len({*map(repr, items)}) == len(items) == len(equal) == 300
    assert len({*map(repr, by_key.values())}) == len(by_key) == 5_000
    assert {each["index"] for each in by_key.values()} == {*range(256)}
    assert {*map(repr, equal)} == {repr(one)}


def test_parts_in_the_middle_of_a_long_item_change_in_as_many_bytes() -> None:
    item = {f"k{k}": [k, f"text {k}"] for k in range(30)}
    changed = [decode(one)[0] for one in middle_parts_changed(item)]
    assert len(changed) == 4
    assert {len(encode_canonical(one)) for one in changed} == {len(encode_canonical(item))}
    keys = {key for one in changed for key, value in one.items() if value != item[key]}
    assert keys
    assert {*list(item)[:10], *list(item)[-10:]}.isdisjoint(keys)
    near = near_long(InputPlaces(Struct((Field("blob", Scalar("bytes")),))), {"blob": encode_canonical(item)})
    assert {*middle_parts_changed(item)} <= {native["blob"] for native in near}


def _added(items: list[float], added: Any) -> Any:
    found = added(0)
    for item in items:
        found = found + added(item)
    return found


def test_floats_that_a_smaller_float_rounds_and_a_nan_with_a_payload_are_degenerate() -> None:
    found = list(degenerates(Place(("x",), "x", Scalar("float64"), 1.5)))
    narrowed = {one: float(np.float32(one)) for one in found if abs(one) < 2.0**127}
    assert any(0 < abs(to) < 2.0**-126 for to in narrowed.values())
    assert any(abs(one - to) * 2.0**24 == 1.0 for one, to in narrowed.items())
    payloads = [struct.pack(">d", one).hex() for one in found if one != one]
    assert payloads == ["7ff8000000000000", "fff8002460000000"]
    assert len({printed(one) for one in found}) == len(found)
