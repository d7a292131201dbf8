"""Building, checking and comparing a whole corpus; governance of what may change."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.contract.library import Library, load_library
from conformance.contract.suite import Suite
from conformance.tests.small_spec import NAME, derived_by
from conformance.tests.vectors_walk import OPERATOR, SMALL, backend, load, write
from conformance.vectors.frozen.build import BuiltCorpus, Checked, build, check, diff, regenerate
from conformance.vectors.frozen.corpus import CorruptedCorpus, load_corpus
from conformance.vectors.frozen.governance import governance
from conformance.vectors.frozen.lock import LOCK_FILE, BadLock, Lock, Release, lock_text, read_lock, release
from conformance.vectors.frozen.vector_file import case_digest, case_of

FILE = f"data/{OPERATOR}.json"
GOLDEN = SMALL.replace("    why: Many steps.\n", "    why: Many steps.\n    profile: golden\n")


def built(library: Library, **options: Any) -> BuiltCorpus:
    made, _ = build(derived_by(backend(library.suite.root), library), **options)
    return made


def checked(library: Library, **options: Any) -> Checked:
    return check(library, regenerate(derived_by(backend(library.suite.root), library), **options))


def edited(suite: Suite, old: str, new: str, name: str = f"spec/data/{NAME}") -> Library:
    """The library once the contract (or another file) is edited."""
    file = suite.root / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    return load_library(suite)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a specification whose corpus is built."""
    root = tmp_path_factory.mktemp("template")
    assert built(load(root, SMALL)).problems == ()
    return root


@pytest.fixture
def library(template: Path, tmp_path: Path) -> Library:
    """A copy of the built specification to spoil."""
    shutil.copytree(template, tmp_path / "copy")
    return load_library(Suite(tmp_path / "copy"))


def test_a_second_build_touches_nothing_and_the_corpus_reads_back_as_it_was_built(library: Library) -> None:
    made, touched = build(derived_by(backend(library.suite.root), library))
    assert touched == ()
    assert load_corpus(library.suite) == made.corpus


def test_nothing_is_written_where_anything_is_wrong(tmp_path: Path) -> None:
    library = load(tmp_path, SMALL, "strides")
    made, touched = build(derived_by(backend(tmp_path), library))
    assert [problem.code for problem in made.problems] == ["V001"]
    assert touched == ()
    assert not (tmp_path / "vectors").exists()


def test_a_changed_contract_is_drift_at_its_line(library: Library) -> None:
    found = checked(edited(library.suite, "matrix: {width: [0, 1, 100]}", "matrix: {width: [0, 2, 100]}"))
    assert not found.passed
    assert {problem.code for problem in found.problems} == {"V008"}
    assert {problem.position.file for problem in found.problems} == {
        "spec/contracts.lock",
        f"vectors/{FILE}",
        "vectors/index.json",
    }
    (change,) = found.changes
    assert (change.requirement, change.added, change.removed) == (
        "N01",
        (f"{OPERATOR}::small::width=2",),
        (f"{OPERATOR}::small::width=1",),
    )


def test_a_reworded_case_keeps_its_digest(library: Library) -> None:
    before = load_corpus(library.suite)
    reworded = edited(library.suite, "why: Two steps.", "why: Two steps, in two processes.")
    made = regenerate(derived_by(backend(library.suite.root), reworded))
    changes = diff(before, made.corpus)
    assert made.corpus.index.root == before.index.root
    (change,) = changes
    assert (change.requirement, change.reworded) == ("N02", (f"{OPERATOR}::twice::trace",))
    assert str(change) == f"{OPERATOR} N02: 1 reworded"


def test_a_changed_answer_is_shown_as_changed(library: Library) -> None:
    root = library.suite.root
    made = regenerate(derived_by(backend(root, "strides"), library))
    changes = diff(load_corpus(library.suite), made.corpus)
    assert {problem.code for problem in made.problems} == {"V001"}
    assert [str(change) for change in changes] == [f"{OPERATOR} N01: 1 changed"]


