"""The common listings reach every kind of operator, and so do long leaves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.types import Scalar
from conformance.tests.shipped import shipped_library
from conformance.trial.fuzz import draw
from conformance.trial.fuzz.listings import files as file_listings
from conformance.trial.fuzz.listings import programs as program_listings
from conformance.trial.fuzz.listings.near_frozen import LISTINGS, Listing, Origins
from conformance.trial.fuzz.operator import calls_for
from conformance.trial.fuzz.program_draw import pool_of
from conformance.trial.fuzz.seed import ACCEPTED, InputLimits, seeds_of, vocabulary_of
from conformance.trial.generator import Native
from conformance.vectors.case import CallStep
from conformance.vectors.frozen.corpus import load_corpus
from conformance.vectors.place import put

MARK = "marked-by-a-listing"
KINDS = ["UML_OS.Error.Emit_v1", "UML_OS.Checkpoint.CommitRun_v1", "Stream"]


def marked(origins: Origins) -> Iterator[Native]:
    for native in origins.accepted:
        for place in origins.words.inside.all(native):
            if place.type == Scalar("string") and place.is_there:
                yield put(native, place.path, MARK)


def asked(operator: str) -> list[str]:
    """What the listings ask of an operator, as text."""
    library = shipped_library()
    codebook = codebook_of(library)
    contract, cases = library.contracts[operator], load_corpus(library.suite).cases[operator]
    if contract.machine is not None:
        programs = program_listings.degenerate(pool_of(contract, cases, codebook))
        return [repr(turn.native) for program in programs for turn in program]
    if contract.purity == "io":
        examples = file_listings.degenerate_inputs(contract, codebook, cases)
        return [repr(step.inputs) for one in examples for step in one.after if isinstance(step, CallStep)]
    return [repr(call.native) for call in calls_for(codebook[operator], cases, 1)]


@pytest.mark.parametrize("operator", KINDS)
def test_a_listing_is_asked_of_every_kind_of_operator(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (draw, file_listings, program_listings):
        monkeypatch.setattr(module, "LISTINGS", (Listing(marked, 9),))
    assert any(MARK in one for one in asked(operator))


def test_a_listing_for_accepted_inputs_leaves_out_what_a_guard_refuses() -> None:
    words = vocabulary_of(shipped_library().contracts["UML_OS.Error.Emit_v1"], [])
    some: list[Native] = [{"number": number} for number in range(4)]
    origins = Origins(words, {}, lambda native: "odd" if native["number"] % 2 else ACCEPTED)
    assert list(Listing(lambda _: iter(some), 9, accepted=True).inputs(origins)) == some[::2]
    assert list(Listing(lambda _: iter(some), 9).inputs(origins)) == some


def test_every_listing_makes_inputs_for_some_operator() -> None:
    library, corpus = shipped_library(), load_corpus(shipped_library().suite)
    codebook = codebook_of(library)
    silent = {*LISTINGS}
    for operator in ("UML_OS.Data.NextBatch_v2", "UML_OS.Checkpoint.Migrate_v1", "Batch.Build"):
        contract = library.contracts[operator]
        seeds = seeds_of(codebook[operator], corpus.cases[operator])
        origins = Origins(vocabulary_of(contract, seeds.all), seeds.by_side, InputLimits(contract).side)
        silent -= {one for one in silent if next(one.inputs(origins), None) is not None}
    assert not silent


@pytest.mark.parametrize("operator", ["UML_OS.Checkpoint.CommitRun_v1", "UML_OS.Error.Emit_v1"])
def test_an_operator_is_asked_with_long_texts_that_differ_in_the_middle_alone(operator: str) -> None:
    long = [one for one in asked(operator) if len(one) > 100_000]
    ends: dict[tuple[int, str, str], set[str]] = {}
    for one in long:
        ends.setdefault((len(one), one[:40_000], one[-40_000:]), set()).add(one)
    assert any(len(some) > 1 for some in ends.values())
