"""A trace written out by hand: pins fix every answer and every look at files, and nothing else has to confirm it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from conformance.tests.keep_spec import frozen, group
from conformance.vectors.case import TreeStep

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