def test_a_file_without_a_contract_is_red_and_removed_by_a_build(library: Library) -> None:
    stray = library.suite.vectors / "data" / "UML_OS.Data.Gone_v1.json"
    stray.write_text('{"cases": [], "contract": "UML_OS.Data.Gone_v1", "format": 1, "version": "1.0.0"}')
    (problem,) = checked(library).problems
    assert (problem.code, problem.position.file) == ("V008", "vectors/data/UML_OS.Data.Gone_v1.json")
    built(library)
    assert not stray.exists()


def test_golden_cases_are_kept_unless_they_are_asked_for(tmp_path: Path) -> None:
    library = load(tmp_path, GOLDEN)
    assert built(library).reused == ()
    found = checked(library)
    assert found.passed
    assert found.reused == (f"{OPERATOR}::far::accumulate",)
    assert "1 golden case kept as frozen" in found.summary
    assert checked(library, golden=True).reused == ()


def test_a_build_of_what_changed_keeps_frozen_answers_and_derives_new_questions(library: Library) -> None:
    changed = edited(library.suite, "matrix: {width: [0, 1, 100]}", "matrix: {width: [0, 2, 100]}")
    strides = backend(library.suite.root, "strides")
    small = f"{OPERATOR}::small::width"
    made = regenerate(derived_by(strides, changed), only=frozenset())
    assert {f"{small}=0", f"{small}=100"} <= set(made.reused)
    assert f"{small}=2" not in made.reused
    assert regenerate(derived_by(strides, changed), only=frozenset({OPERATOR})).reused == ()


@pytest.mark.parametrize(
    ("step", "pin", "told"),
    [
        ("a", "{result: {visited: [5, 6, 7], after: {lap: 0, at: 8}}}", ""),
        ("a", "{result: {visited: [5, 6, 9]}}", "visited[2] is pinned as '9', the reference gives '7'"),
        ("b", "{failure: CONTRACT_VIOLATION}", "pinned CONTRACT_VIOLATION, the reference gives the result"),
    ],
)
def test_a_pin_that_is_new_is_compared_at_the_next_build(library: Library, step: str, pin: str, told: str) -> None:
    changed = edited(library.suite, f"step: {step}", f"step: {step}, pin: {pin}")
    made = built(changed, only=frozenset())
    assert [problem.code for problem in made.problems] == ["V002"] * bool(told)
    assert told in "".join(map(str, made.problems))
    assert told or checked(changed).passed


def test_a_golden_case_whose_question_changed_is_derived_again(tmp_path: Path) -> None:
    library = load(tmp_path, GOLDEN)
    built(library)
    assert built(edited(library.suite, "count: 9", "count: 10")).reused == ()


def test_a_golden_answer_that_drifted_is_found_when_asked_for(tmp_path: Path) -> None:
    far = GOLDEN.replace("matrix: {width: [0, 1, 100]}", "matrix: {width: [0, 1]}")
    library = load(tmp_path, far)
    assert built(library).problems == ()
    # This reference strides from 14 on, where only the long run comes.
    strider = backend(tmp_path, "strides")
    assert check(library, regenerate(derived_by(strider, library))).passed
    drifted = check(library, regenerate(derived_by(strider, library), golden=True))
    assert {problem.code for problem in drifted.problems} >= {"V001", "V008"}


CORRUPTIONS = [
    (FILE, '"at": "8"', '"at": "9"', "twice::trace"),
    (FILE, '"why": "Two steps."', '"wy": "Two steps."', "twice::trace"),
    (FILE, f'"contract": "{OPERATOR}"', '"contract": "UML_OS.Data.Other_v1"', "no vector file"),
    (FILE, '"format": 1', '"format": 2', "no vector file"),
    (FILE, "{", "[", "not JSON"),
    (FILE, '::small::width=1"', '::small::width=9"', "width=9 is not in the index"),
    ("index.json", '"count": 5', '"count": 4', "count"),
    ("index.json", '"operators"', '"operator"', "lacks"),
    ("index.json", '"digest": "', '"digest": "0', "root digest"),
]


@pytest.mark.parametrize(("name", "old", "new", "said"), CORRUPTIONS)
def test_a_corrupted_file_is_named_with_its_case(library: Library, name: str, old: str, new: str, said: str) -> None:
    file = library.suite.vectors / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CorruptedCorpus) as caught:
        load_corpus(library.suite)
    assert str(caught.value).startswith(f"vectors/{name}: ")
    assert said in str(caught.value)
    assert "tally vectors build" in str(caught.value)


