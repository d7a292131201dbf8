"""Generated inputs are well typed, accepted by the contract that names them, and of every shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from checks.generators.relational import random_database
from conformance.codec.codebook import codebook_of
from conformance.contract.yaml.source import MalformedContract
from conformance.tests.shipped import shipped_library
from conformance.tests.small_spec import SHIPPED
from conformance.trial.fuzz.draw import DRAWN, GROWN
from conformance.trial.fuzz.listings.growth import middle_changed
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.fuzz.seed import ACCEPTED, LONGEST, InputLimits, InputPlaces, printed
from conformance.trial.generator import generator_of, known_generators
from conformance.vectors.leaf import spots

CODEBOOK = codebook_of(shipped_library())
GENERATED = sorted(forms.contract.operator for forms in CODEBOOK.forms.values() if forms.contract.fuzz_generator)
NAMED = [name for name in GENERATED if CODEBOOK[name].contract.own_machine is None]  # the others make conversations
NUMBERS = range(40)


@pytest.mark.parametrize("operator", NAMED)
def test_generated_inputs_are_well_typed_and_mostly_accepted(operator: str) -> None:
    forms = CODEBOOK[operator]
    generator = generator_of(forms.contract, SHIPPED)
    assert generator is not None
    made = [generator.make(Random(number)) for number in NUMBERS]
    if forms.contract.purity == "io":  # the files, and the inputs of the call that reads them
        made = [one["inputs"] for one in made]
    for native in made:
        forms.inputs.from_native(native)
    bounds = InputLimits(forms.contract)
    accepted = sum(bounds.side(native) == ACCEPTED for native in made)
    assert accepted >= 0.9 * len(made)


GROWING = [name for name in NAMED if (one := generator_of(CODEBOOK[name].contract, SHIPPED)) is not None and one.grown]


@pytest.mark.parametrize("operator", GROWING)
def test_what_a_generator_makes_large_is_accepted_and_beyond_a_byte(operator: str) -> None:
    forms = CODEBOOK[operator]
    generator = generator_of(forms.contract, SHIPPED)
    assert generator is not None
    assert generator.grown is not None
    made = list(generator.grown(Random(operator)))
    bounds = InputLimits(forms.contract)
    assert [bounds.side(native, limited=False) for native in made] == [ACCEPTED] * len(made)
    for native in made:
        values = [spot.value for spot in spots(forms.contract.inputs, forms.inputs.from_native(native))]
        lists = [len(value) for value in values if isinstance(value, list)]
        shapes = [length for value in values if isinstance(value, dict) for length in value.get("shape", ())]
        assert max(lists + shapes) > 64


def test_large_calls_are_asked_beside_the_drawn_ones_a_short_one_with_another_middle() -> None:
    forms = CODEBOOK["Batch.RemapText"]
    generator = generator_of(forms.contract, SHIPPED)
    assert generator is not None
    assert generator.grown is not None
    calls = calls_for(forms, (), wanted=20)
    assert [call.why for call in calls].count(DRAWN) == 20
    asked = {printed(call.native) for call in calls if call.why == GROWN}
    made = [*generator.grown(Random(forms.contract.operator))]
    assert {printed(native) for native in made} <= asked
    long, short, *_ = made
    assert len(printed(short)) <= LONGEST < len(printed(long))  # the first one is too long to be asked many times
    inside = InputPlaces(forms.contract.inputs)
    for native, again in ((long, False), (short, True)):
        others = {printed(one) for place in inside.first(native) for one in middle_changed(place, native)}
        assert others
        assert (others <= asked) == again


def test_every_generator_is_named_by_a_contract() -> None:
    assert known_generators(SHIPPED).keys() == {CODEBOOK[name].contract.fuzz_generator for name in GENERATED}


@pytest.mark.parametrize("name", sorted(known_generators(SHIPPED)))
def test_the_same_number_makes_the_same_inputs(name: str) -> None:
    make = known_generators(SHIPPED)[name].make
    assert repr(make(Random(7))) == repr(make(Random(7))) != repr(make(Random(8)))


def keys() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every foreign key of some databases, with its table."""
    for number in NUMBERS:
        for table in random_database(Random(number))["tables"]:
            yield from ((table, key) for key in table["foreign_keys"])


def test_databases_have_empty_tables_and_tables_without_columns() -> None:
    tables = [table for number in NUMBERS for table in random_database(Random(number))["tables"]]
    assert any(table["row_count"] == 0 for table in tables)
    assert any(not table["columns"] for table in tables)
    assert {column["semantic_type"] for table in tables for column in table["columns"]} == {
        "identifier", "numerical", "timestamp", "boolean", "categorical", "text", "ignored",
    }  # fmt: skip


def test_keys_are_null_repeated_and_lead_to_the_own_table_and_row() -> None:
    found = list(keys())
    assert any((key["rows"] == -1).any() for _, key in found)
    assert any(len(set(key["rows"].tolist())) < len(key["rows"]) for _, key in found)
    assert any(key["table"] == table["name"] for table, key in found)
    assert any(
        key["table"] == table["name"] and row in key["rows"][row : row + 1]
        for table, key in found
        for row in range(table["row_count"])
    )


def test_a_generator_unheard_of_is_told_at_its_place() -> None:
    contract = replace(CODEBOOK["Batch.BuildGraph"].contract, fuzz_generator="crystal-ball")
    with pytest.raises(MalformedContract) as told:
        generator_of(contract, SHIPPED)
    assert "there is no generator 'crystal-ball'" in str(told.value)
    assert "spec/batch/Batch.BuildGraph.yaml" in str(told.value)
