"""Cases with file steps through the whole chain: frozen by two derivations, checked, tried, judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conformance.codec.codebook import codebook_of
from conformance.contract.library import Library, load_library
from conformance.lint.guards import reads_files
from conformance.report.record import encode_record, record_of
from conformance.tests.keep_spec import KEEP, TRACE, backend, frozen, group, load
from conformance.tests.small_spec import derived_by
from conformance.trial.check import Result, Verdict
from conformance.trial.client import attempt
from conformance.trial.options import RunOptions
from conformance.trial.run import run_trial
from conformance.vectors.case import Case, TreeStep
from conformance.vectors.frozen.build import build
from conformance.vectors.frozen.corpus import Corpus, load_corpus
from conformance.vectors.frozen.freeze import freeze
from conformance.vectors.frozen.vector_file import case_of, case_record, essence
from conformance.vectors.questions.expand import expand

CASE = f"{KEEP}::kept::trace"


@pytest.fixture(autouse=True)
def rooms(tmp_path: Path, temporary: Callable[[Path], Path]) -> Path:
    """The folder where roots are made, which every test must leave empty."""
    return temporary(tmp_path / "temporary")


def left_in(rooms: Path) -> list[str]:
    """What lies in the folders of the runs; the folder itself may go at any time, its guardian removes it later."""
    return [name for folder, below, files in os.walk(rooms) if Path(folder) != rooms for name in [*below, *files]]


@dataclass(frozen=True)
class House:
    root: Path
    library: Library
    corpus: Corpus

    def tried(self, *sins: str, **changes: Any) -> dict[str, Result]:
        run = run_trial(self.library, self.corpus, RunOptions(backend=backend(self.root, *sins), **changes))
        return {result.check.id: result for result in run.results}

    def record(self, *sins: str, **changes: Any) -> bytes:
        run = run_trial(self.library, self.corpus, RunOptions(backend=backend(self.root, *sins), **changes))
        return encode_record(record_of(run, self.library))


def house(root: Path, vectors: str = TRACE) -> House:
    library = load(root, vectors)
    library.suite.vectors.mkdir()
    built, _ = build(derived_by(backend(root), library))
    assert built.problems == ()
    return House(root, library, load_corpus(library.suite))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> House:
    return house(tmp_path_factory.mktemp("house"))


def the_case(found: Any) -> Case:
    (case,) = found.cases.values()
    return case  # type: ignore[no-any-return]


# -- freezing


def test_derivations_that_leave_other_files_are_red_and_the_path_is_named(tmp_path: Path) -> None:
    (problem,) = frozen(tmp_path, TRACE, "litters").problems
    assert problem.code == "V001"
    assert "tree-3: a/litter is nothing against {'sha256'" in problem.message


def test_a_derivation_in_which_a_step_cannot_be_done_is_red(tmp_path: Path) -> None:
    (problem,) = frozen(tmp_path, TRACE.replace("      - {tree: {}}\n", ""), "escapes").problems
    assert problem.code == "V001"
    assert "leads out of the root through a symbolic link" in problem.message


def test_a_reference_in_which_a_step_cannot_be_done_gives_no_value(tmp_path: Path) -> None:
    (problem,) = frozen(tmp_path, group("{step: keep}", "{delete: {path: nothing}}")).problems
    assert problem.code == "V007"
    assert "delete-2: 'nothing': No such file" in problem.message


def test_a_file_that_its_codec_cannot_read_is_not_frozen(tmp_path: Path) -> None:
    steps = ('{put: {path: x.cbor, bytes: "1b"}}', "{step: keep}", '{tree: {decode: {"*.cbor": cbor}}}')
    (problem,) = frozen(tmp_path, group(*steps)).problems
    assert problem.code == "V007"
    assert "tree-3: the file 'x.cbor' is not what its codec makes" in problem.message


def test_a_refusal_that_no_guard_foresees_must_be_declared(tmp_path: Path) -> None:
    text = TRACE.replace("call: UML_OS.Data.Fetch_v1, set: {root: a, name: greetings/hello}", "base: hello")
    assert frozen(tmp_path / "1", text).problems == ()
    library = load(tmp_path / "2", text)
    file = library.suite.spec / "data" / "UML_OS.Data.Halve_v1.yaml"
    lines = [line for line in file.read_text().splitlines() if "refuses:" not in line and "id: taken" not in line]
    file.write_text("\n".join(lines) + "\n")
    codebook = codebook_of(load_library(library.suite))
    found = freeze(expand(codebook[KEEP].contract, codebook), derived_by(backend(tmp_path / "2"), codebook))
    assert {problem.code for problem in found.problems} == {"V005"}


def test_a_text_that_no_expression_can_hold_is_named(tmp_path: Path) -> None:
    (problem,) = frozen(tmp_path, group('{step: keep, set: {name: "a\\U0010FFFFb"}}')).problems
    assert problem.code == "V014"
    assert "U+10FFFF" in problem.message


def test_a_path_with_an_answer_in_it_is_made_when_the_answer_is_there(tmp_path: Path) -> None:
    steps = ("{step: keep}", '{put: {path: "size-{keep.size}", text: x}}', "{tree: {}}")
    tree = the_case(frozen(tmp_path, group(*steps))).steps[2]
    assert isinstance(tree, TreeStep)
    assert tree.expected is not None
    assert "size-5" in tree.expected


def test_a_path_of_a_root_in_an_answer_is_frozen_without_it(tmp_path: Path) -> None:
    found = frozen(tmp_path, TRACE, "places", "places too")
    assert found.problems == ()
    fetched = essence(the_case(found))["steps"][6]["expected"]["result"]
    assert fetched["path"] == "{root:a}/greetings/hello"


# -- checking and trying


def test_an_honest_backend_passes_and_leaves_nothing_behind(small: House, rooms: Path) -> None:
    results = small.tried()
    assert {result.verdict for result in results.values()} == {Verdict.PASS}
    assert {CASE, f"{KEEP}!io", f"{KEEP}!shape", f"{KEEP}!bystanders"} <= results.keys()
    assert left_in(rooms) == []


def test_another_byte_in_a_file_fails_at_the_tree_and_the_path(small: House) -> None:
    result = small.tried("spoils")[CASE]
    assert (result.verdict, result.step) == (Verdict.FAIL, "tree-3")
    assert result.difference is not None
    assert result.difference.path == "a/greetings/hello.sha256"
    assert result.difference.expected == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def test_a_step_that_cannot_be_done_fails_the_case_and_is_named(tmp_path: Path) -> None:
    own = house(tmp_path / "own", TRACE.replace("      - {tree: {}}\n", ""))
    result = own.tried("escapes", select=(CASE,))[CASE]
    assert (result.verdict, result.step) == (Verdict.FAIL, "flip-4")
    assert "'greetings/hello' leads out of the root through a symbolic link" in result.message


LATE = "{rename: {from: other/file, to: moved, after_ms: 250}}"


def test_a_trace_goes_on_when_a_late_step_is_done(tmp_path: Path) -> None:
    """The backend does not wait for the file; the tree is looked at when it is there all the same."""
    steps = ('{put: {path: other/file, bytes: "0001"}}', LATE, "{step: keep}", "{tree: {}}")
    own = house(tmp_path / "own", group(*steps))
    (case,) = [one for one in own.corpus if one.operator == KEEP]
    tree = case.steps[-1]
    assert isinstance(tree, TreeStep)
    assert tree.expected is not None
    assert "moved" in tree.expected
    assert own.tried(select=(case.id,))[case.id].verdict is Verdict.PASS


def test_a_late_step_that_cannot_be_done_fails_the_case_at_its_call(tmp_path: Path) -> None:
    late = "{rename: {from: greetings/hello, to: moved, after_ms: 50}}"
    fetch = "{step: fetch, call: UML_OS.Data.Fetch_v1, set: {root: a, name: other/file}}"
    own = house(tmp_path / "own", group('{put: {path: other/file, bytes: "0001"}}', "{step: keep}", late, fetch))
    (case,) = [one for one in own.corpus if one.operator == KEEP]
    assert own.tried(select=(case.id,))[case.id].verdict is Verdict.PASS
    result = own.tried("escapes", select=(case.id,))[case.id]
    assert (result.verdict, result.step) == (Verdict.FAIL, "fetch")
    assert "leads out of the root" in result.message


@pytest.mark.parametrize("sin", ["unquotes", "globs", "splits"])
def test_a_backend_that_takes_a_path_for_a_url_a_pattern_or_words_fails(small: House, sin: str) -> None:
    assert small.tried(sin, select=(CASE,))[CASE].verdict is Verdict.FAIL


def test_a_volatile_output_must_be_there_though_its_value_is_not_looked_at(tmp_path: Path) -> None:
    own = house(tmp_path / "own", TRACE + SINGLE)
    result = own.tried("hurries", select=("*::alone::*",))[f"{KEEP}::alone::content=00"]
    assert result.verdict is Verdict.FAIL
    assert result.difference is not None
    assert result.difference.path == "took"


SINGLE = """\
  - group: alone
    why: A single call in a root of its own.
    requirement: N01
    base: hello
    matrix: {content: ["00", "01"]}
