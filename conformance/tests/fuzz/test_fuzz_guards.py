"""Fuzzing at the limits of a contract: its numbers as values and sizes, and both neighbours of every refusal."""

from __future__ import annotations

from itertools import islice
from typing import Any

from conformance.codec.codebook import codebook_of
from conformance.contract.types import Field, ListOf, Scalar, Struct
from conformance.tests.shipped import shipped_library
from conformance.trial.fuzz.listings.growth import is_asked_again, large, middle_changed
from conformance.trial.fuzz.listings.guards import at_numbers, beside_guards
from conformance.trial.fuzz.listings.inputs import exchanged, leaf_origins, of_same_length
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.fuzz.seed import (
    ACCEPTED,
    InputLimits,
    InputPlaces,
    longest_of,
    printed,
    seeds_of,
    vocabulary_of,
)
from conformance.vectors.frozen.corpus import load_corpus

INPUTS = Struct(
    (
        Field("name", Scalar("string")),
        Field("blob", Scalar("bytes")),
        Field("rows", ListOf(Scalar("uint64"))),
        Field("size", Scalar("uint8")),
    )
)
NATIVE: dict[str, Any] = {"name": "n", "blob": b"b", "rows": [1, 2], "size": 7}


def changed(natives: list[dict[str, Any]], name: str) -> list[Any]:
    return [native[name] for native in natives if native[name] is not NATIVE[name]]


def test_a_number_of_the_contract_is_a_value_and_a_size_and_so_are_its_neighbours() -> None:
    found = list(at_numbers(InputPlaces(INPUTS), [NATIVE], [64, 300]))
    assert [size for size in changed(found, "size") if size != 7] == [64, 65, 63]  # 300 is no uint8
    assert sorted({len(text) for text in changed(found, "name")}) == [63, 64, 65, 299, 300, 301]
    assert {len(text.encode()) for text in changed(found, "name")} >= {64, 127}
    assert sorted(len(data) for data in changed(found, "blob")) == [63, 64, 65, 299, 300, 301]
    assert sorted(len(rows) for rows in changed(found, "rows") if len(rows) > 2) == [63, 64, 65, 299, 300, 301]
    assert [rows[0] for rows in changed(found, "rows") if len(rows) == 2] == [64, 65, 63, 300, 301, 299]


def test_every_leaf_gets_its_first_number_before_any_gets_its_second() -> None:
    first = list(at_numbers(InputPlaces(INPUTS), [NATIVE], [64]))[:5]
    assert {name for name in NATIVE for native in first if native[name] != NATIVE[name]} >= {"name", "blob", "size"}


def test_the_last_integer_that_passes_a_guard_and_the_first_that_does_not_are_found() -> None:
    by_side = {ACCEPTED: [NATIVE], "small": [{**NATIVE, "size": 255}], "never": [{**NATIVE, "name": ""}]}

    def side(native: dict[str, Any]) -> str | None:
        return "small" if native["size"] > 99 else ACCEPTED

    found = list(beside_guards(InputPlaces(INPUTS), by_side, side))
    assert [native["size"] for native in found] == [99, 100]


def test_an_operator_is_asked_what_is_listed() -> None:
    shipped = shipped_library()
    forms = codebook_of(shipped)["UML_OS.Data.NextBatch_v2"]
    cases = load_corpus(shipped.suite).cases[forms.contract.operator]
    asked = {printed(call.native) for call in calls_for(forms, cases, 1)}
    seeds, side = seeds_of(forms, cases), InputLimits(forms.contract).side
    words = vocabulary_of(forms.contract, seeds.all)
    known = {printed(native) for native in seeds.all}
    longest = longest_of(seeds.by_side[ACCEPTED])
    assert longest is not None
    for listed in (
        exchanged(words.inside, seeds.by_side[ACCEPTED]),
        of_same_length(words.inside, longest),
        at_numbers(words.inside, seeds.by_side[ACCEPTED], words.numbers),
        beside_guards(words.inside, seeds.by_side, side),
    ):
        wanted = {printed(native) for native in islice(listed, 10) if side(native) is not None} - known
        assert wanted
        assert wanted <= asked
    # Beside the changed inputs: a backend that takes one for the other may be right in one of them.
    assert {printed(native) for native in leaf_origins(words.inside, seeds.by_side[ACCEPTED])} <= asked
    grown = large(words.inside, seeds.by_side[ACCEPTED], words.numbers)
    long = [(place, native) for place, natives in grown for native in natives if printed(native) in asked]
    again = [(place, native) for place, native in long if is_asked_again(place, native)]
    assert 0 < len(again) < len(long)
    assert {printed(other) for place, native in again for other in middle_changed(place, native)} <= asked
