"""Checks grouped by operator and mutants grouped by file mean the same as one string, one mutant at a time."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract.reader import written_page
from conformance.contract.yaml.parser import parse
from conformance.contract.yaml.source import MalformedContract

ROW = """
requirements:
- id: K01
  checks:
    Counter.Read: {guard: [room, odd], group: [plain]}
    test: {a/test_b.py: [test_c]}
    lint: [L101]
"""
MUTANTS = """
mutants:
- {id: a, patch: {file: x.py, find: f, replace: r}}
- file: y.py
  mutants:
  - {id: b, find: f, replace: r}
  - {id: c, patches: [{find: f, replace: r}, {file: z.py, find: g, replace: s}]}
- {id: d, file: w.py, find: f, replace: r}
"""


def page(kind: str, text: str) -> Any:
    return written_page(parse(text, "x.yaml"), kind)


def test_grouped_checks_are_the_strings_in_their_order_at_the_places_of_their_names() -> None:
    source = page("requirements", ROW)
    assert source.value["requirements"][0]["checks"] == [
        "guard:Counter.Read#room",
        "guard:Counter.Read#odd",
        "group:Counter.Read::plain",
        "test:a/test_b.py::test_c",
        "lint:L101",
    ]
    assert str(source.at(("requirements", 0, "checks", 1))) == "x.yaml:5:34"


def test_a_list_of_check_strings_is_as_good() -> None:
    assert page("requirements", "requirements: [{id: K01, checks: [lint:L101]}]").value["requirements"] == [
        {"id": "K01", "checks": ["lint:L101"]}
    ]


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ("{Counter: [room]}", "x.yaml:1:44: C018 checks: expected a map below Counter"),
        ("{test: [a]}", "{test: {FILE: [name]}}"),
        ("{Counter: {guard: room}}", "x.yaml:1:52: C018 checks: expected a list of names below guard"),
        ("{lint: []}", "C018 checks: expected a list of names below lint"),
    ],
)
def test_checks_of_another_shape_are_refused_where_they_are_written(checks: str, said: str) -> None:
    with pytest.raises(MalformedContract) as refused:
        page("requirements", f"requirements: [{{id: K01, checks: {checks}}}]")
    assert said in str(refused.value)


def test_a_mutant_of_a_group_has_the_file_of_the_group_and_its_own_place() -> None:
    source = page("mutants", MUTANTS)
    f, g = {"find": "f", "replace": "r"}, {"find": "g", "replace": "s"}
    assert source.value["mutants"] == [
        {"id": "a", "patch": {"file": "x.py", **f}},
        {"id": "b", "patch": {"file": "y.py", **f}},
        {"id": "c", "patches": [{"file": "y.py", **f}, {"file": "z.py", **g}]},
        {"id": "d", "patch": {"file": "w.py", **f}},
    ]
    lines = [source.at(("mutants", k)).line for k in range(4)]
    assert lines == [3, 6, 7, 8]
    assert source.key_at(("mutants", 2, "id")).line == 7


@pytest.mark.parametrize("group", ["{mutants: []}", "{file: x.py, mutants: {}}", "{file: x.py, id: a, mutants: []}"])
def test_a_group_of_another_shape_is_refused(group: str) -> None:
    with pytest.raises(MalformedContract, match=r"x.yaml:1:11: C018 expected a group of mutants in one file"):
        page("mutants", f"mutants: [{group}]")