"""


def test_a_broken_postcondition_of_an_operator_with_volatile_outputs_is_named(tmp_path: Path) -> None:
    own = house(tmp_path / "own", TRACE + SINGLE)
    assert own.tried("miscounts", select=("*::alone::*",))[f"{KEEP}::alone::content=00"].broken == ("whole",)


@pytest.mark.parametrize("sin", ["dies", "locks"])
def test_a_crash_and_a_locked_folder_leave_nothing_behind(small: House, rooms: Path, sin: str) -> None:
    verdict = small.tried(sin)[CASE].verdict
    assert verdict is Verdict.ERROR or sin == "locks"  # no lock holds a superuser back
    assert left_in(rooms) == []


def test_a_bare_attempt_takes_the_same_steps(small: House, rooms: Path) -> None:
    codebook = codebook_of(small.library)
    assert attempt(backend(small.root), list(small.corpus), codebook).wrong == frozenset()
    assert attempt(backend(small.root, "spoils"), list(small.corpus), codebook).wrong == {CASE}
    assert left_in(rooms) == []


@pytest.mark.parametrize("sin", ["litters", "places"])
def test_the_record_is_the_same_whatever_the_place_order_and_number_of_workers(
    small: House, tmp_path: Path, temporary: Callable[[Path], Path], sin: str
) -> None:
    first = small.record(sin)
    temporary(tmp_path / "another" / "place")
    assert small.record(sin, jobs=2, shuffle="x") == first
    assert b"tally-root" not in first
    assert str(tmp_path).encode() not in first


# -- behaviour


def test_a_backend_that_answers_by_what_it_did_before_is_not_of_class_io(tmp_path: Path) -> None:
    own = house(tmp_path / "own", group("{step: keep}", "{tree: {}}"))
    result = own.tried("spoils-later", select=(f"{KEEP}!io",))[f"{KEEP}!io"]
    assert result.verdict is Verdict.FAIL
    assert result.message == "the same steps in a second fresh root left other files"
    assert result.difference is not None
    assert result.difference.path == "a/greetings/hello.sha256"


def test_lint_asks_for_a_case_that_looks_at_the_files(small: House) -> None:
    trace = small.corpus.find(CASE)
    assert reads_files(trace)
    blind = case_of({**case_record(trace), "steps": case_record(trace)["steps"][1:2]})
    assert not reads_files(blind)


# -- a trace written out by hand: nothing else has to confirm it


HELLO = f'{{sha256: "{sha256(b"hello").hexdigest()}", size: 5}}'
STEP = "{step: keep, pin: {result: {size: 5}}}"


def pinned(entry: str) -> str:
    return group(STEP, f"{{tree: {{pin: {{greetings: dir, greetings/hello: {entry}}}}}}}")


def test_a_tree_that_is_pinned_confirms_the_case(tmp_path: Path) -> None:
    found = frozen(tmp_path, pinned(HELLO))
    ((_, case),) = found.cases.items()
    assert (found.problems, case.pinned) == ((), True)
    assert "pin" in found.confirmed_by[case.id]
    (tree,) = [step for step in case.steps if isinstance(step, TreeStep)]
    assert tree.expected == {"greetings": "dir", "greetings/hello": {"sha256": sha256(b"hello").hexdigest(), "size": 5}}


def test_a_tree_that_nothing_pins_leaves_the_case_open(tmp_path: Path) -> None:
    ((_, case),) = frozen(tmp_path, group(STEP, "{tree: {}}")).cases.items()
    assert not case.pinned


def test_a_tree_that_is_pinned_otherwise_is_a_problem(tmp_path: Path) -> None:
    (problem,) = frozen(tmp_path, pinned(HELLO.replace("size: 5", "size: 6"))).problems
    assert problem.code == "V002"
    assert "a/greetings/hello.size is pinned as 6, the reference leaves 5" in problem.message


def test_a_file_that_the_pin_does_not_hold_is_a_problem(tmp_path: Path) -> None:
    problems = frozen(tmp_path, pinned(HELLO), reference="litters").problems
    assert [problem.code for problem in problems] == ["V001", "V002"]
    assert "a/litter is pinned as" in problems[1].message
