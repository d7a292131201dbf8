"""Repeated calls: an empty value after a full one, every operation after every other, and listed rare values."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from checks.generators.database_file import listed_files
from checks.generators.database_tables import NAMES
from conformance.codec.codebook import codebook_of
from conformance.tests.counter_spec import COUNTER, NAME, backend, load
from conformance.tests.small_spec import derived_by, new_folder
from conformance.trial.fuzz.file_edits import Edit, file_is_exposed, file_step
from conformance.trial.fuzz.file_example import edits_file_in_use
from conformance.trial.fuzz.listings.programs import emptied_programs, nothing_asked
from conformance.trial.fuzz.listings.sequences import rounds
from conformance.trial.fuzz.program import Program
from conformance.trial.fuzz.program_draw import Pool, pool_of
from conformance.trial.generator import valid
from conformance.vectors.case import CallStep, ExpectedResult, FileStep
from conformance.vectors.frozen.build import build


@cache
def pool(text: str = COUNTER) -> Pool:
    library = load(new_folder(), text)
    return pool_of(library.contracts[NAME], (), codebook_of(library))


def told(program: Program) -> list[str]:
    return [f"{turn.operator.removeprefix('Counter.')} {turn.native.get('by', '')}".strip() for turn in program]


def test_an_empty_value_follows_a_full_one_and_both_are_looked_at() -> None:
    assert ["Open", "Increment 1", "Read", "Increment 0", "Read", "Increment 1", "Read"] in map(
        told, emptied_programs(pool())
    )


def test_every_operation_follows_every_other_and_each_is_looked_at() -> None:
    (program,) = rounds(pool(COUNTER.replace("limit: [3, 1, 0]", "limit: [3, 0]")))
    names = [one.split()[0] for one in told(program)]
    assert set(pairwise(name for name in names if name != "Read")) == {
        ("Open", "Increment"),
        ("Increment", "Increment"),
        ("Increment", "Decrement"),
        ("Decrement", "Increment"),
        ("Decrement", "Decrement"),
    }
    assert all(other == "Read" for one, other in pairwise(names) if one in ("Increment", "Decrement"))


def test_a_state_that_refuses_is_asked_with_degenerate_inputs() -> None:
    library = load(new_folder())
    made, _ = build(derived_by(backend(library.suite.root), library))
    frozen = pool_of(library.contracts[NAME], made.corpus.cases[NAME], codebook_of(library))
    programs = [told(program) for program in nothing_asked(frozen)]
    after_close = [one for one in programs if "Close" in one]
    assert any("Increment 0" in one[one.index("Close") :] for one in after_close)
    assert any(one[:2] == ["Open", "Increment 0"] for one in programs)


def test_the_listed_databases_can_be_written_and_hold_every_name() -> None:
    files = [made["put"][0]["sqlite"] for made in listed_files()]
    assert all(statements and statements == valid(statements) for statements in files)
    assert len(NAMES) in map(len, files)


def test_a_file_that_a_machine_may_keep_open_is_left_alone() -> None:
    machine = load(new_folder(), COUNTER).contracts[NAME]
    put = FileStep("put", {"root": "a", "path": "d/two.bin", "text": "x"})
    opened = CallStep("open", "Counter.Open", {"source": {"parts": [{"path": "d/two.bin"}]}}, ExpectedResult({}))
    saved = CallStep("save", "Counter.Save", {"name": "saved"}, ExpectedResult({}))
    edit = (FileStep("truncate", {"root": "a", "path": "d/two.bin", "size": 0}),)
    moved = (FileStep("rename", {"root": "a", "from": "d/two.bin", "to": "three.bin"}),)
    above = (FileStep("delete", {"root": "a", "path": "d"}),)
    other = (FileStep("truncate", {"root": "a", "path": "saved", "size": 0}),)
    before = (put, opened, saved)
    assert [edits_file_in_use(machine, one, before) for one in (edit, moved, above, other)] == [True, True, True, False]
    assert not edits_file_in_use(machine, edit, (put, saved))
    assert not edits_file_in_use(machine, edit, (opened,))


def test_a_file_that_a_backend_writes_in_its_own_way_keeps_a_name_under_which_it_is_decoded() -> None:
    def renamed(*names: str) -> list[Edit]:
        return [(file_step("rename", "a", **{"from": one, "to": other}),) for one, other in pairwise(names)]

    link = [(file_step("link", "a", path="copy", target="meta.pkl", symbolic=False),)]
    pointed = [(file_step("link", "a", path="copy", target="meta.pkl", symbolic=True),)]
    free, decode = {"meta.pkl"}, {"*.pkl": "pickle2", "*.z": "npz"}
    assert [file_is_exposed(one, free, decode) for one in (renamed("meta.pkl", "META.PKL"), link)] == [True, True]
    assert file_is_exposed(renamed("meta.pkl", "other.pkl", "plain"), free, decode)
    assert file_is_exposed(
        renamed("meta.pkl", "archive.z"), free, decode
    )  # another codec compares what this one unfolds
    fine = (renamed("meta.pkl", "other.pkl"), renamed("meta.pkl", "x", "meta.pkl"), renamed("data", "META"), pointed)
    assert not any(file_is_exposed(one, free, decode) for one in fine)
    assert not file_is_exposed(renamed("data", "meta.pkl"), free, decode)
