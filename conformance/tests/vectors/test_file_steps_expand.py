"""File steps as a contract words them: what they become, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.contract.yaml.source import MalformedContract, Problem
from conformance.tests.keep_spec import KEEP_HEAD, TRACE, group, questions
from conformance.vectors.case import FileStep, Question, TreeStep

FETCH_A = "{step: f, call: UML_OS.Data.Fetch_v1, set: {root: a, name: x}}"


def only(root: Path, *steps: str, matrix: str = "") -> Question:
    (question,) = questions(root, group(*steps) + matrix)
    return question


def problem(root: Path, *steps: str, matrix: str = "") -> Problem:
    with pytest.raises(MalformedContract) as caught:
        questions(root, group(*steps) + matrix)
    return caught.value.problems[0]


def test_the_mask_is_one_bit_unless_told(tmp_path: Path) -> None:
    flip = only(tmp_path, "{step: k}", "{flip: {path: x, offset: 0}}").steps[1]
    assert flip == FileStep("flip", {"root": "a", "path": "x", "offset": 0, "mask": 1})


def test_the_root_is_named_where_the_calls_name_several_or_none(tmp_path: Path) -> None:
    other = FETCH_A.replace("root: a", "root: b")
    assert only(tmp_path / "1", "{step: k}", FETCH_A, "{tree: {}}").steps[2] == TreeStep("a", ".", {})
    told = problem(tmp_path / "2", "{step: k}", other, "{tree: {}}")
    assert (told.code, told.message) == ("C015", "the step does not say in which root")
    assert told.hint == "roots of the trace: a, b"
    assert only(tmp_path / "3", "{step: k}", other, "{tree: {root: b}}").steps[2] == TreeStep("b", ".", {})


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        ('{put: {path: ../x, text: ""}}', "C015", "'../x': a path below the root has no empty part"),
        ('{put: {path: /etc/x, text: ""}}', "C015", "'/etc/x': it is absolute"),
        ("{tree: {path: a/..}}", "C015", "'a/..': a path below"),
        ("{rename: {from: x, to: ../x}}", "C015", "'../x'"),
        ("{link: {path: x, target: ../../etc}}", "C015", "'../../etc'"),
        ("{link: {path: x, target: y, target_root: ..}}", "C002", ""),
        ("{flip: {path: x, offset: 0, mask: 0}}", "C015", "mask is 0"),
        ("{flip: {path: x, offset: 0, mask: 256}}", "C015", "mask is 256"),
        ('{rename: {from: x, to: y, after_ms: "@at"}}', "C002", "after_ms is the text"),
        ("{rename: {from: x, to: y, after_ms: 0}}", "C002", "after_ms is 0"),
        ("{put: {path: x, text: a, after_ms: 5}}", "C002", "after_ms"),
        ("{put: {path: x, bytes: 0g}}", "C009", "ill-typed content"),
        ('{put: {path: x, pickle2: {bytes: "00"}}}', "C009", "pickle2 cannot encode it"),
        ("{put: {path: x, npz: [{name: y}]}}", "C009", "ill-typed content"),
        ("{put: {path: x, sqlite: [CREATE NONSENSE]}}", "C009", "sqlite cannot encode it"),
        ("{put: {path: x}}", "C002", ""),
        ('{put: {path: x, text: "", bytes: ""}}', "C002", ""),
        ('{delete: {path: "{nobody.size}"}}', "C010", "'nobody' is no earlier step"),
        ('{delete: {path: "{k.shape}"}}', "C010", "k has no output 'shape'"),
        ('{delete: {path: "{k.took}"}}', "C010", "took is uint64, which is no part of a path"),
        ('{delete: {path: "../{k.size}"}}', "C015", "no `..`"),
        ("{delete: {path: x}, tree: {}}", "C002", ""),
        ("{melt: {path: x}}", "C018", "melt"),
    ],
)
def test_what_a_step_cannot_be_is_refused_at_its_place(tmp_path: Path, step: str, code: str, message: str) -> None:
    told = problem(tmp_path, "{step: k}", step)
    assert told.code == code
    assert message in told.message
    line = (KEEP_HEAD + group("{step: k}", step)).splitlines()[told.position.line - 1]
    assert step in line or code == "C002"


def test_an_offset_must_be_a_number_once_the_axes_are_put_in(tmp_path: Path) -> None:
    told = problem(tmp_path / "1", "{step: k}", '{flip: {path: x, offset: "@at"}}')
    assert (told.code, told.message) == ("C015", "offset is '@at'")
    told = problem(tmp_path / "2", "{step: k}", '{flip: {path: x, offset: "@at"}}', matrix='    matrix: {"@at": [y]}\n')
    assert (told.code, told.message) == ("C015", "offset is 'y'")


def test_a_volatile_output_is_used_by_no_step(tmp_path: Path) -> None:
    told = problem(tmp_path, "{step: k}", "{step: l, use: {name: k.took}}")
    assert told.code == "C010"
    assert "took is volatile" in told.message


def test_a_long_run_takes_no_root(tmp_path: Path) -> None:
    run = "    accumulate: {output: size, generator: random, count: 2, seed: x, random: {}}\n"
    text = TRACE.split("    trace:\n")[0] + run
    with pytest.raises(MalformedContract, match="takes a root or a handle"):
        questions(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ("size(name) > 0", 'root == \\"x\\"', "C004", "root has no value"),
        ("result.size == uint(size(content))", "result.took > 0u", "C004", "result.took has no value"),
        ("purity: io", "purity: pure", "C003", "inputs.root is a root, and the operator is pure"),
        ("  content: {type: bytes}", "  content: {type: list<root>}", "C003", "cannot be in inputs.content"),
        ("  size: {type: uint64}", "  size: {type: root}", "C003", "cannot be in outputs.size"),
        ("{root: a, name", "{root: A b, name", "C009", "the name of a root"),
    ],
)
def test_a_root_is_a_place_and_no_value(tmp_path: Path, old: str, new: str, code: str, message: str) -> None:
    assert KEEP_HEAD.count(old) == 1
    with pytest.raises(MalformedContract) as caught:
        questions(tmp_path, TRACE, head=KEEP_HEAD.replace(old, new))
    assert any(one.code == code and message in one.message for one in caught.value.problems), caught.value.problems
    assert all(one.hint for one in caught.value.problems)


DATABASE = "{put: {path: d/x.db, sqlite: [CREATE TABLE t (a)]}}"


@pytest.mark.parametrize(
    "tree", ["{tree: {}}", "{tree: {path: d}}", "{tree: {path: d/x.db}}", '{tree: {decode: {"*.cbor": cbor}}}']
)
def test_the_bytes_of_a_database_are_not_frozen(tmp_path: Path, tree: str) -> None:
    told = problem(tmp_path, "{step: k}", DATABASE, tree)
    assert (told.code, told.message) == ("C015", "the bytes of the database 'd/x.db' differ from SQLite to SQLite")


@pytest.mark.parametrize(
    "steps",
    [
        ['{tree: {decode: {"*.db": sqlite}}}'],
        ["{tree: {path: d, decode: {x.db: sqlite}}}"],
        ["{tree: {path: e}}"],
        ["{delete: {path: d/x.db}}", "{tree: {}}"],
        ["{put: {path: d/x.db, text: x}}", "{tree: {}}"],
    ],
)
def test_its_tables_are_and_so_is_everything_else(tmp_path: Path, steps: list[str]) -> None:
    only(tmp_path, "{step: k}", DATABASE, *steps)
