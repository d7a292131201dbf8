"""Files of other programs in a root, and files that change between two calls of an operator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from mmap import mmap
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conformance.backend.driver import Conversation, Driver
from conformance.backend.resolve import resolve
from conformance.codec.codebook import codebook_of
from conformance.codec.framing import DIALECTS
from conformance.contract.library import Library
from conformance.contract.model import Bystanders, Contract
from conformance.tests.keep_spec import KEEP, backend, group, load
from conformance.tests.small_spec import SHIPPED, derived_by, new_folder
from conformance.trial import bystanders, path_content
from conformance.trial.behaviour import BehaviourRules, behaviour_check
from conformance.trial.bystanders import Names, PlacedBystanders, near_misses
from conformance.trial.check import Result, Verdict
from conformance.trial.client import Client
from conformance.trial.fuzz.file_edits import drawn_edit
from conformance.trial.fuzz.files import FileSearch, files_check, fuzz_files
from conformance.trial.fuzz.task import FuzzTask
from conformance.vectors.case import Case
from conformance.vectors.frozen.build import build

STEPS = group("{step: keep}", "{step: again}", "{step: other, set: {name: greetings/other}}")


@cache
def library() -> Library:
    made = load(new_folder(), STEPS)
    made.suite.vectors.mkdir()
    return made


@cache
def cases() -> tuple[Case, ...]:
    built, _ = build(derived_by(backend(library().suite.root), library()))
    assert built.problems == ()
    return tuple(built.corpus.cases[KEEP])


def client(*sins: str) -> Client:
    command = resolve(backend(library().suite.root, *sins), SHIPPED)
    return Client(Driver(command, DIALECTS["json"], codebook_of(library()), 10.0, 10.0))


def crowded(*sins: str, contract: Contract | None = None, of: tuple[Case, ...] = ()) -> Result:
    codebook = codebook_of(library())
    rules = BehaviourRules(codebook, DIALECTS["json"])
    talk = rules.among_bystanders(contract or library().contracts[KEEP], of or cases())
    assert talk is not None
    driver = Driver(resolve(backend(library().suite.root, *sins), SHIPPED), DIALECTS["json"], codebook, 10.0, 10.0)
    (finished,) = driver.run([talk])
    assert finished.finding is not None
    return finished.finding[0]


def kept(asked: Client, right: Client, **options: Any) -> FuzzTask:
    contract = library().contracts[KEEP]
    return FuzzTask(files_check(contract), contract, cases(), asked, right, codebook_of(library()), **options)


def fuzzed(*sins: str, seed: str = "") -> tuple[Result, Mapping[str, Any]]:
    with client(*sins) as asked, client() as right:
        return fuzz_files(kept(asked, right, examples=60, seed=seed))


@pytest.mark.parametrize("trusted", [True, False])
def test_the_call_in_which_backend_or_reference_is_lost_is_named(trusted: bool) -> None:
    contract = replace(library().contracts[KEEP], fuzz_limits=())  # none of these backends makes a file of a long name
    with client() as asked, client() as right:
        result, _ = fuzz_files(replace(kept(asked, right, examples=1, trusted=trusted), contract=contract))
        assert right.stderr
    assert (result.verdict, result.outcome, result.of_suite) == (Verdict.ERROR, "crash", True)
    assert "a guard or a limit under `fuzz` must rule the call out" in result.message
    assert result.call is not None
    assert (result.call.operator, len(result.call.inputs["name"])) == (KEEP, 2**20 + 1)
    with client("dies") as asked, client() as right:
        result, _ = fuzz_files(kept(asked, right, examples=1))
    assert (result.verdict, result.outcome, result.of_suite) == (Verdict.ERROR, "crash", False)
    assert result.call is not None
    assert result.call.operator == KEEP


def test_an_operator_that_minds_its_own_files_passes() -> None:
    assert crowded().verdict is Verdict.PASS


def test_one_case_with_files_among_others_without_any_is_enough() -> None:
    call = cases()[0].calls[0]
    bare_call = replace(call, inputs={key: "" if isinstance(one, str) else one for key, one in call.inputs.items()})
    bare = replace(cases()[0], group="bare", steps=(bare_call,))
    assert crowded(of=(cases()[0], bare)).verdict is Verdict.PASS
    assert crowded("sweeps", of=(cases()[0], bare)).verdict is Verdict.FAIL


def test_a_bystander_that_is_removed_is_named() -> None:
    found = crowded("sweeps")
    assert found.verdict is Verdict.FAIL
    assert found.difference is not None
    assert found.difference.path.startswith("a/greetings/")
    assert found.difference.actual == "absent"


def test_a_bystander_that_permits_something_else_afterwards_is_not_what_it_was() -> None:
    found = crowded("permits")
    assert (found.verdict, found.message) == (Verdict.FAIL, bystanders.HARMED)
    assert found.difference is not None
    assert found.difference.actual == "mode 0751"


def test_what_a_call_leaves_beside_its_root_is_named() -> None:
    found = crowded("strays")
    assert (found.verdict, found.message) == (Verdict.FAIL, bystanders.STRAYED)
    assert found.difference is not None
    assert found.difference.path == "a/../root %41 [b] #'&.lock"
    assert (found.difference.expected, found.difference.actual[:5]) == ("absent", "file ")


@pytest.mark.parametrize(("sin", "message"), [("honest", ""), ("remembers", bystanders.REUSED)])
def test_a_backend_that_remembers_a_path_fails_where_a_later_root_has_it(sin: str, message: str) -> None:
    codebook = codebook_of(library())
    rule = bystanders.AmongBystanders(codebook, DIALECTS["json"], library().contracts[KEEP])
    traces = [bystanders.with_harness_reads(case.steps, {}) for case in cases()]
    check = behaviour_check(library().contracts[KEEP], "bystanders")
    talk = Conversation(check.id, lambda: rule.judge(check, traces * 2))
    driver = Driver(resolve(backend(library().suite.root, sin), SHIPPED), DIALECTS["json"], codebook, 10.0, 10.0)
    (finished,) = driver.run([talk])
    assert finished.finding is not None
    assert finished.finding.message == message


def test_a_bystander_that_keeps_its_size_and_its_times_is_seen_to_change(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    before, status = path_content.content_at(str(file)), file.stat()
    with file.open("r+b") as opened, mmap(opened.fileno(), 0) as memory:
        memory[:] = b"behind"
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path_content.content_at(str(file)) != before


@pytest.mark.parametrize("sin", ["guesses", "decodes"])
def test_an_answer_that_hangs_on_a_bystander_fails(sin: str) -> None:
    found = crowded(sin)
    assert found.verdict is Verdict.FAIL
    assert "another answer" in found.message


LEFT = {".draft": "What a killed writer left is cleared away."}


@pytest.mark.parametrize(("owned", "made"), [({}, True), (LEFT, False)])
def test_no_folder_of_a_bystander_takes_the_name_of_a_file_of_the_operator(
    owned: Mapping[str, str], made: bool, tmp_path: Path
) -> None:
    contract = replace(library().contracts[KEEP], bystanders=Bystanders(owned=owned))
    crowd = PlacedBystanders(Names(contract, {"a": frozenset({".draft/kept"})}), {})
    crowd._place("a", str(tmp_path))
    assert (tmp_path / ".draft").exists() is made


def test_a_contract_may_say_where_a_file_of_others_is_none() -> None:
    contract = replace(library().contracts[KEEP], bystanders=Bystanders(none={"*": "Everything here belongs to it."}))
    found = crowded("guesses", contract=contract)
    assert (found.verdict, "no bystander" in found.message) == (Verdict.ERROR, True)


def test_a_contract_may_say_what_its_operator_clears_away() -> None:
    contract = replace(library().contracts[KEEP], bystanders=Bystanders(owned={"greetings/hello*": "Old copies."}))
    assert crowded("sweeps", contract=contract).verdict is Verdict.FAIL  # it removes those of `other` as well
    contract = replace(contract, bystanders=Bystanders(owned={"greetings/*": "Old copies."}))
    assert crowded("sweeps", contract=contract).verdict is Verdict.PASS
    contract = replace(contract, bystanders=Bystanders(owned={"greetings/[!/]{3}*": "Old copies."}))
    assert crowded("sweeps", contract=contract).verdict is Verdict.PASS
    contract = replace(contract, bystanders=Bystanders(owned={"greetings/[!/]{60}*": "Old copies."}))
    assert crowded("sweeps", contract=contract).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("objects/0a", "objects/0a.backup"),
        ("wal/0.rec", "wal/.0.rec.tmp"),
        ("wal/000.rec", "wal/.00.rec.tmp"),
        ("objects/0a", "objects/.0A.tmp"),
        ("train_batches_0.npz", "train_batches2.npz"),
        ("wal/00.rec", "wal/\u0660\u0660.rec"),
        ("COMMITTED", "committed"),
        ("a.db", "a.db~"),
    ],
)
def test_near_misses_hold_a_suffix_a_leftover_a_number_and_another_case(path: str, name: str) -> None:
    assert name in list(near_misses(path))
    assert path not in list(near_misses(path))


def test_fuzzed_files_of_an_honest_operator_pass_and_are_counted() -> None:
    found, figures = fuzzed()
    assert found.verdict is Verdict.PASS, found.message
    assert figures["examples"] == figures["asked"] == 60
    assert figures["succeeded"] > 0
    assert figures["refused"] > 0
    assert {"flip", "truncate", "delete", "rename", "put", "link"} <= figures["edits"].keys()


def test_listed_trees_are_counted_apart_from_drawn_ones() -> None:
    nobody: Any = None
    search = FileSearch(kept(nobody, nobody))
    search.counts.update(examples=5, asked=5, succeeded=3, refused=2)
    search.listed.update(examples=3, asked=3, succeeded=2, refused=1)
    figures = search.record()
    assert [figures[name] for name in ("examples", "asked", "succeeded", "refused", "listed")] == [2, 2, 1, 1, 3]


def test_every_kind_of_edit_is_drawn_where_there_are_two_files() -> None:
    files = {"a": 3, "b": 4}
    drawn = {tuple(step.action for step in drawn_edit(Random(n), "r", files, files, {})) for n in range(200)}
    alone = {(kind,) for kind in ("flip", "truncate", "delete", "rename", "put", "link")}
    assert drawn == alone | {("rename",) * 3, ("rename", "link")}


def test_a_mistake_that_only_an_edited_file_shows_is_found_with_one_edit() -> None:
    assert crowded("overwrites-empty").verdict is Verdict.PASS
    found, _ = fuzzed("overwrites-empty")
    assert found.verdict is Verdict.FAIL
    assert len(found.details["trace"]) == 1
    assert "truncate" in found.details["trace"][0] or '"bytes": ""' in found.details["trace"][0]


@pytest.mark.parametrize("sin", ["remembers", "overwrites-others"])
def test_files_are_asked_again_after_an_edit_and_under_another_name(sin: str) -> None:
    assert fuzzed(sin)[0].verdict is Verdict.FAIL


def test_another_seed_makes_other_edits() -> None:
    assert fuzzed()[1] != fuzzed(seed="another")[1]


def led_out(sin: str, right: str = "minds-all") -> Result:
    with client(sin) as asked, client(right) as reference:
        return fuzz_files(kept(asked, reference, examples=1))[0]


@pytest.mark.parametrize("sin", ["minds-beginnings", "minds-dots", "minds-dots-and-slash", "honest"])
def test_a_path_out_of_the_root_that_is_taken_is_found(sin: str) -> None:
    """It leads to a folder whose name begins like the root's, starts at `/`, or goes through a link."""
    found = led_out(sin)
    assert (found.verdict, "outcome" in str(found.difference)) == (Verdict.FAIL, True), found
    assert found.call is not None
    assert found.call.inputs["root"] == {"root": "around/a"}


def test_paths_out_of_the_root_are_refused_alike_or_are_not_asked() -> None:
    assert led_out("minds-all").verdict is Verdict.PASS
    assert led_out("minds-all", right="honest").verdict is Verdict.PASS
