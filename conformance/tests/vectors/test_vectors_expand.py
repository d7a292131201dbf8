"""The mistakes that are refused, each at its place. What groups expand to, `tally vectors check` compares."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.contract.yaml.source import MalformedContract, Problem
from conformance.tests.small_spec import NAME
from conformance.tests.vectors_walk import HEAD, OPERATOR, expanded

INTRO = "vectors:\n  - group: g\n    why: Because.\n    requirement: N01\n    base: start\n"


def refused(root: Path, vectors: str) -> Problem:
    with pytest.raises(MalformedContract) as caught:
        expanded(root, vectors)
    (problem,) = caught.value.problems
    return problem


def line_of(vectors: str, found: str) -> int:
    return (HEAD + vectors).split(found)[0].count("\n") + 1


def test_a_named_number_is_counted_down_as_well(tmp_path: Path) -> None:
    body = "    matrix: {'@n': [2, 5]}\n    set: {width: '@n-1'}\n"
    assert [question.calls[0].inputs["width"] for question in expanded(tmp_path, INTRO + body)] == [1, 4]


def test_a_case_adds_its_requirements_to_those_of_its_group(tmp_path: Path) -> None:
    (question,) = expanded(tmp_path, INTRO + "    cases: [{id: a, requirement: [N02, N01], ruling: NA01, why: So.}]\n")
    assert (question.requirements, question.rulings, question.why) == (("N01", "N02"), ("NA01",), "So.")


def test_axes_that_share_a_last_name_are_told_apart_by_their_whole_path(tmp_path: Path) -> None:
    (question,) = expanded(tmp_path, INTRO + "    matrix: {names.at: [1], place.at: [2]}\n")
    assert question.id == f"{OPERATOR}::g::names.at=1,place.at=2"


def test_a_pin_of_a_chain_may_be_that_of_one_call_of_its_round(tmp_path: Path) -> None:
    chain = 'length: 1, feed: {place: after}, each: {width: [1, 2]}, pins: {"1.width=2": {failure: CONTRACT_VIOLATION}}'
    (question,) = expanded(tmp_path, INTRO + f"    chain: {{{chain}}}\n")
    assert [call.pin.failure if call.pin else "" for call in question.calls] == ["", "CONTRACT_VIOLATION"]


def test_only_a_declared_damage_is_given_on(tmp_path: Path) -> None:
    second = "{step: b, use: {place: {from: a.after, format: boxed, edit: x absent}}}"
    problem = refused(tmp_path, f"{INTRO}    trace: [{{step: a}}, {second}]\n")
    assert "no format 'boxed'" in problem.message


RUN = "    accumulate: {output: visited, count: 9, generator"
REFUSED = [
    ("    cases: [{id: a, base: begin}]\n", "C007", "begin", "start"),
    ("    cases: [{id: a, set: {place.on: 1}}]\n", "C008", "place.on", "lap, at"),
    ("    cases: [{id: a, set: {width.x: 1}}]\n", "C008", "width.x", "no part"),
    ("    cases: [{id: a, unset: [names]}]\n", "C008", "[names]", "remove"),
    ("    matrix: {hight: [1]}\n", "C008", "hight", "width"),
    ("    cases: [{id: a, pin: {result: {after.on: 1}}}]\n", "C008", "after.on", "lap, at"),
    ("    cases: [{id: a, pin: {failure: NOT_RAISED}}]\n", "C008", "NOT_RAISED", "CONTRACT_VIOLATION"),
    ("    cases: [{id: a, set: {width: 4294967296}}]\n", "C009", "4294967296", "declare"),
    ("    cases: [{id: a, set: {salt: 12345}}]\n", "C009", "12345", "quotes"),
    ("    cases: [{id: a, set: {place: {lap: 1}}}]\n", "C009", "{lap: 1}", "declare"),
    ("    cases: [{id: a, set: {names: {k: no}}}]\n", "C009", "no}", "declare"),
    ("    cases: [{id: a, pin: {result: {visited: [x]}}}]\n", "C009", "[x]", "list<uint64>"),
    ("    trace: [{step: a, use: {place: b.after}}]\n", "C010", "b.after", "none"),
    ("    trace: [{step: a}, {step: b, use: {place: a.visited}}]\n", "C010", "a.visited", "same type"),
    ("    trace: [{step: a}, {step: b, use: {place: a.before}}]\n", "C010", "a.before", "visited, after"),
    ("    trace: [{step: a}, {step: a}]\n", "C011", "a}]\n", "rename"),
    ("    cases: [{id: a}, {id: a, set: {width: 1}}]\n", "C011", "{id: a, set", "another name"),
    ('    matrix: {width: [1]}\n    where: "width > 1u"\n', "C012", "group: g", "where"),
    (RUN + ": sweep}\n", "C013", "{output", "add sweep"),
    (RUN + ": random, random: {width: {below: 1}}}\n", "C013", "{output", "seed"),
    (RUN + ": random, seed: s, random: {width: {below: 4294967297}}}\n", "C013", "{below", "1..4294967296"),
    (RUN + ": sweep, sweep: {width: {start: 4294967290, step: 1}}}\n", "C013", "{start", "0..4294967295"),
    (RUN + ": sweep, sweep: {place: {start: 0, step: 1}}}\n", "C013", "sweep: {place", "sized integer"),
    (RUN + ": chain, feed: {place: after}, sweep: {}}\n", "C013", "sweep: {}", "remove"),
    ("    accumulate: {output: sold, count: 1, generator: chain, feed: {place: after}}\n", "C008", "sold", "visited"),
    (RUN + ": chain, feed: {place: visited}}\n", "C010", "visited}}", "same"),
    ("    trace: [{step: a, call: Some.Other_v1}]\n", "C014", "Some.Other_v1", "library"),
    ("    chain: {length: 1, feed: {place: after}, where: width}\n", "C004", "width}", "CEL"),
    ('    chain: {length: 1, feed: {place: after}, pins: {"2": {result: {after.at: 1}}}}\n', "C008", '"2"', "1..1"),
]


@pytest.mark.parametrize(("body", "code", "found", "hint"), REFUSED)
def test_a_mistake_is_refused_at_its_line_with_a_hint(
    tmp_path: Path, body: str, code: str, found: str, hint: str
) -> None:
    problem = refused(tmp_path, INTRO + body)
    assert problem.code == code
    assert problem.position.file.endswith(NAME)
    assert problem.position.line == line_of(INTRO + body, found)
    assert hint in problem.hint or hint == "CEL"


def test_an_ill_typed_base_is_refused_in_the_base(tmp_path: Path) -> None:
    vectors = INTRO.replace("base: start", "base: bad") + "    cases: [{id: a}]\n"
    head_line = HEAD.count("\n") + 1
    with pytest.raises(MalformedContract) as caught:
        expanded(tmp_path, "  bad: {place: {lap: -1, at: 0}, width: 1}\n" + vectors)
    (problem,) = caught.value.problems
    assert (problem.code, problem.position.line, problem.position.column) == ("C009", head_line, 22)


def test_every_mistake_is_named_in_one_go(tmp_path: Path) -> None:
    with pytest.raises(MalformedContract) as caught:
        expanded(tmp_path, INTRO + "    cases: [{id: a, base: b}, {id: c, set: {width: x}}]\n")
    assert [problem.code for problem in caught.value.problems] == ["C007", "C009"]