@pytest.mark.parametrize("name", [FILE, "index.json"])
def test_a_check_finds_a_corrupted_file(library: Library, name: str) -> None:
    file = library.suite.vectors / name
    file.write_text(file.read_text(encoding="utf-8").replace("{", "[", 1), encoding="utf-8")
    assert {problem.code for problem in checked(library).problems} == {"V008", "V009"}


def test_a_case_that_was_altered_together_with_its_digest_is_corruption(library: Library) -> None:
    file = library.suite.vectors / FILE
    record = json.loads(file.read_text(encoding="utf-8"))
    altered = next(case for case in record["cases"] if case["id"].endswith("twice::trace"))
    altered["steps"][0]["inputs"]["at"] = "9"
    altered["digest"] = case_digest(case_of(altered))
    file.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CorruptedCorpus, match="the cases together have the digest"):
        load_corpus(library.suite)


def test_a_missing_file_and_a_missing_case_are_corruption(library: Library) -> None:
    file = library.suite.vectors / FILE
    record = json.loads(file.read_text(encoding="utf-8"))
    removed = record["cases"].pop()
    file.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CorruptedCorpus, match=removed["id"].replace(".", r"\.")):
        load_corpus(library.suite)
    file.unlink()
    with pytest.raises(CorruptedCorpus, match="not there"):
        load_corpus(library.suite)
    assert len(load_corpus(library.suite, "Another.Operator")) == 0, "the file of this operator is not read"


def test_without_an_index_the_corpus_is_empty(tmp_path: Path) -> None:
    assert len(load_corpus(write(tmp_path))) == 0


def test_a_case_is_found_by_its_id(library: Library) -> None:
    corpus = load_corpus(library.suite)
    assert corpus.find(f"{OPERATOR}::twice::trace").kind == "trace"
    with pytest.raises(KeyError):
        corpus.find(f"{OPERATOR}::twice::other")


# -- governance


def released(library: Library) -> Lock:
    return release(library, load_corpus(library.suite), "v1")


def test_a_shrunken_corpus_is_red_in_a_check(library: Library) -> None:
    found = checked(edited(library.suite, "width: [0, 1, 100]", "width: [0, 1]"))
    (shrunken,) = [problem for problem in found.problems if problem.code == "V010"]
    assert "has 4 cases" in shrunken.message
    assert "at least 5" in shrunken.message


def test_a_change_of_a_shared_type_is_a_change_of_the_contract(library: Library) -> None:
    lock = released(library)
    old, new = "backwards: {type: bool, default: false}", "backwards: {type: bool}"
    changed = edited(library.suite, old, new, "spec/types.yaml")
    (problem,) = governance(changed, load_corpus(library.suite), lock)
    assert problem.code == "V011"
    assert "backwards was bool default False, is bool" in problem.message


def test_a_locked_or_released_operator_without_a_contract_is_red(library: Library) -> None:
    lock = released(library)
    more = {**lock.contracts, "UML_OS.Data.Gone_v1": lock.contracts[OPERATOR]}
    for faulty in (Lock(more, lock.vectors), Lock(lock.contracts, lock.vectors, Release("v1", more, {}))):
        (problem,) = [one for one in governance(library, load_corpus(library.suite), faulty) if "Gone" in one.message]
        assert (problem.code, problem.position.file) == ("V013", "spec/contracts.lock")


def test_a_build_keeps_the_release(library: Library) -> None:
    lock_file = library.suite.spec / "contracts.lock"
    lock_file.write_text(lock_text(released(library)), encoding="utf-8")
    built(library)
    assert read_lock(library.suite).released == released(library).released
    assert checked(library).passed


def test_a_lock_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    suite = Suite(tmp_path)
    assert read_lock(suite).contracts == {}
    suite.spec.mkdir()
    (suite.spec / LOCK_FILE).write_text('{"contracts": []}')
    with pytest.raises(BadLock, match=r"spec/contracts\.lock"):
        read_lock(suite)
